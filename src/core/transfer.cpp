#include "core/transfer.h"

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "core/device_state.h"
#include "core/graph.h"
#include "core/launch.h"
#include "core/peer_copies.h"
#include "core/stream.h"
#include "core/work_gate.h"

namespace wick {
namespace {

constexpr int64_t kMaxStaged = int64_t{64} << 20;

/// Two pinned buffers of a device, used in turn: while the device reads one, the host fills the
/// other. They last as long as the process.
class StagingBuffers {
 public:
  /// Queues a copy of bytes to the device, on the current stream. False without pinned memory.
  bool write(const Device& device, void* to, const void* from, int64_t bytes) {
    const DeviceState& state = device.state();
    const QueueScope queueing(state);
    const std::lock_guard lock(mutex_);
    Buffer* const buffer = free_buffer(state, bytes);
    if (!buffer) return false;
    std::memcpy(buffer->data, from, size_t(bytes));
    const Stream stream = Stream::of(device);
    state.require(state.backend.copy(state.device(), to, buffer->data, bytes,
                                     CopyKind::kHostToDevice, current_stream(state)),
                  "copy");
    buffer->read.emplace(stream);
    return true;
  }
  /// Reads bytes from the device once the current stream's work is done. False as of write.
  bool read(const Device& device, void* to, const void* from, int64_t bytes) {
    const DeviceState& state = device.state();
    const QueueScope queueing(state);
    const std::lock_guard lock(mutex_);
    Buffer* const buffer = free_buffer(state, bytes);
    if (!buffer) return false;
    void* const stream = current_stream(state);
    state.require(state.backend.copy(state.device(), buffer->data, from, bytes,
                                     CopyKind::kDeviceToHost, stream),
                  "copy");
    state.synchronize(stream);
    std::memcpy(to, buffer->data, size_t(bytes));
    return true;
  }

 private:
  struct Buffer {
    void* data = nullptr;
    int64_t bytes = 0;
    std::optional<Event> read;  // the device has read the last contents
  };

  /// The next buffer, no longer in use and large enough; nullptr if there is no pinned memory.
  Buffer* free_buffer(const DeviceState& state, int64_t bytes) {
    Buffer& buffer = buffers_[next_];
    next_ = 1 - next_;
    if (buffer.read) buffer.read->synchronize();
    buffer.read.reset();
    if (buffer.bytes >= bytes) return &buffer;
    if (buffer.data) state.backend.host_free(state.device(), buffer.data);
    buffer = {};
    int64_t size = int64_t{1} << 16;
    while (size < bytes) size *= 2;
    if (!state.backend.host_alloc(state.device(), size, &buffer.data).ok()) {
      buffer.data = nullptr;
      return nullptr;
    }
    buffer.bytes = size;
    return &buffer;
  }

  std::mutex mutex_;
  std::array<Buffer, 2> buffers_;
  size_t next_ = 0;
};

/// The device's buffers. They are never freed: the backend may be gone when the process ends.
StagingBuffers& buffers_of(const Device& device) {
  static std::mutex mutex;
  static auto* const all = new std::map<const DeviceState*, std::unique_ptr<StagingBuffers>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<StagingBuffers>& own = (*all)[&device.state()];
  if (!own) own = std::make_unique<StagingBuffers>();
  return *own;
}

bool has_staging(const Device& device) {
  const DeviceState& state = device.state();
  return state.backend.host_alloc && state.backend.host_free && !is_capturing(device);
}

}  // namespace

Tensor transferred(const Tensor& x, const Device& target) {
  const Device source = x.device();
  if (source == target) return x;
  const int64_t bytes = bytes_of(x.dtype(), x.numel());
  if (x.requires_grad() || bytes == 0 || bytes > kMaxStaged) return x.to(target);
  if (!source.is_cpu() && !target.is_cpu()) {
    return copies_directly(source, target) ? x.to(target)
                                           : transferred(transferred(x, Device::cpu()), target);
  }
  const Device& card = source.is_cpu() ? target : source;
  if (!has_staging(card)) return x.to(target);
  const Tensor value = make_contiguous(x);
  Tensor result = Tensor::empty(x.shape(), {.dtype = x.dtype(), .device = target});
  const bool done = source.is_cpu()
                        ? buffers_of(card).write(card, result.data(), value.data(), bytes)
                        : buffers_of(card).read(card, result.data(), value.data(), bytes);
  return done ? result : x.to(target);
}

}  // namespace wick
