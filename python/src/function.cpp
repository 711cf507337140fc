// The tape's side of wick.Function, whose Python side is python/wick/function.py.
#include "bind.h"
#include "casters.h"

namespace wick::python {
namespace {

/// Releases a reference on any thread, also while Python clears its modules at exit, when this
/// thread holds the GIL and no other can get it.
void release(PyObject* object) {
  if (!nb::is_alive()) return;
  if (PyGILState_Check()) {
    Py_DECREF(object);
  } else {
    const nb::gil_scoped_acquire python;
    if (python.is_valid()) Py_DECREF(object);
  }
}

/// A function of Python as a gradient rule, which any thread may run and release without the GIL.
/// An exception of the function passes through the tape to the caller of backward.
BackwardFunction rule_of(const nb::callable& function) {
  const std::shared_ptr<PyObject> held(nb::object(function).release().ptr(), &release);
  return [held](const Tensor& output, const Tensor& gradient) {
    const nb::gil_scoped_acquire python;
    if (!python.is_valid()) nb::raise("backward: Python is shutting down");
    return nb::cast<std::vector<Tensor>>(nb::handle(held.get())(output, gradient));
  };
}

}  // namespace

void bind_function(nb::module_& m) {
  m.def(
      "_with_gradient",
      [](const std::string& name, const Tensor& y, const std::vector<Tensor>& inputs,
         const nb::callable& backward, bool keep_output) {
        BackwardFunction rule = rule_of(backward);
        const ReleasedGil others_run;
        return with_gradient(name, y, inputs, std::move(rule), keep_output);
      },
      nb::arg("name"), nb::arg("y"), nb::arg("inputs"), nb::arg("backward"),
      nb::arg("keep_output"));
  m.def(
      "_version", [](const Tensor& x) { return x.storage()->version(); }, nb::arg("x"),
      "Grows with each in-place op on the tensor's memory.");
}

}  // namespace wick::python
