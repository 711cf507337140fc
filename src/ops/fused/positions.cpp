#include "ops/fused/positions.h"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <vector>

#include "core/work_gate.h"

namespace wick {
namespace {

constexpr int64_t kLeastLength = 1024;

/// Positions 0, 1, ... on each device, so that a call neither uploads them nor waits for its stream. They
/// are never freed, as graphs may have captured their addresses; lengths double.
struct Kept {
  std::mutex mutex;
  std::map<const DeviceState*, std::vector<Tensor>> of;
};
Kept& kept() {
  static Kept& all = *new Kept;  // outlives devices and threads
  return all;
}

}  // namespace

Tensor first_positions(int64_t batch, int64_t length, const Device& device) {
  Kept& all = kept();
  const QueueScope queueing(device.state());  // arange queues work under the lock
  const std::lock_guard lock(all.mutex);
  std::vector<Tensor>& tensors = all.of[&device.state()];
  if (tensors.empty() || tensors.back().size(0) < length) {
    const int64_t size = int64_t(std::bit_ceil(uint64_t(std::max(length, kLeastLength))));
    tensors.push_back(arange(size, {.dtype = DType::kI64, .device = device}));
  }
  return broadcast_to(narrow(tensors.back(), 0, 0, length), {batch, length});
}

}  // namespace wick
