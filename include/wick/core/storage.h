// Device memory, shared by the tensors that view it.
#pragma once
#include <atomic>
#include <functional>
#include <memory>

#include "wick/core/device.h"

namespace wick {

class WICK_API Storage {
 public:
  /// Allocates uninitialized memory. Errors: kOutOfMemory.
  static std::shared_ptr<Storage> allocate(const Device& device, int64_t bytes);
  /// Wraps host memory owned by the caller; `release` runs when the last tensor that views it is
  /// gone.
  static std::shared_ptr<Storage> adopt(void* data, int64_t bytes, std::function<void()> release);

  Storage(const Device& device, void* data, int64_t bytes, std::function<void()> release)
      : device_(device), data_(data), bytes_(bytes), release_(std::move(release)) {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage();

  const Device& device() const { return device_; }
  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  /// Whether the memory came from adopt, so that its owner may still read it.
  bool adopted() const { return release_ != nullptr; }
  /// Number of in-place writes. The tape saves this count with a tensor and checks that it is
  /// unchanged.
  int64_t version() const { return version_.load(std::memory_order_relaxed); }
  void bump_version() { version_.fetch_add(1, std::memory_order_relaxed); }

 private:
  Device device_;
  void* data_;
  int64_t bytes_;
  std::function<void()> release_;  // set for adopted memory only
  std::atomic<int64_t> version_{0};
};

/// The memory of a tensor on an AMD GPU, for your own HIP calls; see Tensor::as_rocm.
struct RocmStorage {
  void* memory;
  int64_t num_bytes;
  /// The device address of the tensor's first element.
  void* hip_memory() const { return memory; }
  /// The bytes from that address to the end of the tensor's storage.
  int64_t bytes() const { return num_bytes; }
};
/// The memory of a tensor on an NVIDIA GPU, for your own CUDA calls; see Tensor::as_cuda.
struct CudaStorage {
  void* memory;
  int64_t num_bytes;
  /// The device address of the tensor's first element.
  void* cuda_memory() const { return memory; }
  /// The bytes from that address to the end of the tensor's storage.
  int64_t bytes() const { return num_bytes; }
};

}  // namespace wick
