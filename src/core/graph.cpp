#include "core/graph.h"

#include <algorithm>
#include <vector>

#include "core/device_state.h"
#include "core/stream.h"
#include "core/work_gate.h"

namespace wick {
namespace {

const DeviceState*& captured_device() {
  static thread_local const DeviceState* device = nullptr;
  return device;
}

/// The listeners of the graph that this thread records.
using Listeners = std::vector<std::shared_ptr<LaunchListener>>;
Listeners*& captured_listeners() {
  static thread_local Listeners* listeners = nullptr;
  return listeners;
}

}  // namespace

struct Graph::Impl {
  explicit Impl(const Device& device) : device(device) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    DeviceState& state = device.state();
    if (handle) state.backend.graph_destroy(state.device(), handle);
    state.allocator.dissolve_pool(this);
  }

  Device device;
  void* handle = nullptr;
  Listeners listeners;
};

bool is_capturing(const Device& device) { return captured_device() == &device.state(); }

void listen_to_launches(std::shared_ptr<LaunchListener> listener) {
  Listeners& all = *captured_listeners();
  if (std::find(all.begin(), all.end(), listener) == all.end()) all.push_back(std::move(listener));
}

Graph Graph::capture(const Device& device, const std::function<void()>& work) {
  DeviceState& state = device.state();
  const Backend& backend = state.backend;
  check(backend.graph_begin, ErrorCode::kUnsupported, "graph", device, " has no graphs");
  check(!state.allocator.is_plain(), ErrorCode::kUnsupported, "graph",
        "the memory of a graph needs the caching allocator, which is off on ", device);
  const CaptureScope alone;
  const auto impl = std::make_shared<Impl>(device);
  void* const stream = current_stream(state);
  state.require(backend.graph_begin(state.device(), stream), "graph");
  state.allocator.begin_pool(impl.get());
  captured_device() = &state;
  captured_listeners() = &impl->listeners;
  const auto end = [&] {
    captured_device() = nullptr;
    captured_listeners() = nullptr;
    state.allocator.end_pool();
    return backend.graph_end(state.device(), stream, &impl->handle);
  };
  try {
    work();
  } catch (...) {
    end();  // the work's error is the one to report
    throw;
  }
  state.require(end(), "graph");
  return Graph(impl);
}

void Graph::launch() const {
  const DeviceState& state = impl_->device.state();
  for (const auto& listener : impl_->listeners) listener->before_launch();
  const Status status = [&] {
    const QueueScope queueing(state);
    return state.backend.graph_launch(state.device(), current_stream(state), impl_->handle);
  }();
  for (const auto& listener : impl_->listeners) listener->after_launch();
  state.require(status, "graph");
}

const Device& Graph::device() const { return impl_->device; }

}  // namespace wick
