#include "dist/stream_transport.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "dist/rank_names.h"
#include "wick/base/error.h"

namespace wick::dist {
namespace {

// Bytes of messages that are kept for later calls; more wait in the system's buffers.
constexpr size_t kMaxEarlyBytes = size_t(1) << 30;
constexpr size_t kMaxEarlyMessages = 1024;
// How often a rank that waits looks whether the machines of the others answer.
constexpr auto kLookTime = std::chrono::seconds(2);
constexpr auto kFarewellTime = std::chrono::milliseconds(500);
// The least time between two messages of a rank's progress.
constexpr auto kTellTime = std::chrono::milliseconds(100);

uint64_t packed(const Progress& progress) {
  return progress.calls | uint64_t(progress.launches) << 32;
}

/// The function of a call: "all_reduce" of "all_reduce f32[2, 3] sum".
std::string function_of(const std::string& call) { return call.substr(0, call.find(' ')); }

std::string seconds_text(std::chrono::milliseconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", std::chrono::duration<double>(time).count());
  return text;
}

}  // namespace

template <class C>
StreamTransport<C>::StreamTransport(int rank, std::vector<C> connections,
                                    std::chrono::milliseconds timeout)
    : rank_(rank), timeout_(timeout), links_(connections.size()) {
  for (size_t i = 0; i < links_.size(); i++) links_[i].connection = std::move(connections[i]);
}

template <class C>
StreamTransport<C>::~StreamTransport() {
  try {
    if (failure_.empty()) tell();
  } catch (const Error&) {
  }
  if (!failure_.empty()) return;  // all have the reason
  const MessageHeader header = MessageHeader::of(MessageKind::kLeave, "");
  for (Link& link : links_)
    if (link.connection && !link.is_torn()) {
      link.connection.write_all(&header, sizeof header, Clock::now() + kFarewellTime);
      link.connection.finish();
    }
}

template <class C>
void StreamTransport<C>::exchange(const std::string& call, std::span<const Outgoing> out,
                                  std::span<const Incoming> in) {
  const std::lock_guard lock(mutex_);
  check(failure_.empty(), ErrorCode::kIo, function_of(call),
        "the group has failed before: ", failure_);
  start(call, out, in);
  auto last_moved = Clock::now();
  while (!is_done()) {
    if (must_fail_) fail_as_asked(call);
    if (move_bytes(call, std::min(last_moved + timeout_, Clock::now() + kLookTime))) {
      last_moved = Clock::now();
      continue;
    }
    for (size_t rank = 0; rank < links_.size(); rank++)
      if (links_[rank].connection && links_[rank].connection.is_unanswered())
        fail_group(call, ErrorCode::kIo,
                   "the machine of rank " + std::to_string(rank) + " does not answer");
    if (Clock::now() >= last_moved + timeout_)
      fail_group(call, ErrorCode::kIo,
                 rank_names(awaited()) + " moved no byte for " + seconds_text(timeout_) +
                     " (WICK_DIST_TIMEOUT)");
  }
}

template <class C>
Watched StreamTransport<C>::watch(const Progress& mine) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return {};
  if (failure_.empty()) {
    try {
      progress_ = mine;
      if (Clock::now() >= told_at_ + kTellTime) tell();
      while (move_bytes("watch", Clock::now())) {
      }
    } catch (const Error&) {  // failure_ has the reason
    }
  }
  Watched watched{failure_code_, failure_, {}};
  for (const Link& link : links_) {
    watched.others.push_back(link.progress);
    watched.others.back().has_left = link.has_left;
  }
  return watched;
}

template <class C>
void StreamTransport<C>::tell() {
  if (packed(progress_) == told_) return;
  const auto now = Clock::now();
  told_ = packed(progress_);
  told_at_ = now;
  const MessageHeader header =
      MessageHeader::of(MessageKind::kProgress, progress_.last_call, told_);
  for (size_t rank = 0; rank < links_.size(); rank++) {
    C& connection = links_[rank].connection;
    if (!connection || links_[rank].has_left) continue;
    // The other rank's watch reads it soon. Only a whole message may be written.
    if (!connection.write_all(&header, sizeof header, now + timeout_) && !connection.has_ended())
      fail_group("watch", ErrorCode::kIo,
                 rank_names({int(rank)}) + " moved no byte for " + seconds_text(timeout_) +
                     " (WICK_DIST_TIMEOUT)");
  }
}

template <class C>
void StreamTransport<C>::fail(ErrorCode code, const std::string& reason) {
  {
    const std::lock_guard lock(asked_mutex_);
    asked_code_ = code;
    asked_ = reason;
  }
  must_fail_ = true;  // an exchange that waits meanwhile ends
  const std::lock_guard lock(mutex_);
  if (!failure_.empty()) return;
  try {
    fail_as_asked("");
  } catch (const Error&) {  // the others have the reason
  }
}

