// Views and reshapes. Views do not copy; reshape copies if no strides can express the result. All
// functions throw kOutOfRange for a dim out of range.
#pragma once
#include "wick/core/number.h"
#include "wick/core/tensor.h"

namespace wick {

/// x in another shape with the same number of elements; one size may be -1 and is inferred. Errors:
/// kShapeMismatch if the numbers of elements differ.
WICK_API Tensor reshape(const Tensor& x, const Shape& shape);
/// Merges dims first to last into one; a tensor without dims becomes one-dimensional. Errors:
/// kInvalidArgument.
WICK_API Tensor flatten(const Tensor& x, int64_t first = 0, int64_t last = -1);
/// Swaps two dims.
WICK_API Tensor transpose(const Tensor& x, int64_t dim0 = -2, int64_t dim1 = -1);
/// Reorders dims: dim i of the result is dim order[i] of x. Errors: kInvalidArgument if order is
/// not a permutation.
WICK_API Tensor permute(const Tensor& x, const Dims& order);
/// Moves dim source[i] to dim destination[i]; the other dims keep their order. Errors:
/// kInvalidArgument.
WICK_API Tensor movedim(const Tensor& x, const Dims& source, const Dims& destination);
WICK_API Tensor movedim(const Tensor& x, int64_t source, int64_t destination);
/// Inserts a dim of size 1 at `dim` in [-rank - 1, rank].
WICK_API Tensor unsqueeze(const Tensor& x, int64_t dim);
/// Removes `dim` if its size is 1, else returns x; without `dim`, removes every dim of size 1.
WICK_API Tensor squeeze(const Tensor& x, int64_t dim);
WICK_API Tensor squeeze(const Tensor& x);
/// The elements start to start + length - 1 of a dim. Errors: kOutOfRange.
WICK_API Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length);
/// The elements at one index of a dim, which is removed. A negative index counts from the end.
/// Errors: kOutOfRange.
WICK_API Tensor select(const Tensor& x, int64_t dim, int64_t index);
/// Repeats x along dims of size 1 and new leading dims, without a copy; a size of -1 keeps x's.
/// Errors: kShapeMismatch, also for -1 in a new dim.
WICK_API Tensor broadcast_to(const Tensor& x, const Shape& shape);
/// Repeats x along new leading dims, without a copy: [left..., x's dims...].
WICK_API Tensor broadcast_left(const Tensor& x, const Shape& left);

/// Views of `size` elements each along dim, where the last may be shorter; or of the given sizes.
/// Errors: kInvalidArgument for a size below 1 or more than 2^24 views; kShapeMismatch if the sizes
/// do not sum to the dim's.
WICK_API std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t dim = 0);
WICK_API std::vector<Tensor> split(const Tensor& x, const Dims& sizes, int64_t dim = 0);
/// `count` views along dim; the first (the dim's size) % count are one element longer. Returns
/// fewer views if there are fewer elements. Errors: kInvalidArgument for a count below 1 or above
/// 2^24.
WICK_API std::vector<Tensor> chunk(const Tensor& x, int64_t count, int64_t dim = 0);
/// A view per index of the dim, without the dim. Errors: kInvalidArgument for more than 2^24 views.
WICK_API std::vector<Tensor> unbind(const Tensor& x, int64_t dim = 0);

}  // namespace wick
