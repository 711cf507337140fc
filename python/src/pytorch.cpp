// Functions that PyTorch's users look for and that are made of several ops.
#include "bind.h"
#include "casters.h"
#include "device.h"
#include "seeds.h"

namespace wick::python {
namespace {

/// |a - b| <= atol + rtol |b|, as PyTorch and NumPy have it.
Tensor isclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  check(a.dtype() == b.dtype(), ErrorCode::kDTypeMismatch, "isclose",
        "expected tensors of one dtype, got ", dtype_name(a.dtype()), " and ",
        dtype_name(b.dtype()));
  const auto near = [&](const Tensor& x, const Tensor& y) -> Tensor {
    return abs(x - y) <= abs(y) * rtol + atol;
  };
  Tensor close = a == b;  // infinities
  if (is_floating(a.dtype())) {
    close = logical_or(close, logical_and(isfinite(b), near(a, b)));
    if (equal_nan) close = logical_or(close, logical_and(isnan(a), isnan(b)));
  } else if (a.dtype() != DType::kBool) {
    close = logical_or(close, near(a.to(DType::kF64), b.to(DType::kF64)));
  }
  return close;
}

bool holds(const Tensor& conditions) { return all(conditions).item<bool>(); }

/// The seed of every device that is there.
void manual_seed(uint64_t seed) {
  for (const Device& device : all_devices()) seed_device(device, seed);
}

}  // namespace

void bind_pytorch(nb::module_& m) {
  m.def(
      "tensor",
      [](nb::handle data, const std::optional<DTypeArgument>& dtype,
         const std::optional<DeviceArgument>& device, bool requires_grad) {
        const Tensor x = tensor_of(data, value_of(dtype, "tensor", "dtype"), device);
        return requires_grad ? nb::cast(Var(x)) : nb::cast(x);
      },
      nb::arg("data"), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(), nb::kw_only(),
      nb::arg("requires_grad") = false,
      nb::sig(
          "def tensor(data: object, dtype: wick.DType | str | None = None, device: wick.Device | "
          "str | None = None, *, requires_grad: bool = False) -> wick.Tensor"),
      "wick.Tensor(data, dtype, device); with requires_grad, wick.Var(data, dtype, device).");
  m.def("manual_seed", &manual_seed, nb::arg("seed"), WithoutGil(),
        "Sets the random seed of all devices. The same seed gives the same numbers on each.");

  m.def(
      "isclose",
      [](const Tensor& x, const Tensor& other, double rtol, double atol, bool equal_nan) {
        return isclose(x, other, rtol, atol, equal_nan);
      },
      nb::arg("x"), nb::arg("other"), nb::arg("rtol") = 1e-5, nb::arg("atol") = 1e-8,
      nb::arg("equal_nan") = false, WithoutGil(),
      "Where |x - other| <= atol + rtol |other|, of two tensors of one dtype: bool.");
  m.def(
      "allclose",
      [](const Tensor& x, const Tensor& other, double rtol, double atol, bool equal_nan) {
        return holds(isclose(x, other, rtol, atol, equal_nan));
      },
      nb::arg("x"), nb::arg("other"), nb::arg("rtol") = 1e-5, nb::arg("atol") = 1e-8,
      nb::arg("equal_nan") = false, WithoutGil(), "Whether isclose holds for all elements.");
  m.def(
      "equal",
      [](const Tensor& x, const Tensor& other) {
        return x.shape() == other.shape() && x.dtype() == other.dtype() && holds(x == other);
      },
      nb::arg("x"), nb::arg("other"), WithoutGil(),
      "Whether two tensors have the same dtype, shape and elements.");

  const auto standard_deviation = [](const Tensor& x, const Dims& dims, double correction,
                                     bool keepdim) {
    return sqrt(var(x, {.dims = dims, .correction = correction, .keepdim = keepdim}));
  };
  const char* about =
      "The square root of var: over dims, or over all of them; the sum of squares is divided by "
      "the "
      "number of elements minus correction.";
  m.def("std", standard_deviation, nb::arg("x"), nb::arg("dims") = Dims(),
        nb::arg("correction") = VarOptions{}.correction, nb::arg("keepdim") = false, WithoutGil(),
        about);
  m.def("std", standard_deviation, nb::arg("x"), nb::arg("dim") = Dims(),
        nb::arg("correction") = VarOptions{}.correction, nb::arg("keepdim") = false, WithoutGil(),
        "");
  m.def("std", standard_deviation, nb::arg("x"), nb::arg("axis") = Dims(),
        nb::arg("correction") = VarOptions{}.correction, nb::arg("keepdims") = false, WithoutGil(),
        "");

  m.def(
      "grad",
      [](const Tensor& y, const Tensor& input, const Tensor& seed, bool create_graph) {
        return grad(y, {input}, {.seed = seed, .create_graph = create_graph});
      },
      nb::arg("y"), nb::arg("inputs"), nb::arg("seed") = nb::none(),
      nb::arg("create_graph") = false, WithoutGil(),
      "The gradient with respect to one input: a list of one.");

  for (const char* name : {"isclose", "allclose", "equal", "std"})
    add_method(m.attr("Tensor"), name, m.attr(name));
}

}  // namespace wick::python
