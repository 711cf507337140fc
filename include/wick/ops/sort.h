// Sorting and order statistics along a dim in [-rank, rank). A tensor without dims counts as
// one-dimensional, and the results then have no dims. NaN counts as larger than every number, so it
// comes last, or first in descending order. -0 and 0 are equal. Sorting is stable. indices are i64.
// Results are exact, but for quantile; gradients go to the chosen elements. All functions throw
// kOutOfRange for a dim out of range.
#pragma once
#include "wick/ops/reduce.h"

namespace wick {

struct SortOptions {
  bool descending = false;
};
/// The sorted elements and the indices they came from.
WICK_API ValuesIndices sort(const Tensor& x, int64_t dim = -1, const SortOptions& options = {});
/// The indices that sort returns.
WICK_API Tensor argsort(const Tensor& x, int64_t dim = -1, const SortOptions& options = {});

struct TopkOptions {
  bool largest = true;  // else the smallest, in ascending order
};
/// The first k sorted elements, in order. Errors: kInvalidArgument unless 0 <= k <= size.
WICK_API ValuesIndices topk(const Tensor& x, int64_t k, int64_t dim = -1,
                            const TopkOptions& options = {});

// The functions below reduce one dim, which they remove unless keepdim. Errors: kInvalidArgument if
// it is empty.

/// The k-th smallest element; k counts from 1. Errors: kInvalidArgument unless 1 <= k <= size.
WICK_API ValuesIndices kthvalue(const Tensor& x, int64_t k, int64_t dim = -1, bool keepdim = false);
/// The median: the middle element, or the lower of the two if their number is even; NaN if any
/// element is.
WICK_API ValuesIndices median(const Tensor& x, int64_t dim = -1, bool keepdim = false);
/// The most frequent value, the smallest of several, with the last of its indices. NaN counts as
/// equal to NaN.
WICK_API ValuesIndices mode(const Tensor& x, int64_t dim = -1, bool keepdim = false);
/// The quantile q: linear interpolation of the sorted elements at index q (n - 1); NaN if any
/// element is. Integers compute in f32. Error: |e| <= 2.5 u of the neighbours + 1 ulp of the output
/// dtype, u: unit roundoff of f32 (f64 for f64). Errors: kInvalidArgument unless 0 <= q <= 1.
WICK_API Tensor quantile(const Tensor& x, double q, int64_t dim = -1, bool keepdim = false);

}  // namespace wick
