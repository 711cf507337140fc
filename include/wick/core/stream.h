// Streams and events: the order of work on a device. wick's ops all run on a device's own stream;
// further streams are for kernels that users launch (core/user_kernel.h).
#pragma once
#include <memory>

#include "wick/core/device.h"

namespace wick {

class Event;

/// A queue of work on a device. Work of one stream runs in order; two streams may overlap
/// unless one waits for the other's event. Cheap to copy.
class WICK_API Stream {
 public:
  /// A new stream. Errors: kOutOfMemory, kRocm, kCuda.
  explicit Stream(const Device& device);
  /// The stream that the device's ops run on.
  static Stream of(const Device& device);

  const Device& device() const;
  /// Waits for all work on the stream and throws errors recorded by wick's kernels. Errors: as
  /// Device::synchronize.
  void synchronize() const;
  /// Work queued on this stream from now on starts after the event. Errors: kDeviceMismatch.
  void wait(const Event& event) const;
  /// The runtime's handle, a hipStream_t or cudaStream_t, valid while a copy of this Stream exists.
  /// Errors: kUnsupported if the device's runtime has no handles.
  void* native() const;

  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  explicit Stream(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

/// A point in a stream's work. Cheap to copy.
class WICK_API Event {
 public:
  /// Records the work that is queued on the stream now.
  explicit Event(const Stream& stream);

  const Device& device() const;
  /// Whether all that work is done. Errors: kRocm, kCuda if it failed.
  bool done() const;
  /// Waits for that work.
  void synchronize() const;

  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace wick
