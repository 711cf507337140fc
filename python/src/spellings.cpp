// Spellings of PyTorch and NumPy that are no ops of wick: x.T, x.size(), x.half(), x.cpu(), arange.
#include "bind.h"
#include "casters.h"
#include "dtype_names.h"

namespace wick::python {
namespace {

/// All dims in reverse order.
Tensor reversed(const Tensor& x) {
  Dims order;
  for (int d = x.rank(); d-- > 0;) order.push_back(d);
  return permute(x, order);
}

/// broadcast_to, where -1 keeps a size.
Tensor expand(const Tensor& x, const Dims& sizes) {
  Shape shape(sizes);
  const int added = sizes.size() - x.rank();
  for (int d = std::max(added, 0); d < sizes.size(); d++)
    if (shape[d] == -1) shape[d] = x.size(d - added);
  return broadcast_to(x, shape);
}

Tensor arange_of(Number start, std::optional<Number> end, Number step,
                 const std::optional<DTypeArgument>& dtype, const DeviceArgument& device) {
  if (!end) {
    end = start;
    start = 0;
  }
  return arange(start, *end, step, {.dtype = value_of(dtype, "arange", "dtype"), .device = device});
}

}  // namespace

void bind_spellings(nb::module_& m) {
  auto type = nb::borrow<nb::class_<TensorObject>>(m.attr("Tensor"));
  type.def(
          "size", [](const Tensor& x) { return x.shape(); }, "The sizes, as a tuple: the shape.")
      .def(
          "size",
          [](const Tensor& x, int64_t dim) {
            const int64_t rank = x.rank();
            check(-rank <= dim && dim < rank, ErrorCode::kOutOfRange, "size", "dim: expected ",
                  -rank, " to ", rank - 1, ", got ", dim);
            return x.size(int(dim < 0 ? dim + rank : dim));
          },
          nb::arg("dim"), "One size.")
      .def(
          "dim", [](const Tensor& x) { return x.rank(); }, "The number of dims: ndim.")
      .def_prop_ro("T", &reversed, WithoutGil(), "All dims in reverse order, as NumPy has it.")
      .def_prop_ro(
          "mT", [](const Tensor& x) { return transpose(x, -2, -1); }, WithoutGil(),
          "The last two dims exchanged.")
      .def(
          "expand",
          [](const Tensor& x, const nb::args& given) {
            const Dims sizes(separate<std::vector<int64_t>>(given));
            const ReleasedGil others_run;
            return expand(x, sizes);
          },
          nb::arg("sizes"), "broadcast_to, where -1 keeps a size.")
      .def("expand", &expand, nb::arg("sizes"), WithoutGil());

  const auto bind_conversion = [&](const char* name, DType dtype) {
    type.def(
        name, [dtype](const Tensor& x) { return x.to(dtype); }, WithoutGil(),
        (std::string("to(wick.") + dtype_name(dtype) + ")").c_str());
  };
  bind_conversion("bool", DType::kBool);
  for (const DTypeAlias& alias : kDTypeAliases)
    if (alias.is_method) bind_conversion(alias.name.data(), alias.dtype);

  type.def(
      "cpu", [](const Tensor& x) { return x.to(Device::cpu()); }, WithoutGil(), "to(\"cpu\")");
  for (const char* kind : {"cuda", "rocm"})
    type.def(
        kind,
        [kind](const Tensor& x, int64_t index) {
          return x.to(Device::parse(std::string(kind) + ":" + std::to_string(index)));
        },
        nb::arg("index") = 0, WithoutGil(), (std::string("to(\"") + kind + ":INDEX\")").c_str());

  m.def("arange", &arange_of, nb::arg("start"), nb::arg("end") = nb::none(), nb::arg("step") = 1,
        nb::arg("dtype") = nb::none(), nb::arg("device") = DeviceArgument(Device::cpu()),
        WithoutGil(),
        "arange(end), or arange(start, end, step): the numbers start + i step for i = 0, 1, ... "
        "while they are before end. dtype: i64 for ints, f32 otherwise, unless given.");
}

}  // namespace wick::python
