#include "dist/card_collectives.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include "base/log.h"
#include "core/device_state.h"
#include "core/lost_results.h"
#include "core/stream.h"
#include "core/work_gate.h"
#include "dist/combine.h"
#include "dist/message.h"
#include "dist/rank_names.h"
#include "wick/ops/arrange.h"
#include "wick/ops/cast.h"
#include "wick/ops/shape.h"

namespace wick::dist {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr auto kLookTime = milliseconds(20);
// How long a call may still be on its way to a rank that hears that another one has left.
constexpr auto kLeaveTime = milliseconds(5000);
// How long work that is being stopped may take to return from the library by itself.
constexpr auto kReturnTime = milliseconds(500);
constexpr size_t kMaxMade = 256;
constexpr const char* kLaunch = "launch of a recorded graph";
// By ReduceOp.
constexpr Reduction kReductions[] = {Reduction::kSum, Reduction::kMean, Reduction::kMax,
                                     Reduction::kMin};

std::string function_of(const std::string& call) { return call.substr(0, call.find(' ')); }

std::string seconds_text(milliseconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", std::chrono::duration<double>(time).count());
  return text;
}

uint64_t hash_of(const std::string& call) {
  return MessageHeader::of(MessageKind::kProgress, call).text_hash;
}

/// Different for two machines, and for one machine after a restart.
std::string machine_name() {
  std::string name;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), name);
  return name;
}

// ---- meeting

/// The card of a rank, as it tells the others.
struct Card {
  char backend[16] = "";
  char machine[64] = "";
  CollectivesFacts facts{};
  char why_none[256] = "";  // "" if its library can be used
};

void put(char* to, size_t size, const std::string& text) {
  std::snprintf(to, size, "%s", text.c_str());
}

Card card_of(const Device& device) {
  const DeviceState& state = device.state();
  Card card;
  put(card.backend, sizeof card.backend, state.backend.name);
  put(card.machine, sizeof card.machine, machine_name());
  const Status status = collectives_of(state.backend)->describe(state.device(), &card.facts);
  if (!status.ok())
    put(card.why_none, sizeof card.why_none, status.text && *status.text ? status.text : "unknown");
  return card;
}

/// Sends as many bytes to each rank, and receives theirs in the order of the ranks.
template <class T>
std::vector<T> share(const std::string& call, const T& mine, int rank, int world_size,
                     Transport& transport) {
  std::vector<T> all(size_t(world_size), mine);
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int r = 0; r < world_size; r++) {
    if (r == rank) continue;
    out.push_back({r, &mine, sizeof mine});
    in.push_back({r, &all[size_t(r)], sizeof(T)});
  }
  transport.exchange(call, out, in);
  return all;
}

/// Why the cards cannot be used, the same text on all ranks; "" if they can.
std::string obstacle(const std::vector<Card>& cards) {
  const auto name = [](size_t rank) { return "rank " + std::to_string(rank); };
  for (size_t i = 0; i < cards.size(); i++)
    if (cards[i].why_none[0]) return name(i) + ": " + cards[i].why_none;
  for (size_t i = 0; i < cards.size(); i++)
    for (size_t j = 0; j < i; j++) {
      const Card &a = cards[j], &b = cards[i];
      if (std::strcmp(a.backend, b.backend) != 0)
        return name(j) + " has a card of " + a.backend + ", " + name(i) + " one of " + b.backend;
      if (std::strcmp(a.facts.library, b.facts.library) != 0)
        return name(j) + " has " + a.facts.library + ", " + name(i) + " has " + b.facts.library;
      if (std::strcmp(a.machine, b.machine) == 0 && std::strcmp(a.facts.card, b.facts.card) == 0)
        return rank_names({int(j), int(i)}) + " share the card " + a.facts.card;
    }
  return "";
}

/// A call of the library in a thread of its own, so that a rank that dies meanwhile is noticed.
struct Joining {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_done = false;
  std::string failure;
  void* communicator = nullptr;
};

}  // namespace

