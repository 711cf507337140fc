// Keeps the work of other threads out of a graph that a thread records.
#pragma once

namespace wick {

class DeviceState;

/// Held while a thread queues work on a device's own stream, or waits for that stream. It waits
/// while another thread records a graph, which would record this work too. Scopes of a thread nest;
/// a scope comes before any lock under which a thread queues work, since the thread that records
/// may want that lock.
class QueueScope {
 public:
  explicit QueueScope(const DeviceState& state);
  ~QueueScope();
  QueueScope(const QueueScope&) = delete;
  QueueScope& operator=(const QueueScope&) = delete;

 private:
  const bool counts_;  // on a device with graphs
};

/// Held by the thread that records a graph, whose QueueScopes pass. Waits for the QueueScopes of
/// other threads on all devices. Errors: kInvalidArgument within a scope of the same thread.
class CaptureScope {
 public:
  CaptureScope();
  ~CaptureScope();
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;
};

}  // namespace wick
