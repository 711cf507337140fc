// TCP sockets whose reads and writes end by a time.
#pragma once
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace wick::serve {

using Clock = std::chrono::steady_clock;

/// The client closed the connection, or did not read for too long.
struct ClientGone : std::runtime_error {
  explicit ClientGone(const char* why) : std::runtime_error(why) {}
};

/// An end of a connection. Its thread reads, writes and closes; any thread may call shut_down, but
/// not beside close.
class Socket {
 public:
  explicit Socket(int descriptor);
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  /// Reads some bytes and adds them to `to`. Returns false at the end of the stream, or if nothing
  /// has arrived by then. Errors: ClientGone if the connection fails.
  bool read(std::string& to, Clock::time_point until);
  /// Writes all bytes. Errors: ClientGone if the connection fails, or if the client takes no byte
  /// for so long.
  void write(std::string_view bytes, std::chrono::milliseconds patience);
  /// Whether the other end has closed the connection or its half of it.
  bool is_closed() const;
  /// Ends sending; reads and drops the bytes on their way, so that the client gets the last answer.
  void linger();
  /// Makes all reads and writes end.
  void shut_down();
  /// Gives the descriptor back. Of the other functions only shut_down may follow.
  void close();
  /// The other end's address, without the port.
  std::string peer() const;

 private:
  int descriptor_;
};

/// A socket that takes connections.
class Listener {
 public:
  /// host: an address or a name. port 0: any free one. Errors: FileError, naming host and port.
  Listener(const std::string& host, int port);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int port() const { return port_; }
  /// The descriptor of the next connection; -1 once close was called.
  int accept();
  /// Ends accept. Any thread may call it.
  void close();

 private:
  int descriptor_ = -1, port_ = 0;
  int wake_ = -1;  // an eventfd
};

}  // namespace wick::serve