std::shared_ptr<CardCollectives> CardCollectives::meet(
    const std::string& call, const Device& device, int rank, int world_size,
    std::shared_ptr<Transport> transport, milliseconds timeout, std::string* why_none) {
  const DeviceState& state = device.state();
  const Collectives& library = *collectives_of(state.backend);
  const std::string together = call + " on the ranks' cards";
  const std::vector<Card> cards = share(together, card_of(device), rank, world_size, *transport);
  *why_none = obstacle(cards);
  if (!why_none->empty()) return nullptr;

  struct Invitation {
    CommunicatorId id{};
    char why_none[256] = "";
  } mine;
  if (rank == 0)
    if (const Status status = library.make_id(state.device(), &mine.id); !status.ok())
      put(mine.why_none, sizeof mine.why_none, status.text ? status.text : "unknown");
  const Invitation invitation = share(together, mine, rank, world_size, *transport)[0];
  *why_none = invitation.why_none;
  if (!why_none->empty()) return nullptr;

  // Joined by a thread that outlives a failure: the library cannot be stopped then.
  const auto joining = std::make_shared<Joining>();
  std::thread([joining, &library, ordinal = state.device(), id = invitation.id, rank, world_size] {
    void* communicator = nullptr;
    const Status status = library.join(ordinal, &id, rank, world_size, &communicator);
    const std::lock_guard lock(joining->mutex);
    joining->communicator = communicator;
    if (!status.ok()) joining->failure = status.text ? status.text : "unknown";
    joining->is_done = true;
    joining->changed.notify_all();
  }).detach();
  const auto until = Clock::now() + timeout;
  std::unique_lock lock(joining->mutex);
  while (!joining->changed.wait_for(lock, kLookTime, [&] { return joining->is_done; })) {
    lock.unlock();
    const Watched watched = transport->watch({});
    if (!watched.failure.empty()) fail(watched.code, function_of(call), watched.failure);
    if (Clock::now() >= until) {
      const std::string reason = std::string(cards[size_t(rank)].facts.library) +
                                 " did not join the ranks within " + seconds_text(timeout) +
                                 " (WICK_DIST_TIMEOUT)";
      transport->fail(ErrorCode::kIo, reason);
      fail(ErrorCode::kIo, function_of(call), reason);
    }
    lock.lock();
  }
  if (!joining->failure.empty()) {
    const std::string reason =
        rank_names({rank}) + ": " + joining->failure + "; WICK_DIST=tcp does without it";
    transport->fail(ErrorCode::kIo, reason);
    fail(ErrorCode::kIo, function_of(call), reason);
  }
  note("dist: tensors on cards go by ", cards[0].facts.library);
  return std::shared_ptr<CardCollectives>(new CardCollectives(
      device, library, joining->communicator, rank, world_size, std::move(transport), timeout));
}

CardCollectives::CardCollectives(const Device& device, const Collectives& library,
                                 void* communicator, int rank, int world_size,
                                 std::shared_ptr<Transport> transport, milliseconds timeout)
    : device_(device),
      library_(library),
      communicator_(communicator),
      rank_(rank),
      world_size_(world_size),
      transport_(std::move(transport)),
      timeout_(timeout),
      watcher_([this] { watch(); }) {}

CardCollectives::~CardCollectives() {
  {
    std::unique_lock lock(mutex_);
    // The watcher takes the calls away that have ended, or finds why they cannot.
    changed_.wait(lock, [&] { return pending_.empty() || is_aborted_; });
    ends_ = true;
  }
  changed_.notify_all();
  watcher_.join();
  if (!is_aborted_) library_.leave(device_.state().device(), communicator_);
}

// ---- calls

CollectiveCall CardCollectives::call_with(const Tensor& x, const Tensor& y) const {
  DeviceState& state = device_.state();
  void* const stream = current_stream(state);
  for (const Tensor* tensor : {&x, &y})
    if (stream && *tensor) state.allocator.use_on(tensor->storage()->data(), stream);
  return {state.device(), communicator_, stream, x ? x.data() : nullptr, y ? y.data() : nullptr};
}

void CardCollectives::require_working(const std::string& call) const {
  if (failure_.empty()) return;
  forget_lost_results(device_.state());
  fail(failure_code_, function_of(call), failure_);
}

void CardCollectives::add_pending(Pending pending) {
  is_calling_ = true;
  if (pending_.empty()) moved_ = Clock::now();
  pending_.push_back(std::move(pending));
}

void CardCollectives::set_failure(ErrorCode code, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (!failure_.empty()) return;
  failure_code_ = code;
  failure_ = reason;
}

template <class F>
void CardCollectives::queue(const std::string& call, int other, const F& f) {
  const bool captures = is_capturing(device_);
  {
    const std::lock_guard lock(mutex_);
    require_working(call);
    Pending pending{call, 0, 0, other, {}};
    if (other < 0) {
      pending.calls = ++progress_.calls;
      progress_.last_call = call;
      made_.push_back({pending.calls, call});
      if (made_.size() > kMaxMade) made_.pop_front();
    }
    if (captures)
      is_calling_ = true;
    else
      add_pending(std::move(pending));
  }
  std::string failure;
  {
    const QueueScope queueing(device_.state());
    const Status status = f();
    if (!status.ok()) failure = status.text ? status.text : "unknown";
  }
  if (captures && failure.empty()) listen_to_launches(shared_from_this());
  end(call, failure);
}

