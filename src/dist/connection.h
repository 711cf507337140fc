// TCP connections between ranks, without blocking calls.
#pragma once
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace wick::dist {

using Clock = std::chrono::steady_clock;

/// A descriptor that is closed with it.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;

  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

/// An end of a connection whose reads and writes return at once.
class Connection {
 public:
  Connection() = default;
  /// A descriptor from Listener::accept.
  explicit Connection(Descriptor descriptor);
  /// Connects to an address or a name, trying again until that time. Errors: kIo, naming address,
  /// port and the last reason.
  static Connection to(const std::string& address, int port, Clock::time_point until);

  explicit operator bool() const { return bool(descriptor_); }
  int descriptor() const { return descriptor_.number(); }
  /// The number of bytes read or written, 0 if the call would wait; nullopt if the connection has
  /// ended.
  std::optional<size_t> read(void* to, size_t bytes);
  std::optional<size_t> write(const void* from, size_t bytes);
  /// Reads or writes all bytes. Returns false if the connection ends or the time comes first.
  bool read_all(void* to, size_t bytes, Clock::time_point until);
  bool write_all(const void* from, size_t bytes, Clock::time_point until);
  /// The address of the other end, and of this one.
  std::string peer_address() const;
  std::string own_address() const;
  /// Whether the other machine has acknowledged nothing for 30 s, although it was sent bytes again
  /// and again. (Where no bytes are on their way, the system ends the connection by itself.)
  bool is_unanswered() const;
  /// Whether the other end has closed it, or it has failed. Bytes may still be there to read.
  bool has_ended() const;
  /// Whether the written bytes need no further call to arrive: the system sends them.
  bool is_flushed() const { return true; }
  /// Sends the end of the stream.
  void finish();

 private:
  Descriptor descriptor_;
};

/// A socket that takes connections.
class Listener {
 public:
  /// address: one of this machine; if it is not, all of its addresses. port 0: any free one.
  /// Errors: kIo, naming address and port.
  Listener(const std::string& address, int port);
  int port() const { return port_; }
  int descriptor() const { return descriptor_.number(); }
  /// The next connection, or an empty one if there is no one waiting.
  Connection accept();

 private:
  Descriptor descriptor_;
  int port_ = 0;
};

/// The calls for which a rank waits on a connection, and those that can move bytes now.
template <class C>
struct Waiting {
  C* connection;
  bool read, write, flush;                   // flush: until connection->is_flushed()
  bool can_read = false, can_write = false;  // can_read also at the end of the stream
};
/// Waits until one of the calls can move bytes. Returns false after the time.
bool wait_for_any(std::span<Waiting<Connection>> all, Clock::time_point until);

/// Waits for events of poll(2); returns those that occurred, 0 after the time.
short wait_for(int descriptor, short events, Clock::time_point until);
/// The milliseconds until then for poll(2): at least 0.
int poll_ms(Clock::time_point until);

}  // namespace wick::dist
