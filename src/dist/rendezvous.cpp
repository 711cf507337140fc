#include "dist/rendezvous.h"

#include <poll.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <random>

#include "base/log.h"
#include "dist/message.h"
#include "dist/rank_names.h"
#include "wick/base/error.h"

namespace wick::dist {
namespace {

constexpr uint32_t kVersion = 2;  // of all that ranks send
constexpr auto kGreetingTime = std::chrono::seconds(10);
constexpr auto kAnswerTime = std::chrono::seconds(5);
constexpr auto kFarewellTime = std::chrono::seconds(1);
constexpr auto kLookTime = std::chrono::milliseconds(100);  // between calls of on_wait

/// The first bytes of a connection, to rank 0 or between two others.
struct Greeting {
  char mark[8] = {'w', 'i', 'c', 'k', 'd', 'i', 's', 't'};
  uint32_t version = kVersion;
  uint32_t world_size = 0, rank = 0;
  uint32_t port = 0;     // on which the rank takes connections of higher ranks
  uint64_t session = 0;  // 0 to rank 0, which gives it a value
};
static_assert(sizeof(Greeting) == 32);

/// Rank 0's answer when all are there: a header, then an entry for each rank.
struct Entry {
  char address[56] = "";
  uint64_t port = 0;
};
static_assert(sizeof(Entry) == 64);

std::vector<int> missing_from(const std::vector<Connection>& connections, int from, int own) {
  std::vector<int> ranks;
  for (int rank = from; rank < int(connections.size()); rank++)
    if (rank != own && !connections[size_t(rank)]) ranks.push_back(rank);
  return ranks;
}

/// Connections that have not greeted yet.
class Greetings {
 public:
  explicit Greetings(Listener& listener) : listener_(listener) {}

  /// Waits until a connection or bytes of a greeting come, or one of `watched` ends, and calls
  /// greeted(connection, greeting) for each whole greeting. Drops strangers.
  template <class Greeted>
  void wait(const std::vector<Connection>& watched, Clock::time_point until,
            const Greeted& greeted) {
    std::vector<pollfd> polled{{listener_.descriptor(), POLLIN, 0}};
    for (const Pending& one : pending_) {
      polled.push_back({one.connection.descriptor(), POLLIN, 0});
      until = std::min(until, one.until);
    }
    for (const Connection& one : watched)
      if (one) polled.push_back({one.descriptor(), POLLRDHUP, 0});
    if (poll(polled.data(), polled.size(), poll_ms(until)) < 0) return;
    for (auto one = pending_.begin(); one != pending_.end();) one = advance(one, greeted);
    while (pending_.size() < kMaxPending) {
      Connection connection = listener_.accept();
      if (!connection) break;
      pending_.push_back({std::move(connection), {}, 0, Clock::now() + kGreetingTime});
    }
  }

 private:
  static constexpr size_t kMaxPending = 256;

  struct Pending {
    Connection connection;
    Greeting greeting;
    size_t count;
    Clock::time_point until;
  };

  template <class Greeted>
  std::list<Pending>::iterator advance(std::list<Pending>::iterator one, const Greeted& greeted) {
    const std::optional<size_t> count = one->connection.read(
        reinterpret_cast<char*>(&one->greeting) + one->count, sizeof(Greeting) - one->count);
    one->count += count.value_or(0);
    const size_t marked = std::min(one->count, sizeof one->greeting.mark);
    const bool is_stranger = !count || Clock::now() >= one->until ||
                             std::memcmp(one->greeting.mark, Greeting{}.mark, marked) != 0;
    if (is_stranger)
      note("dist: a connection from ", one->connection.peer_address(),
           " is no rank of a group; it is closed");
    else if (one->count < sizeof(Greeting))
      return std::next(one);
    else
      greeted(std::move(one->connection), one->greeting);
    return pending_.erase(one);
  }