void CardCollectives::end(const std::string& call, const std::string& failure) {
  const bool captures = is_capturing(device_);
  std::optional<Event> event;
  if (failure.empty() && !captures) event.emplace(Stream::of(device_));
  if (!failure.empty()) set_failure(ErrorCode::kIo, rank_names({rank_}) + ": " + failure);
  {
    const std::lock_guard lock(mutex_);
    is_calling_ = false;
    if (failure_.empty() && event) pending_.back().end = event;
  }
  changed_.notify_all();
  const std::lock_guard lock(mutex_);
  require_working(call);
}

void CardCollectives::before_launch() {
  const std::lock_guard lock(mutex_);
  require_working(kLaunch);
  add_pending({kLaunch, 0, ++progress_.launches, -1, {}});
}

void CardCollectives::after_launch() { end(kLaunch, ""); }

namespace {

/// The dtype in which a library combines elements of a dtype that it does not know.
DType wider(DType dtype) {
  if (is_floating(dtype)) return DType::kF32;
  return dtype == DType::kBool ? DType::kU8 : DType::kI32;
}

bool is_order(ReduceOp reduction) {
  return reduction == ReduceOp::kMax || reduction == ReduceOp::kMin;
}

int64_t bytes_in(const Tensor& x) { return bytes_of(x.dtype(), x.numel()); }

Tensor empty_like(const Tensor& x, const Shape& shape) {
  return Tensor::empty(shape, {.dtype = x.dtype(), .device = x.device()});
}

}  // namespace

Tensor CardCollectives::all_reduce(const std::string& call, const Tensor& x, ReduceOp reduction) {
  if (x.numel() == 0) return x;
  if (!library_.reduces(x.dtype(), kReductions[int(reduction)])) {
    if (is_order(reduction) && is_floating(x.dtype()))
      return combine(unbind(all_gather(call, x), 0), reduction);
    return cast(all_reduce(call, cast(x, wider(x.dtype())), reduction), x.dtype());
  }
  const Tensor y = empty_like(x, x.shape());
  queue(call, -1, [&] {
    const CollectiveCall c = call_with(x, y);
    return library_.all_reduce(&c, x.dtype(), kReductions[int(reduction)], x.numel());
  });
  return y;
}

Tensor CardCollectives::all_gather(const std::string& call, const Tensor& x) {
  Shape shape = x.shape();
  shape.insert(0, world_size_);
  const Tensor y = empty_like(x, shape);
  if (x.numel() == 0) return y;
  queue(call, -1, [&] {
    const CollectiveCall c = call_with(x, y);
    return library_.all_gather(&c, bytes_in(x));
  });
  return y;
}

Tensor CardCollectives::reduce_scatter(const std::string& call, const Tensor& x,
                                       ReduceOp reduction) {
  if (!library_.reduces(x.dtype(), kReductions[int(reduction)])) {
    if (!is_order(reduction) || !is_floating(x.dtype()))
      return cast(reduce_scatter(call, cast(x, wider(x.dtype())), reduction), x.dtype());
    Shape parts = x.shape();
    parts[0] /= world_size_;
    parts.insert(0, world_size_);
    return combine(unbind(reshape(all_to_all(call, x), parts), 0), reduction);
  }
  Shape shape = x.shape();
  shape[0] /= world_size_;
  const Tensor y = empty_like(x, shape);
  if (x.numel() == 0) return y;
  queue(call, -1, [&] {
    const CollectiveCall c = call_with(x, y);
    return library_.reduce_scatter(&c, x.dtype(), kReductions[int(reduction)], y.numel());
  });
  return y;
}

Tensor CardCollectives::all_to_all(const std::string& call, const Tensor& x) {
  const Tensor y = empty_like(x, x.shape());
  if (x.numel() == 0) return y;
  const int64_t bytes = bytes_in(x) / world_size_;
  std::vector<CollectiveMessage> out, in;
  for (int r = 0; r < world_size_; r++) {
    out.push_back({r, static_cast<char*>(x.data()) + r * bytes, bytes});
    in.push_back({r, static_cast<char*>(y.data()) + r * bytes, bytes});
  }
  queue(call, -1, [&] {
    const CollectiveCall c = call_with(x, y);
    return library_.exchange(&c, out.data(), int32(out.size()), in.data(), int32(in.size()));
  });
  return y;
}

Tensor CardCollectives::broadcast(const std::string& call, const Tensor& x, int root) {
  const Tensor y = rank_ == root ? x : empty_like(x, x.shape());
  if (x.numel() == 0) return y;
  queue(call, -1, [&] {
    const CollectiveCall c = call_with(y, y);
    return library_.broadcast(&c, bytes_in(y), root);
  });
  return y;
}