template <class C>
void StreamTransport<C>::fail_as_asked(const std::string& call) {
  std::unique_lock lock(asked_mutex_);
  const ErrorCode code = asked_code_;
  const std::string reason = asked_;
  lock.unlock();
  fail_group(call, code, reason);
}

template <class C>
void StreamTransport<C>::start(const std::string& call, std::span<const Outgoing> out,
                               std::span<const Incoming> in) {
  for (const Incoming& one : in) links_[size_t(one.rank)].wanted = &one;
  for (const Outgoing& one : out) {
    Link& link = links_[size_t(one.rank)];
    link.is_sending = true;
    link.out_header = MessageHeader::of(MessageKind::kData, call, one.bytes);
    link.out_data = static_cast<const char*>(one.data);
    link.out_bytes = one.bytes;
    link.sent = 0;
  }
  for (int rank = 0; rank < int(links_.size()); rank++) {
    take_early(call, rank);
    Link& link = links_[size_t(rank)];
    if (link.has_left && (link.is_sending || link.wanted)) fail_ended(call, rank);
    // Most messages fit the system's buffer: sent before the first wait.
    if (link.is_sending) send_some(rank);
  }
}

template <class C>
bool StreamTransport<C>::is_done() const {
  return std::none_of(links_.begin(), links_.end(), [](const Link& link) {
    return link.is_sending || link.wanted || link.is_flushing();
  });
}

template <class C>
std::vector<int> StreamTransport<C>::awaited() const {
  std::vector<int> ranks;
  for (size_t rank = 0; rank < links_.size(); rank++)
    if (links_[rank].is_sending || links_[rank].wanted || links_[rank].is_flushing())
      ranks.push_back(int(rank));
  return ranks;
}

template <class C>
bool StreamTransport<C>::move_bytes(const std::string& call, Clock::time_point until) {
  std::vector<Waiting<C>> waiting;
  std::vector<int> ranks;
  for (size_t rank = 0; rank < links_.size(); rank++) {
    Link& link = links_[rank];
    if (!link.connection || link.has_left) continue;
    const bool is_full = !link.wanted && (link.early_bytes >= kMaxEarlyBytes ||
                                          link.early.size() >= kMaxEarlyMessages);
    waiting.push_back({&link.connection, !is_full, link.is_sending, link.is_flushing()});
    ranks.push_back(int(rank));
  }
  if (!wait_for_any(std::span<Waiting<C>>(waiting), until)) return false;
  bool moved = false;
  for (size_t i = 0; i < waiting.size(); i++) {
    // Before sending fails: the reason of a failure may be there to read.
    if (waiting[i].can_read) moved = receive_some(call, ranks[i]) || moved;
    if (waiting[i].can_write) moved = send_some(ranks[i]) || waiting[i].flush || moved;
  }
  return moved;
}

/// A connection that has ended is noticed when reading.
template <class C>
bool StreamTransport<C>::send_some(int rank) {
  Link& link = links_[size_t(rank)];
  bool moved = false;
  while (link.is_sending) {
    const size_t head = sizeof link.out_header;
    const bool in_head = link.sent < head;
    const void* from = in_head ? reinterpret_cast<const char*>(&link.out_header) + link.sent
                               : link.out_data + (link.sent - head);
    const size_t left = in_head ? head - link.sent : head + link.out_bytes - link.sent;
    const size_t count = left == 0 ? 0 : link.connection.write(from, left).value_or(0);
    link.sent += count;
    moved = moved || count > 0;
    if (link.sent == head + link.out_bytes)
      link.is_sending = false;
    else if (count == 0)
      break;
  }
  return moved;
}

template <class C>
bool StreamTransport<C>::receive_some(const std::string& call, int rank) {
  Link& link = links_[size_t(rank)];
  if (link.header_count < sizeof(MessageHeader)) {
    const std::optional<size_t> count =
        link.connection.read(reinterpret_cast<char*>(&link.in_header) + link.header_count,
                             sizeof(MessageHeader) - link.header_count);
    if (!count) fail_ended(call, rank);
    link.header_count += *count;
    if (link.header_count < sizeof(MessageHeader)) return *count > 0;
    if (!begin_message(call, rank)) return true;
  }
  char* to = link.is_arriving_early ? link.early.back().bytes.data()
                                    : static_cast<char*>(link.wanted->data);
  if (link.received < link.in_header.bytes) {
    const std::optional<size_t> count =
        link.connection.read(to + link.received, link.in_header.bytes - link.received);
    if (!count) fail_ended(call, rank);
    link.received += *count;
  }
  if (link.received == link.in_header.bytes) {
    link.header_count = link.received = 0;
    if (link.is_arriving_early) {
      link.is_arriving_early = false;
      take_early(call, rank);
    } else {
      link.wanted = nullptr;
    }
  }
  return true;
}

