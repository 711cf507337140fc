#include "wick/ops/norm.h"

#include "base/calling.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/reduce/reduce.h"
#include "ops/tape/tape.h"
#include "wick/abi/ops/norm.h"
#include "wick/ops/binary.h"
#include "wick/ops/elementwise.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

/// Checks weight, or another vector, against x.
void check_operands(const char* op, const Tensor& x, const char* name, const Tensor& vector) {
  check_defined(op, x);
  check_defined(op, vector);
  check_same_device(op, x, vector);
  check(is_floating(x.dtype()) && vector.dtype() == x.dtype(), ErrorCode::kDTypeMismatch, op,
        "expected x and ", name, " of one floating dtype, got ", dtype_name(x.dtype()), " and ",
        dtype_name(vector.dtype()));
  check(x.rank() > 0 && vector.rank() == 1 && vector.size(0) == x.size(-1),
        ErrorCode::kShapeMismatch, op, "expected ", name, " [D] and x [..., D], got ",
        vector.shape(), " and ", x.shape());
}

void check_eps(const char* op, double eps) {
  check(eps >= 0, ErrorCode::kInvalidArgument, op, "expected eps of at least 0, got ", eps);
}

/// Memory for one statistic per row of x [..., D].
Tensor empty_statistic(const Tensor& x) {
  return Tensor::empty({count_rows(x)}, {.dtype = accumulator_of(x.dtype()), .device = x.device()});
}
/// The statistics reshaped to broadcast over x: [..., 1].
Tensor per_row(const Tensor& statistic, const Tensor& x) {
  Shape shape = x.shape();
  shape[x.rank() - 1] = 1;
  return reshape(statistic, shape);
}

/// The gradient of a vector [D], the i-th input, from its terms [..., D].
Tensor vector_gradient(const RuleContext& c, int i, const Tensor& terms) {
  return cast(sum_to(terms, c.input_shape(i)), c.input_dtype(i));
}

/// The mean over the last dim, with keepdim.
Tensor mean_of(const Tensor& x) { return mean(x, {.dims = {-1}, .keepdim = true}); }

Tensor rms_norm_composite(const Tensor& x, const Tensor& weight, double eps) {
  const DType dtype = accumulator_of(x.dtype());
  const Tensor wide = cast(x, dtype), r = 1 / sqrt(mean_of(wide * wide) + eps);
  return cast(wide * r * cast(weight, dtype), x.dtype());
}

/// The kernel computes the gradient of x, smaller ops that of weight, which sums over the rows.
bool rms_norm_gradient(const RuleContext& c, std::span<Tensor> g, const Tensor& r) {
  const Tensor x = c.input(0).detach();
  if (c.wants(0)) {
    g[0] = empty_gradient(c, 0);
    if (!run_fused(kRmsNormGradient, {rows(c.gradient), rows(x), contiguous(c.input(1)), as_is(r)},
                   {rows(g[0])}))
      return false;
  }
  if (c.wants(1))
    g[1] =
        vector_gradient(c, 1, cast(c.gradient, r.dtype()) * (cast(x, r.dtype()) * per_row(r, x)));
  return true;
}

Tensor layer_norm_composite(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  const DType dtype = accumulator_of(x.dtype());
  const Tensor wide = cast(x, dtype), centered = wide - mean_of(wide);
  const Tensor y = centered / sqrt(mean_of(centered * centered) + eps) * cast(weight, dtype);
  return cast(bias ? y + cast(bias, dtype) : y, x.dtype());
}

