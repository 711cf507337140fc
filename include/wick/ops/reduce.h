// Reductions. dims are in [-rank, rank); for a tensor without dims, 0 or -1; an empty list reduces
// all dims. f16, bf16 and f8 accumulate in f32, integers in i64. Device and shape fix the order of
// summation, so the same inputs give the same bits. All functions throw kOutOfRange for a dim out
// of range and kInvalidArgument for a dim given twice.
#pragma once
#include <optional>

#include "wick/core/tensor.h"

namespace wick {

struct ReduceOptions {
  Dims dims = {};        // empty: all
  bool keepdim = false;  // keep reduced dims, with size 1
};

/// The values chosen along a dim, and their indices (i64).
struct ValuesIndices {
  Tensor values;
  Tensor indices;
};

/// The sum. Integers and bool return i64, u64 returns u64; 0 for no elements. Error: |e| <= 4 u
/// sum|x| + 1 ulp of the output dtype, u: unit roundoff of the accumulator; for n like elements,
/// whose roundings do not cancel, n / (2 + log2 n) times that.
WICK_API Tensor sum(const Tensor& x, const ReduceOptions& options = {});
/// The mean. Integers compute in f32; NaN for no elements. Error: as for sum of x / n.
WICK_API Tensor mean(const Tensor& x, const ReduceOptions& options = {});
/// @name Extremes
/// NaN beats every number. Exact. Errors: kInvalidArgument if there are no elements.
/// @{

/// The largest element. The gradient goes to the first of equal elements if one dim is named;
/// otherwise they share it evenly.
WICK_API Tensor max(const Tensor& x, const ReduceOptions& options = {});
/// The smallest element; gradient as for max.
WICK_API Tensor min(const Tensor& x, const ReduceOptions& options = {});
/// The largest element; equal elements share the gradient evenly.
WICK_API Tensor amax(const Tensor& x, const ReduceOptions& options = {});
/// The smallest element; equal elements share the gradient evenly.
WICK_API Tensor amin(const Tensor& x, const ReduceOptions& options = {});

/// @}

/// The product. Integers and bool return i64, u64 returns u64, and wrap; 1 for no elements. Error:
/// |e| <= n u |y| + 1 ulp of the output dtype for n factors whose partial products stay in the
/// accumulator's range, u: its unit roundoff. The gradient is correct where factors are 0.
WICK_API Tensor prod(const Tensor& x, const ReduceOptions& options = {});
/// Whether any element is not 0: bool. NaN is not 0. false for no elements.
WICK_API Tensor any(const Tensor& x, const ReduceOptions& options = {});
/// Whether all elements are not 0: bool. NaN is not 0. true for no elements.
WICK_API Tensor all(const Tensor& x, const ReduceOptions& options = {});

/// @name Indices of extremes
/// Index along dim, or in flattened x without a dim: i64. The first of equal elements; NaN beats
/// every number. Errors: kInvalidArgument if there are no elements.
/// @{

/// The index of the largest element.
WICK_API Tensor argmax(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
/// The index of the smallest element.
WICK_API Tensor argmin(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
/// The results of max and argmax together.
WICK_API ValuesIndices max_with_indices(const Tensor& x, int64_t dim, bool keepdim = false);
/// The results of min and argmin together.
WICK_API ValuesIndices min_with_indices(const Tensor& x, int64_t dim, bool keepdim = false);

/// @}

}  // namespace wick
