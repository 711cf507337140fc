#include "core/work_gate.h"

#include <atomic>
#include <mutex>
#include <shared_mutex>

#include "core/device_state.h"
#include "wick/core/graph.h"

namespace wick {
namespace {

/// One for all devices: gates of several could be taken in different orders.
struct Gate {
  std::shared_mutex queueing;
  // A stream of readers never lets a writer in: threads that arrive meanwhile wait here.
  std::mutex turnstile;
  std::atomic<int> capturing{0};
};
Gate& gate() {
  static Gate& one = *new Gate;  // outlives threads
  return one;
}

thread_local int depth = 0;  // of this thread's scopes
std::atomic<CaptureWait> around_waits{nullptr};

void wait_in_line() {
  Gate& g = gate();
  const std::lock_guard turn(g.turnstile);
  g.queueing.lock_shared();
}

}  // namespace

QueueScope::QueueScope(const DeviceState& state) : counts_(state.backend.graph_begin != nullptr) {
  if (!counts_ || depth++ > 0) return;
  Gate& g = gate();
  if (g.capturing.load(std::memory_order_relaxed) == 0 && g.queueing.try_lock_shared()) return;
  if (const CaptureWait around = around_waits)
    around(&wait_in_line);
  else
    wait_in_line();
}

QueueScope::~QueueScope() {
  if (counts_ && --depth == 0) gate().queueing.unlock_shared();
}

CaptureScope::CaptureScope() {
  check(depth == 0, ErrorCode::kInvalidArgument, "graph",
        "this thread is recording a graph already");
  Gate& g = gate();
  g.capturing++;
  g.turnstile.lock();
  g.queueing.lock();
  depth = 1;
}

CaptureScope::~CaptureScope() {
  depth = 0;
  Gate& g = gate();
  g.queueing.unlock();
  g.turnstile.unlock();
  g.capturing--;
}

void set_capture_wait(CaptureWait around) { around_waits = around; }

}  // namespace wick
