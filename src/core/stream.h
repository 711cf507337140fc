// What a Stream and an Event hold: the backend's handles.
#pragma once
#include "core/device_state.h"
#include "wick/core/stream.h"

namespace wick {

struct Stream::Impl {
  explicit Impl(const Device& device) : device(device) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl();

  Device device;
  void* handle = nullptr;  // nullptr: the device's own stream
};

struct Event::Impl {
  explicit Impl(const Stream& stream) : stream(stream) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl();

  Stream stream;  // kept alive
  void* handle = nullptr;
};

/// The handle of the stream that this thread's work on the device is queued on; nullptr: the
/// device's own.
void* current_stream(const DeviceState& state);

}  // namespace wick
