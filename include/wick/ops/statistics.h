// Statistics built from the reductions of reduce.h. Integers and narrow floats compute in f32.
#pragma once
#include "wick/ops/reduce.h"

namespace wick {

struct VarOptions {
  Dims dims = {};         // empty: all
  double correction = 1;  // the divisor is max(n - correction, 0)
  bool keepdim = false;
};
struct VarMean {
  Tensor var;
  Tensor mean;
};
/// The variance: the mean squared deviation from the mean, computed in two passes. If the divisor
/// is 0: NaN, or inf if any deviation is not 0. Error: |e| <= 4 u (y + m^2 u) + 1 ulp of the output
/// dtype, m: mean of |x|, u: unit roundoff of the accumulator; where sum's bound is larger, m grows
/// by the same factor.
WICK_API Tensor var(const Tensor& x, const VarOptions& options = {});
/// The standard deviation: the square root of var, with gradient 0 at 0. Squares underflow:
/// deviations below 1e-19 (f64: 1e-154) lose digits, down to 0. Named std in PyTorch and NumPy,
/// which in C++ is the standard library's namespace.
WICK_API Tensor stddev(const Tensor& x, const VarOptions& options = {});
/// The results of var and mean together.
WICK_API VarMean var_mean(const Tensor& x, const VarOptions& options = {});

/// log(sum(e^x)), without overflow; -inf if there are no elements or all are -inf. Error: |e| <= 4
/// u (1 + |y|) + 1 ulp of the output dtype, u: unit roundoff of the accumulator.
WICK_API Tensor logsumexp(const Tensor& x, const ReduceOptions& options = {});
/// The sum of the squares, in x's dtype, f32 for integers. Error: |e| <= 5 u y + 1 ulp of the
/// output dtype, u: unit roundoff of the accumulator; |x| below 1e-19 (f64: 1e-154) lose digits,
/// down to 0.
WICK_API Tensor sum_of_squares(const Tensor& x, const ReduceOptions& options = {});
/// The p-norm (sum |x|^p)^(1/p); for p = 0 the number of nonzero elements, for inf the largest |x|,
/// for -inf the smallest. The gradient at 0 is 0. Error: |e| <= 4 u y + 1 ulp of the output dtype
/// for p = 0, 1, 2 and inf, u: unit roundoff of the accumulator. Powers underflow: with p = 2, |x|
/// below 1e-19 (f64: 1e-154) lose digits, down to 0. Errors: kInvalidArgument if there are no
/// elements and p is inf or negative.
WICK_API Tensor norm(const Tensor& x, double p = 2, const ReduceOptions& options = {});
/// The number of nonzero elements: i64.
WICK_API Tensor count_nonzero(const Tensor& x, const ReduceOptions& options = {});
/// The sum of the elements that are not NaN. Error: as for sum.
WICK_API Tensor nansum(const Tensor& x, const ReduceOptions& options = {});
/// The mean of the elements that are not NaN. Error: as for mean.
WICK_API Tensor nanmean(const Tensor& x, const ReduceOptions& options = {});

}  // namespace wick
