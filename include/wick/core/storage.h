// Memory on a device, shared by the tensors that look into it.
#pragma once
#include <atomic>
#include <functional>
#include <memory>

#include "wick/core/device.h"

namespace wick {

class WICK_API Storage {
 public:
  /// Fresh memory, its content undefined. Errors: kOutOfMemory.
  static std::shared_ptr<Storage> allocate(const Device& device, int64_t bytes);
  /// Host memory that somebody else made; release is called when nothing looks into it any more.
  static std::shared_ptr<Storage> adopt(void* data, int64_t bytes, std::function<void()> release);

  Storage(const Device& device, void* data, int64_t bytes, std::function<void()> release)
      : device_(device), data_(data), bytes_(bytes), release_(std::move(release)) {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage();

  const Device& device() const { return device_; }
  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  /// Whether the memory is somebody else's, who may look at it.
  bool adopted() const { return release_ != nullptr; }
  /// Counts the writes in place: what the tape has kept must still have the count that it saw.
  int64_t version() const { return version_.load(std::memory_order_relaxed); }
  void bump_version() { version_.fetch_add(1, std::memory_order_relaxed); }

 private:
  Device device_;
  void* data_;
  int64_t bytes_;
  std::function<void()> release_;  // of adopted memory
  std::atomic<int64_t> version_{0};
};

}  // namespace wick
