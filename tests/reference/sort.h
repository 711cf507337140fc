// Scans, sorting and searching, naively: line by line along a dim. NaN is larger than every number.
#pragma once
#include "ops.h"

namespace wick::reference {

/// Sums and products of integers and bool are of i64, wrapping; of u64 u64.
Result cumsum(const Array& x, int64_t dim);
Result cumprod(const Array& x, int64_t dim);
/// What is wanted of an op that gives values and places.
enum class Want { kValues, kIndices };
/// sign 1: the largest so far, -1: the smallest; the last of equals, NaN first of all.
Result cumulative_extreme(const Array& x, int64_t dim, Real sign, Want want);
Result logcumsumexp(const Array& x, int64_t dim);

/// The first k of the sorted line; stable.
Result sort(const Array& x, int64_t dim, int64_t k, bool descending, Want want);
Result kthvalue(const Array& x, int64_t k, int64_t dim, bool keepdim, Want want);
Result median(const Array& x, int64_t dim, bool keepdim, Want want);
Result mode(const Array& x, int64_t dim, bool keepdim, Want want);
Result quantile(const Array& x, Real q, int64_t dim, bool keepdim);

Result nonzero(const Array& x);
Result masked_select(const Array& x, const Array& mask);
Result searchsorted(const Array& sorted, const Array& values, bool right);
/// weights: nullptr for ones of i64.
Result bincount(const Array& x, const Array* weights, int64_t minlength);
Result histc(const Array& x, int64_t bins, Real low, Real high);

}  // namespace wick::reference
