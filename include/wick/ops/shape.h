// The same elements, seen otherwise or in another order. Views cost no copy; reshape copies where
// strides cannot say it. Errors, of all: kOutOfRange of a dim that is none.
#pragma once
#include "wick/core/number.h"
#include "wick/core/tensor.h"

namespace wick {

/// x in this shape; one size may be -1: what is left. Errors: kShapeMismatch if numel is another.
WICK_API Tensor reshape(const Tensor& x, const Shape& shape);
/// x with dims first to last as one; a tensor without dims gets one. Errors: kInvalidArgument.
WICK_API Tensor flatten(const Tensor& x, int64_t first = 0, int64_t last = -1);
/// Exchanges two dims.
WICK_API Tensor transpose(const Tensor& x, int64_t dim0 = -2, int64_t dim1 = -1);
/// Dim i of the result is dim order[i] of x. Errors: kInvalidArgument if order is no permutation.
WICK_API Tensor permute(const Tensor& x, const Dims& order);
/// Dim source[i] becomes dim destination[i]; the others keep their order. Errors: kInvalidArgument.
WICK_API Tensor movedim(const Tensor& x, const Dims& source, const Dims& destination);
WICK_API Tensor movedim(const Tensor& x, int64_t source, int64_t destination);
/// x with a new dim of size 1 at `dim` in [-rank - 1, rank].
WICK_API Tensor unsqueeze(const Tensor& x, int64_t dim);
/// x without the dim if it is of size 1, else x; x without every dim of size 1.
WICK_API Tensor squeeze(const Tensor& x, int64_t dim);
WICK_API Tensor squeeze(const Tensor& x);
/// Elements start, start + 1, ... start + length - 1 of a dim. Errors: kOutOfRange.
WICK_API Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length);
/// The elements at an index of a dim, which goes away; a negative one counts from the end. Errors:
/// kOutOfRange.
WICK_API Tensor select(const Tensor& x, int64_t dim, int64_t index);
/// x with dims of size 1, and new leading ones, repeated without a copy; a size of -1 stays x's.
/// Errors: kShapeMismatch, also of -1 for a new dim.
WICK_API Tensor broadcast_to(const Tensor& x, const Shape& shape);
/// x repeated without a copy: [left..., x's dims...].
WICK_API Tensor broadcast_left(const Tensor& x, const Shape& left);

/// Views of `size` elements along dim, the last of what is left; or of these sizes. Errors:
/// kInvalidArgument of a size below 1 or of more than 2^24 views, kShapeMismatch if sizes do not
/// sum to the dim's.
WICK_API std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t dim = 0);
WICK_API std::vector<Tensor> split(const Tensor& x, const Dims& sizes, int64_t dim = 0);
/// `count` views along dim, of which the first (the dim's size) % count are one longer; fewer views
/// where there are fewer elements. Errors: kInvalidArgument of a count below 1 or above 2^24.
WICK_API std::vector<Tensor> chunk(const Tensor& x, int64_t count, int64_t dim = 0);
/// A view of each index of the dim, without the dim. Errors: kInvalidArgument of more than 2^24.
WICK_API std::vector<Tensor> unbind(const Tensor& x, int64_t dim = 0);

}  // namespace wick
