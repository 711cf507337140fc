// What the core keeps for one device: its backend, memory, seed, and the look-up of kernels.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <span>

#include "core/allocator.h"
#include "wick/abi/backend.h"
#include "wick/core/device.h"

namespace wick {

/// Throws the Error that a failed Status of this device stands for: "rocm:0: ...".
[[noreturn]] void throw_status(const DeviceLocation& location, const Status& status,
                               std::string_view where);

class DeviceState {
 public:
  DeviceState(DeviceLocation location, const Backend& backend, const DeviceInfo& info);

  const DeviceLocation location;
  const Backend& backend;
  const DeviceInfo info;
  CachingAllocator allocator;
  std::atomic<uint64_t> seed;
  /// Random numbers drawn since the seed was set: the next one's counter.
  std::atomic<uint64_t> random_counter{0};

  int device() const { return info.ordinal; }
  /// Throws if the status is not ok.
  void require(const Status& status, std::string_view where) const {
    if (!status.ok()) [[unlikely]]
      throw_status(location, status, where);
  }
  /// Waits for the default stream and throws what its kernels found wrong.
  void synchronize() const;

  /// Rows for the query in order of preference; asked of the backend once, then found without a
  /// lock.
  std::span<const KernelRow> rows(const KernelQuery& query);

 private:
  struct CachedRows {
    uint64_t key;
    std::span<const KernelRow> rows;
    CachedRows* next;
  };
  std::atomic<CachedRows*> cached_[kNumOps] = {};  // lists that only grow, at their heads
};

}  // namespace wick
