// wick.Tensor, without the ops.
#include "bind.h"
#include "casters.h"

namespace wick::python {
namespace {

/// Calls f<T>(y) with the C++ type that holds the elements of x in Python - bool, int64_t, uint64_t
/// or double - and y, x converted to that type.
template <class F>
nb::object with_python_type(const Tensor& x, F&& f) {
  const auto as = [&](DType dtype) {
    const ReleasedGil release;
    return x.to(dtype).to(Device::cpu());
  };
  const DType dtype = x.dtype();
  if (dtype == DType::kBool) return f.template operator()<bool>(as(dtype));
  if (dtype == DType::kU64) return f.template operator()<uint64_t>(as(dtype));
  if (is_integer(dtype)) return f.template operator()<int64_t>(as(DType::kI64));
  return f.template operator()<double>(as(DType::kF64));
}

nb::object item(const Tensor& x) {
  check(x.numel() == 1, ErrorCode::kShapeMismatch, "item", "expected one element, got shape ",
        x.shape());
  return with_python_type(x, []<class T>(const Tensor& y) { return nb::cast(y.item<T>()); });
}

/// The elements from `at` on, as nested lists over the dims from `dim` on; moves `at` past them.
template <class T>
nb::object nested(const std::vector<T>& values, const Shape& shape, int dim, size_t* at) {
  if (dim == shape.size()) return nb::cast(T(values[(*at)++]));
  nb::list list;
  for (int64_t i = 0; i < shape[dim]; i++) list.append(nested(values, shape, dim + 1, at));
  return list;
}

nb::object tolist(const Tensor& x) {
  return with_python_type(x, []<class T>(const Tensor& y) {
    size_t at = 0;
    return nested(y.to_vector<T>(), y.shape(), 0, &at);
  });
}

/// wick.Tensor(1.5, f32), wick.Var([1., 2.], f32, rocm:0): the text that C++ prints, as an
/// expression of Python. If elements are left out, the shape follows them.
std::string repr(const Tensor& x, const std::string& type) {
  const std::string text = to_string(x);
  const size_t end = text.rfind('\n');
  const std::string name = "wick." + type + "(";
  std::string values = text.substr(0, end);
  for (size_t at = 0; (at = values.find('\n', at)) != values.npos; at += 1 + name.size())
    values.insert(at + 1, name.size(), ' ');
  const bool is_whole = values.find("...") == values.npos && x.numel() > 0;
  return name + values + (is_whole ? "" : ", shape=" + to_string(x.shape())) + ", " +
         dtype_name(x.dtype()) + (x.device().is_cpu() ? "" : ", " + to_string(x.device())) + ")";
}

/// f"{loss:.3f}" of one element; other tensors have no format but "".
nb::object format(nb::handle self, const nb::str& spec) {
  const auto x = nb::cast<Tensor>(self);
  if (x.rank() == 0) return nb::module_::import_("builtins").attr("format")(item(x), spec);
  if (nb::len(spec) == 0) return nb::str(self);
  throw nb::type_error(("a tensor of shape " + to_string(x.shape()) + " has no format \"" +
                        spec.c_str() + "\": format its items, or use set_printoptions")
                           .c_str());
}

int64_t length(const Tensor& x) {
  if (x.rank() == 0) throw nb::type_error("len() of a tensor without dims");
  return x.size(0);
}

Tensor to(const Tensor& x, std::optional<DType> dtype,
          const std::optional<DeviceArgument>& device) {
  const Tensor y = device ? x.to(Device(*device)) : x;
  return dtype ? y.to(*dtype) : y;
}

}  // namespace

void bind_tensor(nb::module_& m) {
  nb::class_<TensorObject> type(m, "Tensor", "An immutable array of numbers on a device.");
  type.def(
          "__init__",
          [](TensorObject* self, nb::handle data, const std::optional<DTypeArgument>& dtype,
             const std::optional<DeviceArgument>& device) {
            new (self) TensorObject(tensor_of(data, value_of(dtype, "Tensor", "dtype"), device));
          },
          nb::arg("data"), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
          "Copies a number, nested lists of numbers, or an array. Without a dtype, ints become i64 "
          "and floats f32; arrays and tensors keep theirs.")
      .def_prop_ro(
          "shape", [](const Tensor& x) { return x.shape(); },
          nb::sig("def shape(self) -> tuple[int, ...]"), "The sizes, as a tuple.")
      .def_prop_ro(
          "strides", [](const Tensor& x) { return x.strides(); },
          nb::sig("def strides(self) -> tuple[int, ...]"), "In elements, not bytes.")
      .def_prop_ro("dtype", [](const Tensor& x) { return x.dtype(); })
      .def_prop_ro("device", [](const Tensor& x) { return x.device(); })
      .def_prop_ro("ndim", [](const Tensor& x) { return x.rank(); })
      .def(
          "numel", [](const Tensor& x) { return x.numel(); }, "The number of elements.")
      .def_prop_ro("requires_grad", [](const Tensor& x) { return x.requires_grad(); })
      .def("is_contiguous", [](const Tensor& x) { return x.is_contiguous(); })
      .def("item", &item, "The single element as a Python number.")
      .def("tolist", &tolist, "The elements as nested lists of Python numbers.")
      .def("to", &to, WithoutGil(), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
           "Converts to a dtype, copies to a device, or both; the tensor itself if it is there.")
      .def(
          "to",
          [](const Tensor& x, const DeviceArgument& device, std::optional<DType> dtype) {
            return to(x, dtype, device);
          },
          WithoutGil(), nb::arg("device"), nb::arg("dtype") = nb::none())
      .def(
          "to",  // a name that is no dtype's is an error that lists them
          [](const Tensor& x, const DTypeArgument& dtype,
             const std::optional<DeviceArgument>& device) {
            return to(x, value_of(dtype, "to", "dtype"), device);
          },
          WithoutGil(), nb::kw_only(), nb::arg("dtype"), nb::arg("device") = nb::none())
      .def(
          "contiguous", [](const Tensor& x) { return x.contiguous(); }, WithoutGil(),
          "The same values in row-major order.")
      .def(
          "detach", [](const Tensor& x) { return x.detach(); }, WithoutGil(),
          "The same elements, not recorded on the tape.")
      .def("__repr__",
           [](nb::handle self) {
             const auto x = nb::cast<Tensor>(self);
             const auto name = nb::cast<std::string>(nb::type_name(self.type()));
             const ReleasedGil others_run;
             return repr(x, name.substr(name.rfind('.') + 1));
           })
      .def("__format__", &format, nb::arg("spec"))
      .def("__len__", &length)
      .def("__iter__",
           [](const Tensor& x) {
             length(x);
             return nb::iter(nb::cast(unbind(x, 0)));
           })
      .def("__bool__", [](const Tensor& x) { return nb::cast<bool>(nb::bool_(item(x))); })
      .def("__float__", [](const Tensor& x) { return nb::float_(item(x)); })
      .def("__int__", [](const Tensor& x) { return nb::int_(item(x)); })
      .def("__index__",
           [](const Tensor& x) {
             if (!is_integer(x.dtype()))
               throw nb::type_error("only integer tensors can be an index");
             return nb::int_(item(x));
           })
      .def(
          "__getitem__",
          [](const Tensor& x, const Key& key) { return index(x, key.on(x.device())); },
          nb::arg("key").none(), WithoutGil())
      .def("__setitem__", [](const Tensor&, nb::handle, nb::handle) {
        throw nb::type_error(
            "a Tensor is immutable: use index_put, which returns a new tensor, or a Var");
      });
}

}  // namespace wick::python
