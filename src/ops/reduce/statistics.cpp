// Statistics built from other reductions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/calling.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/reduce/reduce.h"
#include "ops/tape/tape.h"
#include "wick/abi/ops/softmax.h"
#include "wick/ops/elementwise.h"
#include "wick/ops/shape.h"
#include "wick/ops/statistics.h"

namespace wick {
namespace {

Tensor widened(const char* name, const Tensor& x) {
  check_defined(name, x);
  return cast(x, computed_in(floating(x.dtype())));
}

struct Moments {
  Tensor var, mean;  // in the dtype of computation
};
Moments moments_of(const char* name, const Tensor& x, const VarOptions& options) {
  const Tensor wide = widened(name, x);
  const Dims mask = reduced_dims(name, x, options.dims), dims = dims_of(mask);
  const Tensor centre = mean(wide, {.dims = dims, .keepdim = true});
  const Tensor rest = wide - centre;
  const double divisor = std::max(0.0, double(reduced_count(x, mask)) - options.correction);
  const Tensor var = sum(rest * rest, {.dims = dims, .keepdim = options.keepdim}) / divisor;
  return {var, options.keepdim ? centre : mean(wide, {.dims = dims})};
}

/// The square root, with gradient 0 at 0.
Tensor root(const Tensor& x) {
  const Tensor is_zero = eq(x.detach(), 0);
  return where(is_zero, 0, sqrt(where(is_zero, 1, x)));
}

Tensor not_nan(const Tensor& x) { return is_floating(x.dtype()) ? where(ne(x, x), 0, x) : x; }

/// x to the power p, with gradient 0 at 0.
Tensor power(const Tensor& x, double p) {
  const Tensor is_zero = eq(x.detach(), 0);
  return where(is_zero, std::pow(0.0, p), pow(where(is_zero, 1, x), p));
}

Tensor logsumexp_composite(const Tensor& x, const ReduceOptions& options, const Dims& mask) {
  const Tensor largest = spread(amax(x, options), x.shape(), mask);
  // Does not subtract an infinite maximum: inf - inf is NaN.
  const Tensor shift = where(eq(largest - largest, 0), largest, 0);
  const Tensor total = log(sum(exp(x - shift), options));
  return total + amax(shift, options);
}

}  // namespace

Tensor var(const Tensor& x, const VarOptions& options) {
  const Moments moments = moments_of("var", x, options);
  return cast(moments.var, floating(x.dtype()));
}
Tensor stddev(const Tensor& x, const VarOptions& options) {
  const Moments moments = moments_of("stddev", x, options);
  return cast(root(moments.var), floating(x.dtype()));
}
VarMean var_mean(const Tensor& x, const VarOptions& options) {
  const Moments moments = moments_of("var_mean", x, options);
  const DType dtype = floating(x.dtype());
  return {cast(moments.var, dtype), cast(moments.mean, dtype)};
}

Tensor logsumexp(const Tensor& x, const ReduceOptions& options) {
  const Tensor wide = widened("logsumexp", x);
  const Dims mask = reduced_dims("logsumexp", x, options.dims);
  const DType dtype = floating(x.dtype());
  if (x.numel() == 0) return cast(log(sum(exp(wide), options)), dtype);
  const Tensor values = wide.detach(), from = reduced_last(values, mask);
  Tensor y = Tensor::empty({count_rows(from)}, {.dtype = wide.dtype(), .device = wide.device()});
  if (run_fused(kLogSumExp, {rows(from)}, {contiguous(y)}))
    y = reshape(y, reduced_shape(x.shape(), mask, options.keepdim));
  else
    y = logsumexp_composite(values, options, mask);
  const Tensor result =
      record("logsumexp", y, {&wide}, kKeepInput0 | kKeepOutput,
             [mask](const RuleContext& c, std::span<Tensor> g) {
               const Tensor y = c.output();
               const Tensor none = eq(y, -std::numeric_limits<double>::infinity());
               const Tensor level = spread(where(none, 0, y), c.input_shape(0), mask);
               g[0] = spread(c.gradient, c.input_shape(0), mask) * exp(c.input(0) - level);
             });
  return cast(result, dtype);
}

Tensor sum_of_squares(const Tensor& x, const ReduceOptions& options) {
  const Calling calling("sum_of_squares");
  const Tensor wide = widened("sum_of_squares", x);
  return cast(squares_summed("sum_of_squares", wide, options), floating(x.dtype()));
}

Tensor norm(const Tensor& x, double p, const ReduceOptions& options) {
  const Calling calling("norm");
  const Tensor wide = widened("norm", x);
  const DType dtype = floating(x.dtype());
  check(p == p, ErrorCode::kInvalidArgument, "norm", "expected a number p, got NaN");
  if (p == 0) return record_constant("norm", cast(count_nonzero(x, options), dtype), {&x});
  if (p == 2) return cast(root(squares_summed("norm", wide, options)), dtype);
  const Tensor size = abs(wide);
  if (p == 1) return cast(sum(size, options), dtype);
  if (std::isinf(p)) return cast(p > 0 ? amax(size, options) : amin(size, options), dtype);
  check(p > 0 || x.numel() > 0, ErrorCode::kInvalidArgument, "norm",
        "expected at least one element for p = ", p, ", got shape ", x.shape());
  return cast(power(sum(power(size, p), options), 1 / p), dtype);
}

Tensor count_nonzero(const Tensor& x, const ReduceOptions& options) {
  const Calling calling("count_nonzero");
  check_defined("count_nonzero", x);
  return sum(ne(x.detach(), 0), options);
}

Tensor nansum(const Tensor& x, const ReduceOptions& options) {
  const Calling calling("nansum");
  check_defined("nansum", x);
  return sum(not_nan(x), options);
}
Tensor nanmean(const Tensor& x, const ReduceOptions& options) {
  const Calling calling("nanmean");
  const Tensor wide = widened("nanmean", x);
  return cast(sum(not_nan(wide), options) / sum(eq(wide, wide), options), floating(x.dtype()));
}

}  // namespace wick
