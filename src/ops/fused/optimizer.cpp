#include "wick/ops/optimizer.h"

#include <cmath>

#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "wick/abi/ops/optimizer.h"
#include "wick/ops/autograd.h"
#include "wick/ops/elementwise.h"

namespace wick {
namespace {

/// Computes in f32 for narrower dtypes, and rounds only when it stores.
void composite(Var& parameter, const Tensor& gradient, Var& mean, Var& square,
               const AdamWAttributes& a) {
  const DType dtype = accumulator_of(gradient.dtype());
  const Tensor g = cast(gradient, dtype);
  const Tensor m = cast(mean.tensor(), dtype) * a.beta1 + g * (1 - a.beta1);
  const Tensor s = cast(square.tensor(), dtype) * a.beta2 + g * g * (1 - a.beta2);
  const Tensor update = m * a.mean_scale / (sqrt(s * a.square_scale) + a.eps);
  copy_(mean, m);
  copy_(square, s);
  copy_(parameter,
        cast(parameter.tensor(), dtype) * (1 - a.rate * a.weight_decay) - update * a.rate);
}

/// A contiguous tensor as [N].
FusedOperand flat(const Tensor& x) {
  return {&x, [](const Tensor& of, Tensor*) {
            return make_view(of.data(), of.dtype(), {of.numel()}, {1});
          }};
}

/// 1 / (1 - beta^step), accurate to the last digits even where beta^step is near 1.
double correction(double beta, int64_t step) {
  return -1 / std::expm1(double(step) * std::log(beta));
}

}  // namespace

void adamw_(Var& parameter, const Tensor& gradient, Var& mean, Var& square, int64_t step,
            const AdamWOptions& options) {
  check(parameter.defined() && mean.defined() && square.defined(), ErrorCode::kInvalidArgument,
        "adamw_", "parameter, mean or square is an empty Var()");
  check_defined("adamw_", gradient);
  check(step >= 1, ErrorCode::kInvalidArgument, "adamw_", "expected step of at least 1, got ",
        step);
  const Tensor& p = parameter.tensor();
  for (const Tensor* x : {&gradient, &mean.tensor(), &square.tensor()}) {
    check_same_device("adamw_", p, *x);
    check(x->shape() == p.shape(), ErrorCode::kShapeMismatch, "adamw_", "expected shape ",
          p.shape(), ", got ", x->shape());
    check(is_floating(p.dtype()) && x->dtype() == p.dtype(), ErrorCode::kDTypeMismatch, "adamw_",
          "expected one floating dtype, got ", dtype_name(p.dtype()), " and ",
          dtype_name(x->dtype()));
  }
  const NoGrad off;
  const AdamWAttributes attributes{options.rate,
                                   options.beta1,
                                   options.beta2,
                                   options.eps,
                                   options.weight_decay,
                                   correction(options.beta1, step),
                                   correction(options.beta2, step)};
  if (p.numel() == 0) return;
  const Tensor g = make_contiguous(gradient);
  const bool contiguous =
      p.is_contiguous() && mean.tensor().is_contiguous() && square.tensor().is_contiguous();
  if (!contiguous ||
      !run_fused(kAdamW, {flat(g)}, {flat(p), flat(mean.tensor()), flat(square.tensor())},
                 attributes_of(attributes)))
    return composite(parameter, g, mean, square, attributes);
  for (const Tensor* x : {&p, &mean.tensor(), &square.tensor()}) x->storage()->bump_version();
}

}  // namespace wick
