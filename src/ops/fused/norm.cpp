#include "wick/ops/norm.h"

#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/reduce/reduce.h"
#include "ops/tape/tape.h"
#include "wick/abi/ops/norm.h"
#include "wick/ops/elementwise.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

/// 1 / sqrt(mean(x²) + eps), in the accumulator's dtype: [..., 1].
Tensor inverse_rms(const Tensor& x, double eps) {
  return 1 / sqrt(mean(x * x, {.dims = {-1}, .keepdim = true}) + eps);
}

Tensor composite(const Tensor& x, const Tensor& weight, double eps) {
  const DType dtype = accumulator_of(x.dtype());
  const Tensor wide = cast(x, dtype);
  return cast(wide * inverse_rms(wide, eps) * cast(weight, dtype), x.dtype());
}

/// By the kernel that of x; in smaller ops that of weight, whose sum is over the rows.
bool gradient(const RuleContext& c, std::span<Tensor> g, const Tensor& r) {
  const Tensor x = c.input(0).detach();
  if (c.wants(0)) {
    g[0] = empty_gradient(c, 0);
    if (!run_fused(kRmsNormGradient, {rows(c.gradient), rows(x), contiguous(c.input(1)), as_is(r)},
                   {rows(g[0])}))
      return false;
  }
  if (!c.wants(1)) return true;
  Shape per_row = x.shape();
  per_row[x.rank() - 1] = 1;
  const Tensor terms = cast(c.gradient, r.dtype()) * (cast(x, r.dtype()) * reshape(r, per_row));
  g[1] = cast(sum_to(terms, c.input_shape(1)), c.input_dtype(1));
  return true;
}

}  // namespace

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  check_defined("rms_norm", x);
  check_defined("rms_norm", weight);
  check_same_device("rms_norm", x, weight);
  check(is_floating(x.dtype()) && weight.dtype() == x.dtype(), ErrorCode::kDTypeMismatch,
        "rms_norm", "expected x and weight of one floating dtype, got ", dtype_name(x.dtype()),
        " and ", dtype_name(weight.dtype()));
  check(x.rank() > 0 && weight.rank() == 1 && weight.size(0) == x.size(-1),
        ErrorCode::kShapeMismatch, "rms_norm", "expected weight [D] and x [..., D], got ",
        weight.shape(), " and ", x.shape());
  check(eps >= 0, ErrorCode::kInvalidArgument, "rms_norm", "expected eps of at least 0, got ", eps);
  const Tensor y = Tensor::empty(x.shape(), {.dtype = x.dtype(), .device = x.device()});
  const Tensor r =
      Tensor::empty({count_rows(x)}, {.dtype = accumulator_of(x.dtype()), .device = x.device()});
  return fused({.op = kRmsNorm,
                .inputs = {&x, &weight},
                .in = {rows(x), contiguous(weight)},
                .out = {rows(y), as_is(r)},
                .attributes = attributes_of(RmsNormAttributes{eps}),
                .composite = [eps](const auto& in) { return composite(in[0], in[1], eps); },
                .gradient = [r](const auto& c, auto g) { return gradient(c, g, r); }});
}

}  // namespace wick
