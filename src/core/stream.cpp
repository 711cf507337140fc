#include "core/stream.h"

#include <chrono>
#include <thread>
#include <vector>

#include "core/work_gate.h"

namespace wick {
namespace {

/// A device that this thread has another stream of than its own.
struct CurrentStream {
  const DeviceState* device;
  std::shared_ptr<const Stream::Impl> stream;
};
std::vector<CurrentStream>& current_streams() {
  static thread_local std::vector<CurrentStream> streams;
  return streams;
}

/// nullptr: the device's own.
std::shared_ptr<const Stream::Impl> current_of(const DeviceState& device) {
  for (const CurrentStream& c : current_streams())
    if (c.device == &device) return c.stream;
  return nullptr;
}

void make_current(const DeviceState& device, std::shared_ptr<const Stream::Impl> stream) {
  std::vector<CurrentStream>& all = current_streams();
  std::erase_if(all, [&](const CurrentStream& c) { return c.device == &device; });
  if (stream && stream->handle) all.push_back({&device, std::move(stream)});
}

}  // namespace

void* current_stream(const DeviceState& state) {
  for (const CurrentStream& c : current_streams())
    if (c.device == &state) return c.stream->handle;
  return nullptr;
}

StreamScope::StreamScope(const Stream& stream)
    : stream_(stream), before_(current_of(stream.device().state())) {
  DeviceState& state = stream.device().state();
  state.allocator.share_with(stream.impl().handle);
  make_current(state, stream_.impl_);
}
StreamScope::~StreamScope() { make_current(stream_.device().state(), before_); }

Stream::Impl::~Impl() {
  if (!handle) return;
  DeviceState& state = device.state();
  state.remove_stream(handle);
  ErrorRecord record{};
  state.backend.stream_synchronize(state.device(), handle, &record);
  state.allocator.forget(handle);
  state.backend.stream_destroy(state.device(), handle);
}

Stream::Stream(const Device& device) {
  DeviceState& state = device.state();
  auto impl = std::make_shared<Impl>(device);
  state.require(state.backend.stream_create(state.device(), &impl->handle), "stream");
  state.add_stream(impl->handle);
  impl_ = std::move(impl);
}
Stream Stream::of(const Device& device) {
  if (const auto current = current_of(device.state())) return Stream(current);
  return Stream(std::make_shared<const Impl>(device));
}

const Device& Stream::device() const { return impl_->device; }
void Stream::synchronize() const { device().state().synchronize(impl_->handle); }

void Stream::wait(const Event& event) const {
  check(event.device() == device(), ErrorCode::kDeviceMismatch, "stream", "a stream of ", device(),
        " cannot wait for an event of ", event.device());
  const DeviceState& state = device().state();
  const QueueScope queueing(state);
  state.require(state.backend.stream_wait(state.device(), impl_->handle, event.impl().handle),
                "stream");
}

void* Stream::native() const {
  const DeviceState& state = device().state();
  check(state.backend.native_handles, ErrorCode::kUnsupported, "stream", device(),
        " has no handles of a runtime");
  int64_t native_device = 0;
  void* native_stream = nullptr;
  state.require(
      state.backend.native_handles(state.device(), impl_->handle, &native_device, &native_stream),
      "stream");
  return native_stream;
}

Event::Impl::~Impl() {
  const DeviceState& state = stream.device().state();
  if (handle) state.backend.event_destroy(state.device(), handle);
}

Event::Event(const Stream& stream) {
  DeviceState& state = stream.device().state();
  auto impl = std::make_shared<Impl>(stream);
  state.require(state.backend.event_create(state.device(), &impl->handle), "event");
  const QueueScope queueing(state);
  state.allocator.fork_pool();
  state.require(state.backend.event_record(state.device(), impl->handle, stream.impl().handle),
                "event");
  impl_ = std::move(impl);
}

const Device& Event::device() const { return impl_->stream.device(); }

bool Event::done() const {
  const DeviceState& state = device().state();
  int32 done = 0;
  state.require(state.backend.event_query(state.device(), impl_->handle, &done), "event");
  return done != 0;
}

void Event::synchronize() const {
  // Work on a card takes microseconds to milliseconds: yield first, then sleep.
  for (int tries = 0; !done(); tries++) {
    if (tries < 100)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace wick
