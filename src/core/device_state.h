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

  /// Kernels for the query in order of preference; asked of the backend once, then found without a
  /// lock.
  std::span<const Kernel> kernels(const KernelQuery& query);

 private:
  struct CachedKernels {
    Op op;
    KernelKey key;
    std::span<const Kernel> kernels;
    CachedKernels* next;
  };
  /// The op of an error record, as text.
  std::string name_of(uint64_t id) const;

  // Lists that only grow, at their heads: an op's and dtypes' stand in one of them.
  static constexpr size_t kLists = 1024;
  std::atomic<CachedKernels*> cached_[kLists] = {};
};

}  // namespace wick
