// Reductions made of those of reduce.h. Integers compute in f32, narrow floats too.
#pragma once
#include "wick/ops/reduce.h"

namespace wick {

struct VarOptions {
  Dims dims = {};         // none: all
  double correction = 1;  // the divisor is n - correction, at least 0
  bool keepdim = false;
};
struct VarMean {
  Tensor var;
  Tensor mean;
};
/// The variance: the mean of squared differences from the mean, in two passes. Where the divisor is
/// 0: NaN, or inf if there are differences. Error: |e| <= 4 u (y + m^2 u) + 1 ulp of the output
/// dtype, m the mean of |x|, u of the accumulator; m as much larger as sum's error where it is.
WICK_API Tensor var(const Tensor& x, const VarOptions& options = {});
/// The standard deviation: the root of var, whose gradient at 0 is 0. Squares underflow: of
/// differences below 1e-19 (f64: 1e-154) digits are lost, down to 0. PyTorch's and NumPy's std: in
/// C++ that is the library's namespace.
WICK_API Tensor stddev(const Tensor& x, const VarOptions& options = {});
/// What var and mean give, together.
WICK_API VarMean var_mean(const Tensor& x, const VarOptions& options = {});

/// log(sum(e^x)), without overflow; -inf of nothing, and where every x is -inf. Error: |e| <= 4 u
/// (1 + |y|) + 1 ulp of the output dtype, u of the accumulator.
WICK_API Tensor logsumexp(const Tensor& x, const ReduceOptions& options = {});
/// (sum |x|^p)^(1/p); p 0: how many are not 0; inf: the largest |x|; -inf: the smallest. Its
/// gradient at 0 is 0. Error: |e| <= 4 u y + 1 ulp of the output dtype for p of 0, 1, 2 and inf; u
/// of the accumulator. Powers underflow: with p of 2, of |x| below 1e-19 (f64: 1e-154) digits are
/// lost, down to 0. Errors: kInvalidArgument of nothing for p = inf or below 0.
WICK_API Tensor norm(const Tensor& x, double p = 2, const ReduceOptions& options = {});
/// How many elements are not 0: i64.
WICK_API Tensor count_nonzero(const Tensor& x, const ReduceOptions& options = {});
/// The sum of what is not NaN. Error: as sum.
WICK_API Tensor nansum(const Tensor& x, const ReduceOptions& options = {});
/// The mean of what is not NaN. Error: as mean.
WICK_API Tensor nanmean(const Tensor& x, const ReduceOptions& options = {});

}  // namespace wick
