#include "wick/ops/scan.h"

#include <algorithm>

#include "core/launch.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/shape/one_dim.h"
#include "ops/tape/tape.h"
#include "wick/abi/ops/scan.h"
#include "wick/ops/arrange.h"
#include "wick/ops/create.h"
#include "wick/ops/elementwise.h"
#include "wick/ops/gather.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

/// x as [outer, along dim, inner]; copied if no strides can express that.
View three_dims(const Tensor& x, int dim, Tensor* copy) {
  Shape outer, inner;
  Dims outer_strides, inner_strides;
  for (int d = 0; d < x.rank(); d++) {
    if (d == dim) continue;
    (d < dim ? outer : inner).push_back(x.shape()[d]);
    (d < dim ? outer_strides : inner_strides).push_back(x.strides()[d]);
  }
  Dims* outer_pointer[] = {&outer_strides};
  Dims* inner_pointer[] = {&inner_strides};
  outer = collapse(outer, outer_pointer);
  inner = collapse(inner, inner_pointer);
  if (outer.size() > 1 || inner.size() > 1) {
    *copy = make_contiguous(x);
    Tensor unused;
    return three_dims(*copy, dim, &unused);
  }
  return make_view(x.data(), x.dtype(),
                   {outer.empty() ? 1 : outer[0], x.shape()[dim], inner.empty() ? 1 : inner[0]},
                   {outer.empty() ? 0 : outer_strides[0], x.strides()[dim],
                    inner.empty() ? 0 : inner_strides[0]});
}

/// Runs the kernel off the tape. indices: where to put the winners' indices, or nullptr.
Tensor scan(const Op& op, const Tensor& x, int dim, DType dtype, Tensor* indices) {
  const Tensor y = Tensor::empty(x.shape(), {.dtype = dtype, .device = x.device()});
  if (indices) *indices = Tensor::empty(x.shape(), {.dtype = DType::kI64, .device = x.device()});
  if (x.numel() == 0) return y;
  Tensor copies[3];
  const View in = three_dims(x, dim, &copies[0]);
  View out[2] = {three_dims(y, dim, &copies[1])};
  if (indices) out[1] = three_dims(*indices, dim, &copies[2]);
  launch(x.device(), op, {&in, 1}, {out, indices ? 2u : 1u});
  return y;
}

/// x with `dim` reversed.
Tensor reversed(const Tensor& x, int dim) {
  const int64_t n = x.size(dim);
  return index_select(x, dim, (n - 1) - arange(n, {.dtype = DType::kI64, .device = x.device()}));
}

/// For each element, the sum of it and all elements after it.
Tensor sums_from(const Tensor& x, int dim) { return reversed(cumsum(reversed(x, dim), dim), dim); }

/// A scan by recursive doubling: log2(n) elementwise steps, which can be differentiated any number
/// of times. combine(a, b): a is the later element.
template <class Combine>
Tensor doubled(Tensor y, int dim, const Combine& combine) {
  const int64_t n = y.size(dim);
  for (int64_t step = 1; step < n; step *= 2)
    y = cat({narrow(y, dim, 0, step),
             combine(narrow(y, dim, step, n - step), narrow(y, dim, 0, n - step))},
            dim);
  return y;
}

/// The gradient of cumprod. Before the first zero z of a line, it is the reversed cumulative sum of
/// g y, divided by x. At z it is the sum of g y' from z on, where y' are the products with 1 in
/// place of z. After z it is 0.
Tensor cumprod_gradient(const Tensor& gradient, const Tensor& x, int dim) {
  const Tensor wide = cast(x, computed_in(x.dtype())), g = cast(gradient, wide.dtype());
  const Tensor is_zero = eq(wide, 0), zeros_so_far = cumsum(is_zero, dim);
  const Tensor is_first = logical_and(is_zero, eq(zeros_so_far, 1));
  const Tensor one = ones({}, {.dtype = wide.dtype(), .device = x.device()});
  const Tensor before = sums_from(g * cumprod(wide, dim), dim) / where(is_zero, one, wide);
  const Tensor at = sums_from(g * cumprod(where(is_first, one, wide), dim), dim);
  const Tensor beyond = zeros({}, {.dtype = wide.dtype(), .device = x.device()});
  return cast(where(eq(zeros_so_far, 0), before, where(is_first, at, beyond)), x.dtype());
}

ValuesIndices cumulative_extreme(const char* name, const Op& op, const Tensor& x, int64_t dim) {
  check_defined(name, x);
  if (x.rank() == 0) return without_dims(cumulative_extreme(name, op, as_one_dim(x), dim));
  const int d = normalize_dim(name, dim, x.rank());
  if (x.dtype() == DType::kBool) {
    const ValuesIndices wide = cumulative_extreme(name, op, cast(x, DType::kU8), dim);
    return {cast(wide.values, DType::kBool), wide.indices};
  }
  Tensor indices;
  const Tensor y = scan(op, x.detach(), d, x.dtype(), &indices);
  const Tensor values =
      record(name, y, {&x, &indices}, kKeepInput1, [d](const RuleContext& c, std::span<Tensor> g) {
        const Tensor nothing =
            zeros(c.input_shape(0), {.dtype = c.gradient.dtype(), .device = c.gradient.device()});
        g[0] = scatter_add(nothing, d, c.input(1), c.gradient);
      });
  return {values, indices};
}

}  // namespace

Tensor cumsum(const Tensor& x, int64_t dim) {
  check_defined("cumsum", x);
  if (x.rank() == 0) return without_dims(cumsum(as_one_dim(x), dim));
  const int d = normalize_dim("cumsum", dim, x.rank());
  const Tensor y = scan(kCumsum, x.detach(), d, summed_dtype(x.dtype()), nullptr);
  return record("cumsum", y, {&x}, kKeepNothing, [d](const RuleContext& c, std::span<Tensor> g) {
    g[0] = sums_from(c.gradient, d);
  });
}

Tensor cumprod(const Tensor& x, int64_t dim) {
  check_defined("cumprod", x);
  if (x.rank() == 0) return without_dims(cumprod(as_one_dim(x), dim));
  const int d = normalize_dim("cumprod", dim, x.rank());
  const Tensor y = scan(kCumprod, x.detach(), d, summed_dtype(x.dtype()), nullptr);
  return record("cumprod", y, {&x}, kKeepInput0, [d](const RuleContext& c, std::span<Tensor> g) {
    if (!grad_enabled()) {
      g[0] = cumprod_gradient(c.gradient, c.input(0), d);
      return;
    }
    differentiate(c, g, [d](const std::vector<Tensor>& x) {
      return doubled(x[0], d, [](const Tensor& a, const Tensor& b) { return a * b; });
    });
  });
}

ValuesIndices cummax(const Tensor& x, int64_t dim) {
  return cumulative_extreme("cummax", kCummax, x, dim);
}
ValuesIndices cummin(const Tensor& x, int64_t dim) {
  return cumulative_extreme("cummin", kCummin, x, dim);
}

Tensor logcumsumexp(const Tensor& x, int64_t dim) {
  check_defined("logcumsumexp", x);
  if (x.rank() == 0) return without_dims(logcumsumexp(as_one_dim(x), dim));
  const int d = normalize_dim("logcumsumexp", dim, x.rank());
  const DType dtype = floating(x.dtype());
  return cast(doubled(cast(x, computed_in(dtype)), d, logaddexp), dtype);
}

}  // namespace wick
