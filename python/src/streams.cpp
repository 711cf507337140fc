// Streams and events of kernels that a program launches.
#include "bind.h"
#include "casters.h"
#include "wick/core/stream.h"

namespace wick::python {

void bind_streams(nb::module_& m) {
  nb::class_<Event> event(m, "Event", "A point in a stream's work.");
  nb::class_<Stream>(
      m, "Stream",
      "A queue of kernels on a device. Work of one stream runs in order; that of two "
      "may overlap unless one waits for the other's event. Ops run on Stream.of(device).")
      .def(
          "__init__",
          [](Stream* self, const DeviceArgument& device) {
            enter_wick();
            new (self) Stream(device);
          },
          nb::arg("device"), "A new stream.")
      .def_static(
          "of", [](const DeviceArgument& device) { return Stream::of(device); }, nb::arg("device"),
          WithoutGil(), "The stream that the device's ops run on.")
      .def_prop_ro("device", [](const Stream& stream) { return stream.device(); })
      .def_prop_ro(
          "native",
          [](const Stream& stream) { return reinterpret_cast<uintptr_t>(stream.native()); },
          "The runtime's handle, a hipStream_t or cudaStream_t, as an int: other libraries take "
          "it.")
      .def("synchronize", &Stream::synchronize, WithoutGil(),
           "Waits for all work on the stream and raises the errors of wick's kernels.")
      .def("wait", &Stream::wait, nb::arg("event"), WithoutGil(),
           "Work queued from now on starts after the event.");
  event
      .def(
          "__init__",
          [](Event* self, const Stream& stream) {
            enter_wick();
            new (self) Event(stream);
          },
          nb::arg("stream"), "Records the work that is queued on the stream now.")
      .def_prop_ro("device", [](const Event& e) { return e.device(); })
      .def_prop_ro("done", &Event::done, "Whether all that work is done.")
      .def("synchronize", &Event::synchronize, WithoutGil(), "Waits for that work.");
}

}  // namespace wick::python
