// wick.Var, and the switch of the tape.
#include "bind.h"
#include "casters.h"

namespace wick::python {
namespace {

/// A NoGrad that ends when Python says so.
struct NoGradScope {
  std::optional<NoGrad> scope{std::in_place};
  void close() { scope.reset(); }
};

}  // namespace

void bind_var(nb::module_& m) {
  // A freed gradient may end a Function of Python, which needs the GIL: no method here waits
  // for a lock of wick while it holds the GIL.
  nb::class_<VarObject, TensorObject>(
      m, "Var", "A mutable tensor, for which backward accumulates a gradient.")
      .def(
          "__init__",
          [](VarObject* self, nb::handle data, const std::optional<DTypeArgument>& dtype,
             const std::optional<DeviceArgument>& device, bool requires_grad) {
            const Tensor value = tensor_of(data, value_of(dtype, "Var", "dtype"), device);
            new (self) VarObject(Var(value, requires_grad));
          },
          nb::arg("data"), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
          nb::arg("requires_grad") = true, "Starts with a copy of the data, as Tensor does.")
      .def_prop_ro(
          "grad", [](const Var& v) { return v.grad(); }, WithoutGil(),
          "The accumulated gradient; None before the first backward.")
      .def(
          "zero_grad", [](const Var& v) { v.zero_grad(); }, WithoutGil(), "Forgets the gradient.")
      .def(
          "set_",
          [](Target v, const Tensor& value) {
            v.var.set_(value);
            return v;
          },
          nb::arg("value"), WithoutGil(),
          "Replaces the value; results computed from the old value keep it.")
      .def(
          "__setitem__",
          [](Var& v, const Key& key, const Tensor& x) {
            index_put_(v, key.on(v.tensor().device()), x);
          },
          nb::arg("key").none(), nb::arg("value"), WithoutGil())
      .def(
          "__setitem__",
          [](Var& v, const Key& key, Number x) { index_put_(v, key.on(v.tensor().device()), x); },
          nb::arg("key").none(), nb::arg("value"), WithoutGil())
      .def(
          "__setitem__",
          [](Var& v, const Key& key, nb::handle data) {
            const Device device = v.tensor().device();
            index_put_(v, key.on(device),
                       tensor_of(data, v.tensor().dtype(), DeviceArgument(device)));
          },
          nb::arg("key").none(), nb::arg("value"));

  nb::class_<NoGradScope>(m, "_NoGrad").def(nb::init<>()).def("close", &NoGradScope::close);
}

}  // namespace wick::python
