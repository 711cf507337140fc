// Scans: what has come so far, at every element along a dim in [-rank, rank); a tensor without dims
// is taken as one of one dim. The order of sums is fixed by the shape, so the same inputs give the
// same bits. Errors of all: kOutOfRange.
#pragma once
#include "wick/ops/reduce.h"

namespace wick {

/// The sum of the elements up to each; of integers and bool as i64, u64 of u64, wrapping. Error:
/// |e| <= 4 u sum|x| + 1 ulp of the output dtype, u of f32, of f64 f64.
WICK_API Tensor cumsum(const Tensor& x, int64_t dim);
/// The product of the elements up to each; dtypes as cumsum. Error: |e| <= n u |y| + 1 ulp of the
/// output dtype, u of f64. Its gradient is right where factors are 0.
WICK_API Tensor cumprod(const Tensor& x, int64_t dim);
/// The largest element up to each, and its place: the last of equals; NaN goes before every number.
/// Exact. The gradient goes to that place.
WICK_API ValuesIndices cummax(const Tensor& x, int64_t dim);
/// The smallest element up to each, and its place, as cummax has them.
WICK_API ValuesIndices cummin(const Tensor& x, int64_t dim);
/// log(sum(e^x)) of the elements up to each, without overflow. Integers compute in f32. Error: |e|
/// <= (2 + log2(n)) u (1 + |y|) + 1 ulp of the output dtype, u of f32, of f64 f64.
WICK_API Tensor logcumsumexp(const Tensor& x, int64_t dim);

}  // namespace wick
