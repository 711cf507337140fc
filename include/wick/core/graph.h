// Work of a device that is recorded once and queued again at little cost.
#pragma once
#include <functional>
#include <memory>

#include "wick/core/device.h"

namespace wick {

/// The kernels, copies and fills that a function queued on a device; `launch` queues them again.
/// They read and write the same memory each time: results are in the tensors that the function
/// made, or wrote in place (Var). The tensors that it read must live as long as the graph, and a
/// Var must keep its memory (copy_, not set). Temporary memory is the graph's own while it lives.
/// Cheap to copy.
class WICK_API Graph {
 public:
  /// Calls work and records the kernels, copies and fills that it queues on the device, which do
  /// not run. The host's part of `work` happens once: the host's values become constants, and
  /// reading a tensor of the device is an error. The function should have run before, so that
  /// kernels are compiled and libraries opened. Other threads' work on devices with graphs waits
  /// until the function returns, so it must not wait for them.
  ///
  /// Errors: kUnsupported on a device without graphs (the CPU; AMD runtimes before ROCm 6), with
  /// WICK_ALLOC=plain, and for work that cannot be recorded; kInvalidArgument for copies to or from
  /// the host's memory; errors of `work`.
  static Graph capture(const Device& device, const std::function<void()>& work);

  /// Queues the work. Errors of kernels come with the device's next synchronization.
  void launch() const;
  const Device& device() const;

  struct Impl;

 private:
  explicit Graph(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

/// Calls wait(), in which a thread blocks until another one has recorded its graph.
using CaptureWait = void (*)(void (*wait)());

/// Sets how threads wait for one that records a graph. For a host language whose code holds a lock
/// of its own, as Python's does: it frees the lock around wait(). nullptr: wait() alone.
WICK_API void set_capture_wait(CaptureWait around);

}  // namespace wick