/// The kernel computes the gradient of x, smaller ops those of weight and bias, which sum over the
/// rows.
bool layer_norm_gradient(const RuleContext& c, std::span<Tensor> g, const Tensor& mean,
                         const Tensor& r) {
  const Tensor x = c.input(0).detach();
  if (c.wants(0)) {
    g[0] = empty_gradient(c, 0);
    if (!run_fused(kLayerNormGradient,
                   {rows(c.gradient), rows(x), contiguous(c.input(1)), as_is(mean), as_is(r)},
                   {rows(g[0])}))
      return false;
  }
  const Tensor gy = cast(c.gradient, r.dtype());
  if (c.wants(1))
    g[1] = vector_gradient(c, 1, gy * ((cast(x, r.dtype()) - per_row(mean, x)) * per_row(r, x)));
  if (g.size() > 2 && c.wants(2)) g[2] = vector_gradient(c, 2, gy);
  return true;
}

}  // namespace

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  check_operands("rms_norm", x, "weight", weight);
  check_eps("rms_norm", eps);
  const Tensor y = Tensor::empty(x.shape(), {.dtype = x.dtype(), .device = x.device()});
  const Tensor r = empty_statistic(x);
  return fused(
      {.op = kRmsNorm,
       .inputs = {&x, &weight},
       .in = {rows(x), contiguous(weight)},
       .out = {rows(y), as_is(r)},
       .attributes = attributes_of(RmsNormAttributes{eps}),
       .composite = [eps](const auto& in) { return rms_norm_composite(in[0], in[1], eps); },
       .gradient = [r](const auto& c, auto g) { return rms_norm_gradient(c, g, r); }});
}

SumAndNorm rms_norm_residual(const Tensor& x, const Tensor& weight, const Tensor& residual,
                             const Tensor& next_weight, double eps) {
  const char* const op = "rms_norm_residual";
  const Calling calling(op);
  check_operands(op, x, "weight", weight);
  if (next_weight) check_operands(op, x, "next_weight", next_weight);
  check_defined(op, residual);
  check_same_device(op, x, residual);
  check(residual.dtype() == x.dtype(), ErrorCode::kDTypeMismatch, op, "expected a residual of x's ",
        dtype_name(x.dtype()), ", got ", dtype_name(residual.dtype()));
  check(residual.shape() == x.shape(), ErrorCode::kShapeMismatch, op,
        "expected a residual of x's shape ", x.shape(), ", got ", residual.shape());
  check_eps(op, eps);
  if (x.numel() > 0 && !recording({&x, &weight, &residual, &next_weight})) {
    const TensorOptions options{.dtype = x.dtype(), .device = x.device()};
    const Tensor total = Tensor::empty(x.shape(), options);
    const Tensor y = next_weight ? Tensor::empty(x.shape(), options) : Tensor();
    const RmsNormResidualAttributes attributes{eps, bool(next_weight)};
    if (run_group(kRmsNormResidual,
                  {rows(x), contiguous(weight), rows(residual),
                   contiguous(next_weight ? next_weight : weight)},
                  {rows(total), rows(y ? y : total)}, attributes_of(attributes)))
      return {total, y};
  }
  const Tensor total = residual + rms_norm(x, weight, eps);
  return {total, next_weight ? rms_norm(total, next_weight, eps) : Tensor()};
}

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  check_operands("layer_norm", x, "weight", weight);
  if (bias) check_operands("layer_norm", x, "bias", bias);
  check_eps("layer_norm", eps);
  const Tensor y = Tensor::empty(x.shape(), {.dtype = x.dtype(), .device = x.device()});
  const Tensor mean = empty_statistic(x), r = empty_statistic(x);
  return fused({.op = kLayerNorm,
                .inputs = {&x, &weight, &bias},
                .in = {rows(x), contiguous(weight), contiguous(bias ? bias : weight)},
                .out = {rows(y), as_is(mean), as_is(r)},
                .attributes = attributes_of(LayerNormAttributes{eps, bool(bias)}),
                .composite =
                    [eps](const auto& in) {
                      return layer_norm_composite(in[0], in[1], in.size() > 2 ? in[2] : Tensor(),
                                                  eps);
                    },
                .gradient = [mean, r](const auto& c,
                                      auto g) { return layer_norm_gradient(c, g, mean, r); }});
}

}  // namespace wick
