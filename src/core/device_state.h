// Core state of one device: backend, memory, seed, kernel lookup.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/allocator.h"
#include "wick/abi/backend.h"
#include "wick/core/device.h"

namespace wick {

/// Throws the Error for a failed Status of this device: "WHERE: ... on rocm:0".
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
  /// Number of random values drawn since the seed was set; the counter of the next one.
  std::atomic<uint64_t> random_counter{0};

  int device() const { return info.ordinal; }
  /// Throws if the status is not ok.
  void require(const Status& status, std::string_view where) const {
    if (!status.ok()) [[unlikely]]
      throw_status(location, status, where);
  }
  /// Waits for a stream, nullptr for the default one, and throws the error recorded by its kernels,
  /// if any.
  void synchronize(void* stream) const;
  /// Waits for all streams, and throws the first error.
  void synchronize_all() const;
  void add_stream(void* stream);
  void remove_stream(void* stream);

  /// The kernels for the query, in order of preference. Queries the backend once; later lookups
  /// take no lock.
  std::span<const Kernel> kernels(const KernelQuery& query);

 private:
  struct CachedKernels {
    Op op;
    KernelKey key;
    std::span<const Kernel> kernels;
    CachedKernels* next;
  };
  /// The name of the op with this id.
  std::string name_of(uint64_t id) const;

  mutable std::mutex streams_mutex_;
  std::vector<void*> streams_;  // those that live, without the default one

  // Hash buckets: linked lists that only grow, at the head. A query's entry is in the bucket of its
  // hash.
  static constexpr size_t kLists = 1024;
  std::atomic<CachedKernels*> cached_[kLists] = {};
};

}  // namespace wick
