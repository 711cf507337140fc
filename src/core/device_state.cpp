#include "core/device_state.h"

#include <algorithm>
#include <exception>
#include <map>

#include "base/environment.h"
#include "core/lost_results.h"
#include "core/memory_limit.h"
#include "core/work_gate.h"

namespace wick {
namespace {

bool wants_plain(const DeviceInfo& info) {
  return info.plain_allocation != 0 ||
         environment_choice("WICK_ALLOC", {"caching", "plain"}).value_or(0) == 1;
}

struct LostResults {
  std::atomic<bool> any{false};
  std::mutex mutex;  // of what follows
  std::map<const DeviceState*, std::pair<ErrorCode, std::string>> reports;
};

/// Never destroyed: a thread may report at the exit.
LostResults& lost_results() {
  static LostResults& all = *new LostResults;
  return all;
}

/// Throws the report for a device, if there is one.
void throw_lost_results(const DeviceState& state) {
  LostResults& all = lost_results();
  if (!all.any.load(std::memory_order_acquire)) return;
  std::unique_lock lock(all.mutex);
  const auto found = all.reports.find(&state);
  if (found == all.reports.end()) return;
  const auto [code, reason] = found->second;
  all.reports.erase(found);
  all.any.store(!all.reports.empty(), std::memory_order_release);
  lock.unlock();
  fail(code, "synchronize", reason);
}

}  // namespace

void report_lost_results(const DeviceState& state, ErrorCode code, const std::string& reason) {
  LostResults& all = lost_results();
  const std::lock_guard lock(all.mutex);
  all.reports.insert_or_assign(&state, std::pair(code, reason));
  all.any.store(true, std::memory_order_release);
}

void forget_lost_results(const DeviceState& state) {
  LostResults& all = lost_results();
  const std::lock_guard lock(all.mutex);
  all.reports.erase(&state);
  all.any.store(!all.reports.empty(), std::memory_order_release);
}

DeviceState::DeviceState(DeviceLocation location, const Backend& backend, const DeviceInfo& info)
    : location(location),
      backend(backend),
      info(info),
      allocator(backend, info.ordinal, wants_plain(info), memory_limit(to_string(location))),
      seed(299792458) {}

std::span<const Kernel> DeviceState::kernels(const KernelQuery& query) {
  const KernelKey key = key_of(query);
  const uint64_t mixed = (key.op + key.in * 31 + key.out * 961) * 0x9e3779b97f4a7c15;
  std::atomic<CachedKernels*>& head = cached_[mixed >> 32 & (kLists - 1)];
  for (const CachedKernels* c = head.load(std::memory_order_acquire); c; c = c->next)
    if (c->key == key) return c->kernels;
  const Kernel* kernels = nullptr;
  const int count = backend.find_kernels(device(), &query, &kernels);
  CachedKernels* fresh = new CachedKernels{
      *query.op, key, {kernels, size_t(count)}, head.load(std::memory_order_relaxed)};
  while (!head.compare_exchange_weak(fresh->next, fresh, std::memory_order_release,
                                     std::memory_order_relaxed)) {
  }
  return fresh->kernels;
}

std::string DeviceState::name_of(uint64_t id) const {
  for (const std::atomic<CachedKernels*>& head : cached_)
    for (const CachedKernels* c = head.load(std::memory_order_acquire); c; c = c->next)
      if (c->op.id == id) return c->op.name;
  return "an unknown op";
}

void DeviceState::synchronize(void* stream) const {
  ErrorRecord record{};
  const Status status = [&] {
    const QueueScope queueing(*this);
    return backend.stream_synchronize(device(), stream, &record);
  }();
  if (record.code == uint32_t(StatusCode::kIdOutOfRange))
    fail(ErrorCode::kOutOfRange, name_of(record.op), "id ", record.value, " at position ",
         record.position, " is outside [0, ", record.limit, ") on ", location);
  if (record.code != 0)
    fail(ErrorCode::kKernelError, name_of(record.op), "kernel failed with code ", record.code,
         " at position ", record.position, " on ", location);
  require(status, "synchronize");
  throw_lost_results(*this);
}

void DeviceState::synchronize_all() const {
  const QueueScope queueing(*this);  // before the lock
  const std::lock_guard lock(streams_mutex_);
  std::exception_ptr first;
  const auto wait = [&](void* stream) {
    try {
      synchronize(stream);
    } catch (const Error&) {
      if (!first) first = std::current_exception();
    }
  };
  wait(nullptr);
  for (void* stream : streams_) wait(stream);
  if (first) std::rethrow_exception(first);
}

void DeviceState::add_stream(void* stream) {
  const std::lock_guard lock(streams_mutex_);
  streams_.push_back(stream);
}

void DeviceState::remove_stream(void* stream) {
  const std::lock_guard lock(streams_mutex_);
  const auto found = std::find(streams_.begin(), streams_.end(), stream);
  if (found != streams_.end()) streams_.erase(found);
}

void throw_status(const DeviceLocation& location, const Status& status, std::string_view where) {
  ErrorCode code = ErrorCode::kKernelError;
  switch (status.code) {
    case StatusCode::kOk:
    case StatusCode::kDeclined:  // try_launch handles it; an error from any other function
      break;
    case StatusCode::kUnsupported:
      code = ErrorCode::kUnsupported;
      break;
    case StatusCode::kInvalidArgument:
      code = ErrorCode::kInvalidArgument;
      break;
    case StatusCode::kOutOfMemory:
      code = ErrorCode::kOutOfMemory;
      break;
    case StatusCode::kIdOutOfRange:
      code = ErrorCode::kOutOfRange;
      break;
    case StatusCode::kKernelNotFound:
      code = ErrorCode::kKernelNotFound;
      break;
    case StatusCode::kModuleNotLoaded:
      code = ErrorCode::kKernelModuleNotLoaded;
      break;
    case StatusCode::kDeviceError:
      if (location.kind == DeviceKind::kRocm) code = ErrorCode::kRocm;
      if (location.kind == DeviceKind::kCuda) code = ErrorCode::kCuda;
      break;
  }
  std::string_view text = status.text ? status.text : "no reason given";
  // A backend's text usually begins with the op's name.
  if (text.starts_with(where) && text.substr(where.size()).starts_with(": "))
    text.remove_prefix(where.size() + 2);
  fail(code, where, text, " on ", location);
}

}  // namespace wick
