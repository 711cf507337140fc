#include "core/device_state.h"

#include <algorithm>
#include <exception>

#include "base/environment.h"
#include "core/memory_limit.h"
#include "core/work_gate.h"

namespace wick {
namespace {

bool wants_plain(const DeviceInfo& info) {
  return info.plain_allocation != 0 ||
         environment_choice("WICK_ALLOC", {"caching", "plain"}).value_or(0) == 1;
}

}  // namespace

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
