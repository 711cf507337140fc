// Where elements are, and how often. What these return has no gradient, masked_select excepted.
#pragma once
#include "wick/ops/reduce.h"

namespace wick {

/// The places [M, rank] of i64 where x is not 0 (NaN is not), row-major. Waits for the device.
WICK_API Tensor nonzero(const Tensor& x);
/// The elements of x where mask is true, in row-major order: [M]. mask: bool; both broadcast. Waits
/// for the device. Errors: kDTypeMismatch, kShapeMismatch.
WICK_API Tensor masked_select(const Tensor& x, const Tensor& mask);

struct Unique {
  Tensor values;   // [M], each once
  Tensor inverse;  // of x's shape: x = values[inverse]
  Tensor counts;   // [M]
};
/// The values of x, ascending. The two zeros are one value; NaN equals nothing, so each stays.
WICK_API Unique unique(const Tensor& x);
/// The values of x with each run of equal neighbours, in row-major order, as one, in their order.
WICK_API Unique unique_consecutive(const Tensor& x);

struct SearchOptions {
  bool right = false;  // behind equals instead of before them
};
/// The places at which values would keep `sorted` ascending: the first such place, with `right` the
/// last. sorted [D] and values of any shape, or sorted [..., D] and values [..., J]. i64 of values'
/// shape. NaN counts as larger than every number, as in sort. Errors: kShapeMismatch,
/// kDTypeMismatch if the dtypes differ.
WICK_API Tensor searchsorted(const Tensor& sorted, const Tensor& values,
                             const SearchOptions& options = {});
/// The number of the bucket that each value falls in: searchsorted with boundaries [D].
WICK_API Tensor bucketize(const Tensor& values, const Tensor& boundaries,
                          const SearchOptions& options = {});

/// How often each of 0, 1, ... comes in x [N], integers, or the sum of their weights [N].
///
/// Returns [max(x) + 1], at least [minlength], of i64 or the weights' dtype. Waits for the device.
/// Floats are added up in f64. Error: |e| <= n u sum|w| + 1 ulp of the output dtype.
/// Errors: kInvalidArgument for a negative element.
WICK_API Tensor bincount(const Tensor& x, const Tensor& weights = {}, int64_t minlength = 0);
/// How many elements of x fall in each of `bins` equal parts of [min, max], the last with its upper
/// end; others and NaN are left out. min = max: the smallest and the largest of x, or 1 to either
/// side where they are equal. Returns [bins] of x's dtype. Errors: kInvalidArgument unless bins >
/// 0, min <= max and both are finite; kDTypeMismatch unless x is floating.
WICK_API Tensor histc(const Tensor& x, int64_t bins = 100, double min = 0, double max = 0);

}  // namespace wick
