// Messages over a stream of bytes between each two ranks.
#pragma once
#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "dist/connection.h"
#include "dist/message.h"
#include "dist/mpi_connection.h"
#include "dist/transport.h"

namespace wick::dist {

/// C: Connection, over TCP, or MpiConnection.
template <class C>
class StreamTransport : public Transport {
 public:
  /// connections: by rank, this rank's own is empty. timeout: see ProcessGroupOptions.
  StreamTransport(int rank, std::vector<C> connections, std::chrono::milliseconds timeout);
  /// Says goodbye to the other ranks.
  ~StreamTransport() override;
  void exchange(const std::string& call, std::span<const Outgoing> out,
                std::span<const Incoming> in) override;
  Watched watch(const Progress& mine) override;
  void fail(ErrorCode code, const std::string& reason) override;

 private:
  /// A message that arrived before the call that takes it.
  struct Early {
    MessageHeader header;
    std::vector<char> bytes;
  };

  /// The state of the connection to one rank.
  struct Link {
    C connection;
    bool has_left = false;  // said goodbye
    // Sending: the header, then the bytes.
    bool is_sending = false;
    MessageHeader out_header;
    const char* out_data = nullptr;
    size_t out_bytes = 0, sent = 0;  // sent: header and bytes
    // Receiving: the wanted message, if any, and the one that is arriving.
    const Incoming* wanted = nullptr;
    MessageHeader in_header;
    size_t header_count = 0, received = 0;
    bool is_arriving_early = false;
    std::deque<Early> early;
    size_t early_bytes = 0;
    Progress progress;

    /// Whether sending has stopped inside of a message.
    bool is_torn() const { return is_sending && sent > 0; }
    /// Whether bytes that were written are still in this process's memory.
    bool is_flushing() const { return connection && !has_left && !connection.is_flushed(); }
  };

  void start(const std::string& call, std::span<const Outgoing> out, std::span<const Incoming> in);
  bool is_done() const;
  /// Waits until bytes can move, and moves them. Returns whether any were moved.
  bool move_bytes(const std::string& call, Clock::time_point until);
  bool send_some(int rank);
  bool receive_some(const std::string& call, int rank);
  /// Acts on a header that has arrived. Returns whether the message's bytes follow.
  bool begin_message(const std::string& call, int rank);
  /// Sends this rank's progress, unless the others know it.
  void tell();
  void take_early(const std::string& call, int rank);
  void require_call(const std::string& call, int rank, const MessageHeader& header);
  std::vector<int> awaited() const;
  /// Marks the group as failed, passes the reason on, and throws.
  [[noreturn]] void fail_group(const std::string& call, ErrorCode code, const std::string& reason);
  [[noreturn]] void fail_as_asked(const std::string& call);
  [[noreturn]] void fail_ended(const std::string& call, int rank);
  void read_failures(const std::string& call, int other_than);

  std::mutex mutex_;
  const int rank_;
  const std::chrono::milliseconds timeout_;
  std::vector<Link> links_;
  std::string failure_;  // the reason why the group has failed; empty while it works
  ErrorCode failure_code_ = ErrorCode::kIo;
  // Arguments of fail, which an exchange that holds the first mutex reads.
  std::atomic<bool> must_fail_{false};
  std::mutex asked_mutex_;
  ErrorCode asked_code_ = ErrorCode::kIo;
  std::string asked_;
  Progress progress_;  // this rank's
  uint64_t told_ = 0;  // of this rank's progress, as a message has it
  Clock::time_point told_at_;
};

using TcpTransport = StreamTransport<Connection>;
using MpiTransport = StreamTransport<MpiConnection>;

}  // namespace wick::dist