  Listener& listener_;
  std::list<Pending> pending_;
};

/// The reason why a rank has ended its connection: the one that it has sent, perhaps after the
/// message of its first call, or its death.
std::string ending_of(Connection& connection, int rank) {
  MessageHeader header;
  while (connection.read_all(&header, sizeof header, Clock::now() + kFarewellTime) &&
         header.is_valid())
    if (header.kind == MessageKind::kFailure) return header.shown_text();
  return "rank " + std::to_string(rank) + " has died";
}

/// Sends the reason to all, and throws it.
[[noreturn]] void fail_all(std::vector<Connection>& connections, ErrorCode code,
                           const std::string& reason) {
  const MessageHeader header = MessageHeader::of(MessageKind::kFailure, reason, uint64_t(code));
  for (Connection& connection : connections)
    if (connection) connection.write_all(&header, sizeof header, Clock::now() + kFarewellTime);
  fail(code, "dist", reason);
}

/// Fails if one of the connections has ended.
void require_alive(std::vector<Connection>& connections) {
  for (size_t rank = 0; rank < connections.size(); rank++) {
    if (!connections[rank] || !connections[rank].has_ended()) continue;
    const std::string reason = ending_of(connections[rank], int(rank));
    connections[rank] = Connection();
    fail_all(connections, ErrorCode::kIo, reason);
  }
}

// ---- rank 0

void gather(std::vector<Connection>& connections, std::vector<Entry>& entries,
            const ProcessGroupOptions& options, Clock::time_point until) {
  Listener listener(options.address, options.port);
  Greetings greetings(listener);
  const auto greeted = [&](Connection connection, const Greeting& greeting) {
    const auto refuse = [&](const std::string& reason) {
      const auto code = uint64_t(ErrorCode::kInvalidArgument);
      const MessageHeader header = MessageHeader::of(MessageKind::kFailure, reason, code);
      connection.write_all(&header, sizeof header, Clock::now() + kFarewellTime);
      fail_all(connections, ErrorCode::kInvalidArgument, reason);
    };
    const std::string rank = "rank " + std::to_string(greeting.rank);
    if (greeting.version != kVersion) refuse(rank + " has another version of wick than rank 0");
    if (int64_t(greeting.world_size) != options.world_size)
      refuse(rank + " expects " + std::to_string(greeting.world_size) + " ranks, rank 0 expects " +
             std::to_string(options.world_size));
    if (greeting.rank >= greeting.world_size)
      refuse("a process is " + rank + " of " + std::to_string(greeting.world_size));
    if (greeting.rank == 0 || connections[greeting.rank]) refuse("two processes are " + rank);
    const std::string address = connection.peer_address();
    Entry& entry = entries[greeting.rank];
    std::memcpy(entry.address, address.data(), std::min(address.size(), sizeof entry.address - 1));
    entry.port = greeting.port;
    connections[greeting.rank] = std::move(connection);
  };
  for (;;) {
    const std::vector<int> missing = missing_from(connections, 1, 0);
    if (missing.empty()) return;
    if (Clock::now() >= until)
      fail_all(connections, ErrorCode::kIo,
               rank_names(missing) + " did not come to " + options.address + ":" +
                   std::to_string(listener.port()) + " within the time-out");
    if (options.on_wait) options.on_wait();
    greetings.wait(connections, options.on_wait ? std::min(until, Clock::now() + kLookTime) : until,
                   greeted);
    require_alive(connections);
  }
}

std::vector<Connection> meet_as_first(const ProcessGroupOptions& options, Clock::time_point until) {
  std::vector<Connection> connections(size_t(options.world_size));
  std::vector<Entry> entries(size_t(options.world_size));
  gather(connections, entries, options, until);
  std::random_device random;
  const uint64_t session = uint64_t(random()) << 32 | random() | 1;
  MessageHeader header = MessageHeader::of(MessageKind::kData, "welcome", session);
  for (Connection& connection : connections)
    if (connection) {
      connection.write_all(&header, sizeof header, until);
      connection.write_all(entries.data(), entries.size() * sizeof(Entry), until);
    }
  return connections;  // one that has ended is noticed in the first call
}

// ---- the others

std::vector<Connection> meet_as_other(const ProcessGroupOptions& options, Clock::time_point until) {
  const size_t own = size_t(options.rank);
  std::vector<Connection> connections(size_t(options.world_size));
  Connection& first = connections[0];
  first = Connection::to(options.address, options.port, until);
  Listener listener(first.own_address(), 0);
  Greeting greeting;
  greeting.world_size = uint32_t(options.world_size);
  greeting.rank = uint32_t(options.rank);
  greeting.port = uint32_t(listener.port());
  const std::string where = options.address + ":" + std::to_string(options.port);
  MessageHeader header;
  std::vector<Entry> entries(connections.size());
  // Rank 0 names the ranks that are missing when its time is up.
  check(first.write_all(&greeting, sizeof greeting, until) &&
            first.read_all(&header, sizeof header, until + kAnswerTime) && header.is_valid(),
        ErrorCode::kIo, "dist", "rank 0 at ", where,
        " closed the connection, or did not answer within the time-out, before all ranks had met");
  check(header.kind == MessageKind::kData, header.code(), "dist", header.shown_text());
  check(first.read_all(entries.data(), entries.size() * sizeof(Entry), until), ErrorCode::kIo,
        "dist", "rank 0 at ", where, " closed the connection");
  greeting.session = header.bytes;
  for (size_t rank = 1; rank < own; rank++) {
    Entry& entry = entries[rank];
    entry.address[sizeof entry.address - 1] = 0;
    connections[rank] = Connection::to(entry.address, int(entry.port), until);
    check(connections[rank].write_all(&greeting, sizeof greeting, until), ErrorCode::kIo, "dist",
          "rank ", rank, " closed the connection");
  }
  Greetings greetings(listener);
  for (std::vector<int> missing; !(missing = missing_from(connections, 1, options.rank)).empty();) {
    if (Clock::now() >= until)
      fail_all(connections, ErrorCode::kIo,
               rank_names(missing) + " did not connect to rank " + std::to_string(own) +
                   " within the time-out");
    greetings.wait(connections, until, [&](Connection connection, const Greeting& other) {
      if (other.session == greeting.session && other.rank > own &&
          other.rank < connections.size() && !connections[other.rank])
        connections[other.rank] = std::move(connection);
    });
    require_alive(connections);
  }
  return connections;
}

}  // namespace

std::vector<Connection> meet(const ProcessGroupOptions& options) {
  const auto time = std::chrono::duration<double>(options.timeout_seconds);
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(time);
  return options.rank == 0 ? meet_as_first(options, until) : meet_as_other(options, until);
}

}  // namespace wick::dist
