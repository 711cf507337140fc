// Streams and events of kernels that a program launches.
#include <memory>
#include <vector>

#include "bind.h"
#include "casters.h"
#include "wick/core/graph.h"
#include "wick/core/stream.h"

namespace wick::python {

namespace {

/// The thread that records may run Python code, which needs the GIL.
void wait_without_gil(void (*wait)()) {
  if (PyGILState_Check() == 0) return wait();
  const FreedGil freed;
  wait();
}

/// The `with stream:` that this thread is in.
std::vector<std::unique_ptr<StreamScope>>& scopes() {
  static thread_local std::vector<std::unique_ptr<StreamScope>> all;
  return all;
}

Graph capture(const DeviceArgument& device, const nb::callable& work) {
  enter_wick();
  const FreedGil freed;  // while it waits for other threads
  return Graph::capture(device, [&] {
    const nb::gil_scoped_acquire acquired;
    work();
  });
}

}  // namespace

void bind_streams(nb::module_& m) {
  set_capture_wait(&wait_without_gil);
  nb::class_<Graph>(
      m, "Graph",
      "The kernels, copies and fills that a function queued on a device, to be queued "
      "again at little cost. They read and write the same memory each time: results "
      "are in the tensors that the function made, or wrote in place. The tensors that it "
      "read must live as long as the graph.")
      .def_static("capture", &capture, nb::arg("device"), nb::arg("work"),
                  "Calls work and records what it queues on the device, which does not run. The "
                  "host's values become constants, and reading a tensor of the device raises an "
                  "error. The function should have run before. Other threads' work on GPUs waits "
                  "until it returns, so it must not wait for them. RuntimeError on a device "
                  "without graphs, such as the CPU.")
      .def("launch", &Graph::launch, WithoutGil(), "Queues the work.")
      .def_prop_ro("device", [](const Graph& graph) { return graph.device(); });
  nb::class_<Event> event(m, "Event", "A point in a stream's work.");
  nb::class_<Stream>(
      m, "Stream",
      "A queue of work on a device. Work of one stream runs in order; that of two may "
      "overlap unless one waits for the other's event. Ops of a thread run on "
      "Stream.of(device): the device's own stream, or the one of the innermost `with stream:`. "
      "Order streams by events before a tensor that one makes is used or read on another; "
      "memory needs no care.")
      .def(
          "__init__",
          [](Stream* self, const DeviceArgument& device) {
            enter_wick();
            new (self) Stream(device);
          },
          nb::arg("device"), "A new stream.")
      .def_static(
          "of", [](const DeviceArgument& device) { return Stream::of(device); }, nb::arg("device"),
          WithoutGil(), "The stream that this thread's ops on the device run on.")
      .def_prop_ro("device", [](const Stream& stream) { return stream.device(); })
      .def_prop_ro(
          "native",
          [](const Stream& stream) { return reinterpret_cast<uintptr_t>(stream.native()); },
          "The runtime's handle, a hipStream_t or cudaStream_t, as an int: other libraries take "
          "it.")
      .def("synchronize", &Stream::synchronize, WithoutGil(),
           "Waits for all work on the stream and raises the errors of wick's kernels.")
      .def("wait", &Stream::wait, nb::arg("event"), WithoutGil(),
           "Work queued from now on starts after the event.")
      .def(
          "__enter__",
          [](const Stream& stream) {
            scopes().push_back(std::make_unique<StreamScope>(stream));
            return stream;
          },
          "Ops of this thread run on the stream until the `with` ends.")
      .def(
          "__exit__", [](const Stream&, nb::args) { scopes().pop_back(); }, nb::arg("args"),
          "Ops run on the stream of before.");
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
