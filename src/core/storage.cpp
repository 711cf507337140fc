#include "wick/core/storage.h"

#include "core/device_state.h"
#include "core/stream.h"

namespace wick {
namespace {

std::string mebibytes(int64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

[[noreturn]] void out_of_memory(const DeviceState& state, int64_t bytes, const Status& status) {
  int64_t free = 0, total = 0;
  const bool known = state.backend.memory_info(state.device(), &free, &total).ok();
  const auto statistics = state.allocator.statistics();
  std::string largest;
  for (const int64_t size : state.allocator.largest(3))
    largest += (largest.empty() ? ", the largest of " : " and ") + std::to_string(size) + " bytes";
  fail(ErrorCode::kOutOfMemory, "tensor", "no room on ", state.location, " for ", bytes, " bytes (",
       mebibytes(bytes), "): ", mebibytes(statistics.used_bytes), " in use by tensors", largest,
       ", ", known ? mebibytes(free) : "?", " free of ", known ? mebibytes(total) : "?",
       status.text ? ": " : "", status.text ? status.text : "");
}

}  // namespace

std::shared_ptr<Storage> Storage::allocate(const Device& device, int64_t bytes) {
  DeviceState& state = device.state();
  void* data = nullptr;
  const Status status = state.allocator.allocate(bytes, current_stream(state), &data);
  if (status.code == StatusCode::kOutOfMemory) out_of_memory(state, bytes, status);
  state.require(status, "alloc");
  return std::make_shared<Storage>(device, data, bytes, nullptr);
}

std::shared_ptr<Storage> Storage::adopt(void* data, int64_t bytes, std::function<void()> release) {
  return std::make_shared<Storage>(
      Device::cpu(), data, bytes, release ? std::move(release) : [] {});
}

Storage::~Storage() {
  if (release_)
    release_();
  else
    device_.state().allocator.release(data_);
}

}  // namespace wick
