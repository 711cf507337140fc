// Elements in order along a dim in [-rank, rank); a tensor without dims is taken as one of one dim,
// and gives such. NaN counts as larger than every number, so it is last, or first where the order
// is descending; the two zeros are equal; equals stay in their order. indices are i64. Results are
// exact; gradients go to the places that were chosen. Errors of all: kOutOfRange for a dim that is
// not there.
#pragma once
#include "wick/ops/reduce.h"

namespace wick {

struct SortOptions {
  bool descending = false;
};
/// The elements in order, and the places that they came from.
WICK_API ValuesIndices sort(const Tensor& x, int64_t dim = -1, const SortOptions& options = {});
/// The places that sort gives.
WICK_API Tensor argsort(const Tensor& x, int64_t dim = -1, const SortOptions& options = {});

struct TopkOptions {
  bool largest = true;  // else the smallest, ascending
};
/// The k first of the sorted elements, in order. Errors: kInvalidArgument unless 0 <= k <= size.
WICK_API ValuesIndices topk(const Tensor& x, int64_t k, int64_t dim = -1,
                            const TopkOptions& options = {});

// The functions below take one dim, which goes unless keepdim. Errors: kInvalidArgument if empty.

/// The k-th smallest element, from 1. Errors: kInvalidArgument unless 1 <= k <= size.
WICK_API ValuesIndices kthvalue(const Tensor& x, int64_t k, int64_t dim = -1, bool keepdim = false);
/// The middle element, of an even number the lower of two; NaN where there is one.
WICK_API ValuesIndices median(const Tensor& x, int64_t dim = -1, bool keepdim = false);
/// The value that comes most often, of several the smallest, and the last of its places. NaN counts
/// as equal to NaN.
WICK_API ValuesIndices mode(const Tensor& x, int64_t dim = -1, bool keepdim = false);
/// The value between the sorted elements at the place q (n - 1), linearly; NaN where there is one.
/// Integers compute in f32. Error: |e| <= 2.5 u of the neighbours + 1 ulp of the output dtype, u of
/// f32, of f64 f64. Errors: kInvalidArgument unless 0 <= q <= 1.
WICK_API Tensor quantile(const Tensor& x, double q, int64_t dim = -1, bool keepdim = false);

}  // namespace wick
