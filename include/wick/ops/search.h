// Searching and counting. Only masked_select has a gradient.
#pragma once
#include "wick/ops/reduce.h"

namespace wick {

/// The indices of the elements that are not 0 (NaN is not), in row-major order: i64 [M, rank].
/// Waits for the device.
WICK_API Tensor nonzero(const Tensor& x);
/// The elements of x where mask is true, in row-major order: [M]. mask: bool; both broadcast. Waits
/// for the device. Errors: kDTypeMismatch, kShapeMismatch.
WICK_API Tensor masked_select(const Tensor& x, const Tensor& mask);

struct Unique {
  Tensor values;   // [M], each value once
  Tensor inverse;  // in x's shape: x = values[inverse]
  Tensor counts;   // [M]
};
/// The distinct values of x, ascending. -0 and 0 count as one value; NaN equals nothing, so every
/// NaN is kept.
WICK_API Unique unique(const Tensor& x);
/// The values of x in row-major order, with each run of equal neighbours merged into one.
WICK_API Unique unique_consecutive(const Tensor& x);

struct SearchOptions {
  bool right = false;  // insert after equal elements instead of before
};
/// The indices at which inserting `values` keeps `sorted` ascending: the first such index, or the
/// last with `right`. sorted [D] with values of any shape, or sorted [..., D] with values [..., J].
/// Returns i64 in values' shape. NaN counts as larger than every number, as in sort. Errors:
/// kShapeMismatch; kDTypeMismatch if the dtypes differ.
WICK_API Tensor searchsorted(const Tensor& sorted, const Tensor& values,
                             const SearchOptions& options = {});
/// The index of the bucket that contains each value: searchsorted with boundaries [D].
WICK_API Tensor bucketize(const Tensor& values, const Tensor& boundaries,
                          const SearchOptions& options = {});

/// Counts how often 0, 1, ... occur in integers x [N], or sums their weights [N].
///
/// Returns [max(x) + 1], or [minlength] if that is larger, in i64 or the weights' dtype. Waits for
/// the device. Floats add up in f64. Error: |e| <= n u sum|w| + 1 ulp of the output dtype. Errors:
/// kInvalidArgument for a negative element.
WICK_API Tensor bincount(const Tensor& x, const Tensor& weights = {}, int64_t minlength = 0);
/// A histogram: counts the elements of x in each of `bins` equal parts of [min, max]; the last part
/// includes its upper end. Elements outside and NaN are not counted. If min = max, the range is
/// from x's least to its largest element, widened by 1 on either side if they are all equal.
/// Returns [bins] in x's dtype. Errors: kInvalidArgument unless bins > 0, min <= max and both are
/// finite; kDTypeMismatch unless x is floating.
WICK_API Tensor histc(const Tensor& x, int64_t bins = 100, double min = 0, double max = 0);

}  // namespace wick
