// max, min and median as PyTorch has them: of two tensors, of all elements, and along a `dim` with
// indices. The generated overloads, which come after these, have max and min along an `axis` or a
// list of dims, and median along a `dim`.
#include <optional>

#include "bind.h"
#include "ops.h"

namespace wick::python {
namespace {

using OfTwo = Tensor (*)(Tensor, const Tensor&);
using AlongDim = ValuesIndices (*)(const Tensor&, int64_t, bool);

void bind_extreme(nb::module_& m, const char* name, OfTwo of_two, AlongDim along_dim) {
  m.def(
      name, [of_two](const Tensor& x, const Tensor& other) { return of_two(x, other); },
      WithoutGil(), nb::arg("x"), nb::arg("other"),
      "Of each two elements, as maximum and minimum have it.");
  m.def(
      name,
      [along_dim](const Tensor& x, int64_t dim, bool keepdim) {
        return along_dim(x, dim, keepdim);
      },
      WithoutGil(), nb::arg("x"), nb::arg("dim"), nb::arg("keepdim") = false,
      "Along one dim: the values, and the indices of the first of equal elements.");
}

/// The lower median of all elements. keepdim keeps the dims, with size 1.
Tensor median_of_all(const Tensor& x, bool keepdim) {
  const Tensor y = median(reshape(x, {x.numel()}), 0).values;
  return keepdim ? reshape(y, Shape(Dims(x.rank(), 1))) : y;
}

}  // namespace

void bind_extremes(nb::module_& m) {
  bind_extreme(
      m, "max", [](Tensor a, const Tensor& b) { return maximum(std::move(a), b); },
      max_with_indices);
  bind_extreme(
      m, "min", [](Tensor a, const Tensor& b) { return minimum(std::move(a), b); },
      min_with_indices);
  m.def("median", &median_of_all, WithoutGil(), nb::arg("x"), nb::kw_only(),
        nb::arg("keepdim") = false, "The median of all elements.");
  m.def(
      "median",
      [](const Tensor& x, std::optional<int64_t> axis, bool keepdims) {
        return axis ? median(x, *axis, keepdims).values : median_of_all(x, keepdims);
      },
      WithoutGil(), nb::arg("x"), nb::kw_only(), nb::arg("axis") = nb::none(),
      nb::arg("keepdims") = false, "The medians along an axis, or of all elements.");
}

}  // namespace wick::python
