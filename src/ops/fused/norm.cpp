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

/// The gradient of x by its kernel; none if there is none.
Tensor kernel_gradient(const Tensor& gy, const Tensor& x, const Tensor& weight, const Tensor& r) {
  Tensor copies[3];
  const Tensor gx = Tensor::empty(x.shape(), {.dtype = x.dtype(), .device = x.device()});
  const View in[] = {rows_of(gy, &copies[0]), rows_of(x, &copies[1]),
                     make_view(copies[2] = make_contiguous(weight)), make_view(r)};
  Tensor unused;
  const View out = rows_of(gx, &unused);
  return run_fused(x.device(), kRmsNormGradient, in, {&out, 1}, {}, x.dtype()) ? gx : Tensor();
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
  if (x.numel() == 0) return record_constant("rms_norm", y, {&x, &weight});
  const int64_t rows = x.numel() / x.size(-1);
  const Tensor r =
      Tensor::empty({rows}, {.dtype = accumulator_of(x.dtype()), .device = x.device()});
  Tensor copies[3];
  const View in[] = {rows_of(x, &copies[0]), make_view(copies[1] = make_contiguous(weight))};
  const View out[] = {rows_of(y, &copies[2]), make_view(r)};
  const RmsNormAttributes attributes{eps};
  if (!run_fused(x.device(), kRmsNorm, in, out, attributes_of(attributes), x.dtype()))
    return composite(x, weight, eps);
  return record("rms_norm", y, {&x, &weight}, kKeepInputs,
                [eps, r](const RuleContext& c, std::span<Tensor> g) {
                  const auto by_composite = [eps](const std::vector<Tensor>& in) {
                    return composite(in[0], in[1], eps);
                  };
                  if (grad_enabled() || !wants_kernel())
                    return differentiate(c, g, by_composite);  // to be differentiated again
                  if (c.wants(0)) {
                    g[0] = kernel_gradient(c.gradient, c.input(0), c.input(1), r);
                    if (!g[0]) return differentiate(c, g, by_composite);
                  }
                  if (!c.wants(1)) return;
                  const Tensor x = c.input(0).detach();
                  Shape per_row = x.shape();
                  per_row[x.rank() - 1] = 1;
                  const Tensor terms =
                      cast(c.gradient, r.dtype()) * (cast(x, r.dtype()) * reshape(r, per_row));
                  g[1] = cast(sum_to(terms, c.input_shape(1)), c.input_dtype(1));
                });
}

}  // namespace wick
