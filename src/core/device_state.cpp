#include "core/device_state.h"

#include "base/environment.h"

namespace wick {
namespace {

bool wants_plain(const DeviceInfo& info) {
  return info.plain_allocation != 0 ||
         environment_choice("WICK_ALLOC", {"caching", "plain"}).value_or(0) == 1;
}

// Up to twelve operands, 5 bits each, and how many are inputs.
uint64_t key_of(const KernelQuery& query) {
  uint64_t key = uint64_t(query.num_in) << 60;
  for (int i = 0; i < query.num_in + query.num_out; i++)
    key |= (uint64_t(query.dtypes[i]) + 1) << (5 * i);
  return key;
}

}  // namespace

DeviceState::DeviceState(DeviceLocation location, const Backend& backend, const DeviceInfo& info)
    : location(location),
      backend(backend),
      info(info),
      allocator(backend, info.ordinal, wants_plain(info)),
      seed(299792458) {}

std::span<const KernelRow> DeviceState::rows(const KernelQuery& query) {
  const uint64_t key = key_of(query);
  std::atomic<CachedRows*>& head = cached_[int(query.op)];
  for (const CachedRows* c = head.load(std::memory_order_acquire); c; c = c->next)
    if (c->key == key) return c->rows;
  const KernelRow* rows = nullptr;
  const int count = backend.find_kernels(device(), &query, &rows);
  CachedRows* fresh =
      new CachedRows{key, {rows, size_t(count)}, head.load(std::memory_order_relaxed)};
  while (!head.compare_exchange_weak(fresh->next, fresh, std::memory_order_release,
                                     std::memory_order_relaxed)) {
  }
  return fresh->rows;
}

void DeviceState::synchronize() const {
  ErrorRecord record{};
  const Status status = backend.stream_synchronize(device(), nullptr, &record);
  if (record.code == uint32_t(StatusCode::kIdOutOfRange))
    fail(ErrorCode::kOutOfRange, op_name(OpId(record.op)), "id ", record.value, " at position ",
         record.position, " is outside [0, ", record.limit, ") on ", location);
  if (record.code != 0)
    fail(ErrorCode::kKernelError, op_name(OpId(record.op)), "kernel failed with code ", record.code,
         " at position ", record.position, " on ", location);
  require(status, "synchronize");
}

void throw_status(const DeviceLocation& location, const Status& status, std::string_view where) {
  ErrorCode code = ErrorCode::kKernelError;
  switch (status.code) {
    case StatusCode::kOk:
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
  const std::string_view text = status.text ? status.text : "no reason given";
  // A backend's text mostly begins with the op's name itself.
  if (text.substr(0, where.size()) == where)
    throw Error(code, std::string(text) + " on " + to_string(location));
  fail(code, where, text, " on ", location);
}

}  // namespace wick
