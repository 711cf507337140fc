#include "wick/core/device.h"

#include <algorithm>

#include <charconv>

#include "base/environment.h"
#include "core/device_state.h"
#include "core/registry.h"
#include "core/stream.h"

namespace wick {
namespace {

bool available(DeviceLocation location) {
  try {
    device_state(location);
    return true;
  } catch (const Error& e) {
    const ErrorCode c = e.code();
    if (c == ErrorCode::kModuleMissing || c == ErrorCode::kRuntimeMissing ||
        c == ErrorCode::kDeviceMissing)
      return false;
    throw;
  }
}

int count_of(DeviceKind kind) {
  const Backend* backend = find_backend(kind, nullptr);
  const char* why = nullptr;
  return backend ? std::max(0, backend->device_count(&why)) : 0;
}

}  // namespace

std::string to_string(const DeviceLocation& location) {
  if (location.kind == DeviceKind::kCpu || location.kind == DeviceKind::kMetal)
    return kind_name(location.kind);
  return kind_name(location.kind) + ":" + std::to_string(location.ordinal);
}
std::string to_string(const Device& device) { return to_string(device.location()); }

Device::Device() {
  static DeviceState& cpu = device_state({DeviceKind::kCpu, 0});
  state_ = &cpu;
}
Device Device::at(DeviceLocation location) { return Device(&device_state(location)); }
Device Device::rocm(int ordinal) { return at({DeviceKind::kRocm, ordinal}); }
Device Device::cuda(int ordinal) { return at({DeviceKind::kCuda, ordinal}); }
Device Device::metal(int ordinal) { return at({DeviceKind::kMetal, ordinal}); }
Device Device::emulated(int wave) { return at({DeviceKind::kEmulated, wave}); }
Device Device::rocm_if_available(int ordinal) {
  return available({DeviceKind::kRocm, ordinal}) ? rocm(ordinal) : cpu();
}
Device Device::cuda_if_available(int ordinal) {
  return available({DeviceKind::kCuda, ordinal}) ? cuda(ordinal) : cpu();
}

Device Device::best() {
  if (const auto chosen = environment("WICK_DEVICE"); chosen && *chosen != "auto") {
    try {
      return parse(*chosen);
    } catch (const Error& error) {
      throw Error(error.code(), std::string("WICK_DEVICE: ") + error.what());
    }
  }
  DeviceLocation integrated;
  for (const DeviceKind kind : {DeviceKind::kRocm, DeviceKind::kCuda}) {
    const Backend* backend = find_backend(kind, nullptr);
    for (int i = 0; i < count_of(kind); i++) {
      DeviceInfo info{};
      if (!backend->device_info(i, &info).ok()) continue;
      if (!info.integrated) return at({kind, info.ordinal});
      if (integrated.kind == DeviceKind::kCpu) integrated = {kind, info.ordinal};
    }
  }
  return at(integrated);
}

Device Device::parse(std::string_view text) {
  if (text == "auto") return best();
  const size_t colon = text.find(':');
  DeviceLocation location;
  bool good = find_kind(text.substr(0, colon), &location.kind);
  if (colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), location.ordinal);
    good = good && error == std::errc() && end == digits.data() + digits.size() &&
           location.ordinal >= 0 && location.kind != DeviceKind::kCpu;
  } else if (location.kind == DeviceKind::kEmulated) {
    good = false;  // the wave size is missing
  }
  check(good, ErrorCode::kInvalidArgument, "device",
        "expected cpu, rocm[:N], cuda[:N], metal, emu:32, emu:64 or auto, got \"", text, "\"");
  return at(location);
}

DeviceLocation Device::location() const { return state_->location; }
const DeviceInfo& Device::info() const { return state_->info; }
bool Device::supports_bf16() const { return state_->info.computes_bf16 != 0; }
DType Device::preferred_dtype() const {
  return (is_rocm() || is_cuda()) && supports_bf16() ? DType::kBf16 : DType::kF32;
}
void Device::set_seed(uint64_t seed) const {
  state_->seed = seed;
  state_->random_counter = 0;
}
uint64_t Device::current_seed() const { return state_->seed; }
void Device::synchronize() const { state_->synchronize_all(); }
Device::Memory Device::memory() const {
  Memory memory{};
  state_->require(
      state_->backend.memory_info(state_->device(), &memory.free_bytes, &memory.total_bytes),
      "memory_info");
  const CachingAllocator::Statistics statistics = state_->allocator.statistics();
  memory.free_bytes += statistics.reserved_bytes - statistics.used_bytes;
  const int64_t limit = state_->allocator.limit();
  memory.free_bytes = std::min(memory.free_bytes, limit - statistics.used_bytes);
  memory.total_bytes = std::min(memory.total_bytes, limit);
  return memory;
}
void Device::empty_cache() const { state_->allocator.empty_cache(); }

std::string RocmDevice::arch() const { return Device::at(location).info().architecture; }

namespace {
void native_handles(const Device& device, DeviceKind wanted, int64_t* native, void** stream) {
  check(device.kind() == wanted, ErrorCode::kDeviceMismatch, "as_" + kind_name(wanted),
        "expected a ", kind_name(wanted), " device, got ", device);
  const DeviceState& state = device.state();
  check(state.backend.native_handles, ErrorCode::kUnsupported, "as_" + kind_name(wanted),
        "the module does not provide native handles");
  state.require(state.backend.native_handles(state.device(), current_stream(state), native, stream),
                "native_handles");
}
}  // namespace

RocmDevice as_rocm(const Device& device) {
  RocmDevice result{device.location(), 0, nullptr};
  native_handles(device, DeviceKind::kRocm, &result.device, &result.stream);
  return result;
}
CudaDevice as_cuda(const Device& device) {
  CudaDevice result{device.location(), 0, nullptr};
  native_handles(device, DeviceKind::kCuda, &result.device, &result.stream);
  return result;
}
bool rocm_is_available() { return count_of(DeviceKind::kRocm) > 0; }
int rocm_device_count() { return count_of(DeviceKind::kRocm); }
bool cuda_is_available() { return count_of(DeviceKind::kCuda) > 0; }
int cuda_device_count() { return count_of(DeviceKind::kCuda); }

}  // namespace wick