void CardCollectives::send(const std::string& call, const Tensor& x, int to) {
  if (x.numel() == 0) return;
  const CollectiveMessage out{to, x.data(), bytes_in(x)};
  queue(call, to, [&] {
    const CollectiveCall c = call_with(x, {});
    return library_.exchange(&c, &out, 1, nullptr, 0);
  });
}

void CardCollectives::receive(const std::string& call, const Tensor& y, int from) {
  if (y.numel() == 0) return;
  const CollectiveMessage in{from, y.data(), bytes_in(y)};
  queue(call, from, [&] {
    const CollectiveCall c = call_with({}, y);
    return library_.exchange(&c, nullptr, 0, &in, 1);
  });
}

// ---- watching

void CardCollectives::watch() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kLookTime, [&] { return ends_; })) {
    if (is_aborted_) continue;
    lock.unlock();
    look();
    lock.lock();
    if (!failure_.empty()) {
      lock.unlock();
      stop_work();
      lock.lock();
    }
  }
  const Progress last = progress_;
  lock.unlock();
  transport_->watch(last);  // which tells the others when it leaves
}

void CardCollectives::look() {
  for (;;) {
    std::unique_lock lock(mutex_);
    if (pending_.empty() || !pending_.front().end) break;
    const Event end = *pending_.front().end;
    lock.unlock();
    try {
      if (!end.done()) break;
    } catch (const Error& error) {
      return set_failure(error.code(), rank_names({rank_}) + ": " + error.what());
    }
    lock.lock();
    pending_.pop_front();
    moved_ = Clock::now();
    lock.unlock();
    changed_.notify_all();
  }
  std::unique_lock lock(mutex_);
  const Progress mine = progress_;
  std::optional<Pending> first;
  if (!pending_.empty()) first = pending_.front();
  const auto waited = Clock::now() - moved_;
  lock.unlock();
  const Watched watched = transport_->watch(mine);
  if (!watched.failure.empty()) return set_failure(watched.code, watched.failure);
  if (const Status status = library_.state(device_.state().device(), communicator_); !status.ok())
    return set_failure(ErrorCode::kIo,
                       rank_names({rank_}) + ": " + (status.text ? status.text : "unknown"));
  if (!watched.others.empty()) look_at_ranks(first ? &*first : nullptr, waited, watched);
}

void CardCollectives::look_at_ranks(const Pending* first, Clock::duration waited,
                                    const Watched& watched) {
  std::vector<int> behind;
  for (int r = 0; r < world_size_; r++) {
    const Progress& other = watched.others[size_t(r)];
    if (r == rank_) continue;
    {
      const std::lock_guard lock(mutex_);
      for (const Made& made : made_)
        if (made.number == other.calls && hash_of(made.call) != other.call_hash) {
          const std::string reason = rank_names({r}) + " calls " + other.last_call + ", " +
                                     rank_names({rank_}) + " calls " + made.call;
          if (failure_.empty()) failure_code_ = ErrorCode::kInvalidArgument, failure_ = reason;
          return;
        }
    }
    if (!first) continue;
    const bool is_behind = first->other >= 0
                               ? first->other == r
                               : other.calls < first->calls || other.launches < first->launches;
    if (!is_behind) continue;
    if (other.has_left && waited > kLeaveTime)
      return set_failure(ErrorCode::kIo,
                         rank_names({r}) + " has left the group, and does not call " + first->call);
    behind.push_back(r);
  }
  if (!first || waited < timeout_) return;
  const std::string within =
      first->call + " within " + seconds_text(timeout_) + " (WICK_DIST_TIMEOUT)";
  set_failure(ErrorCode::kIo, behind.empty() ? "the cards did not end " + within
                                             : rank_names(behind) + " did not come to " + within);
}

/// Ends work that waits for other ranks, and tells all that wait for it.
void CardCollectives::stop_work() {
  std::unique_lock lock(mutex_);
  if (!pending_.empty())
    report_lost_results(device_.state(), failure_code_,
                        failure_ + "; results of the group on this card are lost");
  changed_.wait_for(lock, kReturnTime, [&] { return !is_calling_; });
  const ErrorCode code = failure_code_;
  const std::string reason = failure_;
  lock.unlock();
  library_.abort(device_.state().device(), communicator_);
  transport_->fail(code, reason);
  lock.lock();
  is_aborted_ = true;
  pending_.clear();
  lock.unlock();
  changed_.notify_all();
}

}  // namespace wick::dist
