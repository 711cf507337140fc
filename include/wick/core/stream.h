// Streams and events: the order of work on a device. wick's ops run on a device's own stream, or on
// the one that the thread has made current (StreamScope).
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
  /// The stream that this thread's ops on the device run on: the current one.
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
  friend class StreamScope;
  explicit Stream(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

/// Makes a stream the current one of its device for this thread: until the scope ends, its ops,
/// copies and allocations there are queued on the stream.
///
///   const Stream side(device);
///   side.wait(Event(Stream::of(device)));     // x is ready
///   Tensor y;
///   {
///     const StreamScope scope(side);
///     y = exp(x);                             // beside the work of the device's own stream
///   }
///   Stream::of(device).wait(Event(side));     // y is ready
///
/// The caller orders the streams by events, before a tensor that one stream makes is used on
/// another, and before it is read on another (reading waits for the current stream). Memory needs
/// no care: a released tensor's is reused only after the work that all streams have
/// queued by then. Scopes nest, and end in reverse order.
///
/// Within Graph::capture a stream that waits for an event of the recording stream records too; the
/// recording stream must wait for an event of its last work before the function returns.
class WICK_API StreamScope {
 public:
  explicit StreamScope(const Stream& stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  Stream stream_;
  std::shared_ptr<const Stream::Impl> before_;  // nullptr: the device's own stream
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