template <class C>
bool StreamTransport<C>::begin_message(const std::string& call, int rank) {
  Link& link = links_[size_t(rank)];
  const std::string name = "rank " + std::to_string(rank);
  if (!link.in_header.is_valid())
    fail_group(call, ErrorCode::kIo, name + " sent bytes that are no message");
  if (link.in_header.kind == MessageKind::kFailure)
    fail_group(call, link.in_header.code(), link.in_header.shown_text());
  if (link.in_header.kind == MessageKind::kLeave) {
    link.has_left = true;
    if (link.wanted || link.is_sending) fail_ended(call, rank);
    return false;
  }
  if (link.in_header.kind == MessageKind::kProgress) {
    link.header_count = 0;
    link.progress = {uint32_t(link.in_header.bytes), uint32_t(link.in_header.bytes >> 32),
                     link.in_header.shown_text(), link.in_header.text_hash, false};
    return false;
  }
  link.received = 0;
  link.is_arriving_early = link.wanted == nullptr;
  if (!link.is_arriving_early) {
    require_call(call, rank, link.in_header);
    return true;
  }
  if (link.in_header.bytes > kMaxEarlyBytes)
    fail_group(call, ErrorCode::kIo,
               name + " is at " + link.in_header.shown_text() + ", this rank at " + call);
  link.early.push_back({link.in_header, std::vector<char>(link.in_header.bytes)});
  link.early_bytes += link.in_header.bytes;
  return true;
}

/// Takes the wanted message from the early ones, if it is there.
template <class C>
void StreamTransport<C>::take_early(const std::string& call, int rank) {
  Link& link = links_[size_t(rank)];
  if (!link.wanted || link.early.empty()) return;
  require_call(call, rank, link.early.front().header);
  if (link.is_arriving_early && link.early.size() == 1) return;
  const std::vector<char>& bytes = link.early.front().bytes;
  if (!bytes.empty()) std::memcpy(link.wanted->data, bytes.data(), bytes.size());
  link.early_bytes -= bytes.size();
  link.early.pop_front();
  link.wanted = nullptr;
}

template <class C>
void StreamTransport<C>::require_call(const std::string& call, int rank,
                                      const MessageHeader& header) {
  const MessageHeader expected =
      MessageHeader::of(MessageKind::kData, call, links_[size_t(rank)].wanted->bytes);
  if (header.text_hash == expected.text_hash && header.bytes == expected.bytes) return;
  fail_group(call, ErrorCode::kInvalidArgument,
             "rank " + std::to_string(rank) + " calls " + header.shown_text() + ", rank " +
                 std::to_string(rank_) + " calls " + call);
}

template <class C>
void StreamTransport<C>::fail_ended(const std::string& call, int rank) {
  Link& link = links_[size_t(rank)];
  const std::string name = "rank " + std::to_string(rank);
  if (link.has_left)
    fail_group(call, ErrorCode::kIo, name + " has left the group, and does not call " + call);
  link.connection = C();
  // Between two messages only a rank that has died ends without a word. Inside of one a rank may
  // also end that has found another dead; the others know more.
  if (link.header_count > 0) read_failures(call, rank);
  fail_group(call, ErrorCode::kIo, name + " has died");
}

/// Looks for a rank that has died, or that says why the group has failed, and fails with that.
template <class C>
void StreamTransport<C>::read_failures(const std::string& call, int other_than) {
  const auto until = Clock::now() + kFarewellTime;
  for (int rank = 0; rank < int(links_.size()); rank++) {
    Link& link = links_[size_t(rank)];
    if (rank == other_than || !link.connection || link.has_left || link.header_count > 0) continue;
    MessageHeader header;
    bool has_bytes = true;
    do {
      has_bytes = link.connection.read_all(&header, sizeof header, until);
    } while (has_bytes && header.kind == MessageKind::kProgress);
    if (has_bytes && header.is_valid() && header.kind == MessageKind::kFailure)
      fail_group(call, header.code(), header.shown_text());
    if (!has_bytes && link.connection.has_ended()) {
      link.connection = C();
      fail_group(call, ErrorCode::kIo, "rank " + std::to_string(rank) + " has died");
    }
  }
}

template <class C>
void StreamTransport<C>::fail_group(const std::string& call, ErrorCode code,
                                    const std::string& reason) {
  failure_ = reason;
  failure_code_ = code;
  const MessageHeader header = MessageHeader::of(MessageKind::kFailure, reason, uint64_t(code));
  for (Link& link : links_) {
    link.wanted = nullptr;
    if (!link.connection || link.has_left) continue;
    // Else the rank finds the end of the connection inside of a message.
    if (!link.is_torn()) link.connection.write_all(&header, sizeof header, Clock::now());
    link.connection.finish();
    link.is_sending = false;
  }
  wick::fail(code, function_of(call), reason);
}

template class StreamTransport<Connection>;
template class StreamTransport<MpiConnection>;

}  // namespace wick::dist
