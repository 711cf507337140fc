// Scans: cumulative reductions along a dim in [-rank, rank). A tensor without dims counts as
// one-dimensional. The shape fixes the order of summation, so the same inputs give the same bits.
// All functions throw kOutOfRange for another dim.
#pragma once
#include "wick/ops/reduce.h"

namespace wick {

/// The cumulative sum. Integers and bool return i64, u64 returns u64, and wrap. Error: |e| <= 4 u
/// sum|x| + 1 ulp of the output dtype, u: unit roundoff of f32 (f64 for f64).
WICK_API Tensor cumsum(const Tensor& x, int64_t dim);
/// The cumulative product; dtypes as for cumsum. Error: |e| <= n u |y| + 1 ulp of the output dtype,
/// u: unit roundoff of f64. The gradient is correct where factors are 0.
WICK_API Tensor cumprod(const Tensor& x, int64_t dim);
/// The cumulative maximum and its index: the last of equal elements; NaN beats every number. Exact.
/// The gradient goes to that index.
WICK_API ValuesIndices cummax(const Tensor& x, int64_t dim);
/// The cumulative minimum and its index, with cummax's rules.
WICK_API ValuesIndices cummin(const Tensor& x, int64_t dim);
/// The cumulative log(sum(e^x)), without overflow. Integers compute in f32. Error: |e| <= (2 +
/// log2(n)) u (1 + |y|) + 1 ulp of the output dtype, u: unit roundoff of f32 (f64 for f64).
WICK_API Tensor logcumsumexp(const Tensor& x, int64_t dim);

}  // namespace wick
