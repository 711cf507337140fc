// Rearranging elements. diagonal and unfold return views; the other functions copy.
#pragma once
#include "wick/core/number.h"
#include "wick/core/tensor.h"

namespace wick {

/// The diagonal of dims dim1 and dim2, as a new last dim that replaces both: the elements whose
/// index in dim2 is their index in dim1 plus `offset`. Returns a view. Errors: kShapeMismatch if x
/// has fewer than two dims; kInvalidArgument if dim1 and dim2 are the same dim.
WICK_API Tensor diagonal(const Tensor& x, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1);
/// Sliding windows of `size` elements, `step` apart, along a dim. In the result that dim counts the
/// windows, and a new last dim indexes the elements within a window. Returns a view; overlapping
/// windows share elements. Errors: kInvalidArgument if step < 1, size < 0, or size exceeds the
/// dim's size.
WICK_API Tensor unfold(const Tensor& x, int64_t dim, int64_t size, int64_t step);

// The functions from here on copy. They are exact in every dtype.

/// A row-major copy of x in memory of its own. The gradient passes through.
WICK_API Tensor clone(const Tensor& x);
/// Concatenates tensors along a dim. Their sizes in the other dims and their dtypes must be equal.
WICK_API Tensor cat(const std::vector<Tensor>& tensors, int64_t dim = 0);
/// Stacks tensors along a new dim. Their shapes and dtypes must be equal.
WICK_API Tensor stack(const std::vector<Tensor>& tensors, int64_t dim = 0);
/// Repeats the whole tensor, times[d] times along dim d. If `times` has more entries than x has
/// dims, x gets new leading dims. Errors: kInvalidArgument if `times` has fewer entries than x has
/// dims, or a negative one.
WICK_API Tensor repeat(const Tensor& x, const Dims& times);
/// repeat, but `times` may have fewer entries than x has dims: they then apply to the last dims.
WICK_API Tensor tile(const Tensor& x, const Dims& times);
/// Repeats each element along a dim, keeping the repeats adjacent: `times` times, or counts[i]
/// times for element i. counts holds one integer per element; the host reads it. Errors:
/// kInvalidArgument for a negative number; kShapeMismatch if counts has another shape.
WICK_API Tensor repeat_interleave(const Tensor& x, int64_t times, int64_t dim);
WICK_API Tensor repeat_interleave(const Tensor& x, const Tensor& counts, int64_t dim);
/// Shifts elements by shifts[i] along dims[i]; elements shifted out at one end come back in at the
/// other. Without dims, x is rolled as if flattened. Errors: kInvalidArgument unless there is one
/// shift per dim, or one shift in all without dims.
WICK_API Tensor roll(const Tensor& x, const Dims& shifts, const Dims& dims = {});
/// Reverses x along these dims. Errors: kInvalidArgument if a dim is named twice.
WICK_API Tensor flip(const Tensor& x, const Dims& dims);
/// Rotates x by `times` right angles, from dim0 towards dim1.
WICK_API Tensor rot90(const Tensor& x, int64_t times = 1, int64_t dim0 = 0, int64_t dim1 = 1);
/// A tensor of zeros with x's last dim on the diagonal of dims dim1 and dim2: diagonal(y, offset,
/// dim1, dim2) is x.
WICK_API Tensor diag_embed(const Tensor& x, int64_t offset = 0, int64_t dim1 = -2,
                           int64_t dim2 = -1);
/// For x [N], the matrix with x on its diagonal; for x [N, M], the diagonal of x. Errors:
/// kShapeMismatch.
WICK_API Tensor diag(const Tensor& x, int64_t offset = 0);
/// The sum of a matrix's diagonal, with sum's dtype and error. Errors: kShapeMismatch if x is not a
/// matrix.
WICK_API Tensor trace(const Tensor& x);
/// The lower triangle of the last two dims: zeros replace the elements (i, j) with j - i >
/// diagonal. Errors: kShapeMismatch if x has fewer than two dims.
WICK_API Tensor tril(const Tensor& x, int64_t diagonal = 0);
/// The upper triangle of the last two dims: zeros replace the elements (i, j) with j - i <
/// diagonal. Errors: kShapeMismatch if x has fewer than two dims.
WICK_API Tensor triu(const Tensor& x, int64_t diagonal = 0);

/// The values that pad puts around x.
enum class PadMode {
  kConstant,   // a constant
  kReflect,    // the elements mirrored at the edge, which is not repeated
  kReplicate,  // the edge element
  kCircular,   // the elements from the opposite end
};
struct Padding {
  int64_t before;
  int64_t after;  // a negative value crops
};
struct PadOptions {
  PadMode mode = PadMode::kConstant;
  Number value = 0;
};
/// Pads the last padding.size() dims of x; padding[i] applies to the i-th of these. Errors:
/// kInvalidArgument if padding has more entries than x has dims, or if the dim is too small:
/// kReflect needs more elements than are padded, kCircular at least as many, kReplicate at least
/// one, and cropping at least as many as are cropped.
WICK_API Tensor pad(const Tensor& x, const std::vector<Padding>& padding,
                    const PadOptions& options = {});

/// Rearranges x [..., C r^2, H, W] to [..., C, H r, W r], where r is the factor. Errors:
/// kShapeMismatch.
WICK_API Tensor pixel_shuffle(const Tensor& x, int64_t factor);
/// The inverse of pixel_shuffle: rearranges x [..., C, H r, W r] to [..., C r^2, H, W]. Errors:
/// kShapeMismatch.
WICK_API Tensor pixel_unshuffle(const Tensor& x, int64_t factor);

}  // namespace wick
