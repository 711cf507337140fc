// The same elements in another arrangement: copies, but for diagonal and unfold.
#pragma once
#include "wick/core/number.h"
#include "wick/core/tensor.h"

namespace wick {

/// The elements whose index in dim1 and that in dim2 plus `offset` are equal, as the last dim; the
/// two go away. A view. Errors: kInvalidArgument if the dims are one.
WICK_API Tensor diagonal(const Tensor& x, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1);
/// Windows of `size` elements, `step` apart, of a dim, which becomes their number: the last dim is
/// that in a window. A view, in which an element may be seen several times. Errors:
/// kInvalidArgument if step is below 1 or the size negative or larger than the dim's.
WICK_API Tensor unfold(const Tensor& x, int64_t dim, int64_t size, int64_t step);

// The functions from here on copy. Exact in every dtype.

/// x in memory of its own, row-major, which no other tensor sees; the gradient passes.
WICK_API Tensor clone(const Tensor& x);
/// The tensors one after another along a dim; their other sizes and their dtypes are equal.
WICK_API Tensor cat(const std::vector<Tensor>& tensors, int64_t dim);
/// The tensors one beside another along a new dim; their shapes and dtypes are equal.
WICK_API Tensor stack(const std::vector<Tensor>& tensors, int64_t dim = 0);
/// The whole tensor over and over, times[d] along dim d; more times than dims are new leading dims.
/// Errors: kInvalidArgument of fewer times than dims, or of a negative number.
WICK_API Tensor repeat(const Tensor& x, const Dims& times);
/// repeat that takes fewer times than dims too: those of the last dims.
WICK_API Tensor tile(const Tensor& x, const Dims& times);
/// Each element of a dim `times` one after another; or counts[i] (integers, one for each) of
/// element i, which are read on the host. Errors: kInvalidArgument of a negative number,
/// kShapeMismatch.
WICK_API Tensor repeat_interleave(const Tensor& x, int64_t times, int64_t dim);
WICK_API Tensor repeat_interleave(const Tensor& x, const Tensor& counts, int64_t dim);
/// Elements moved by shifts[i] along dims[i]; those that leave at one end come in at the other. No
/// dims: along all of x as one. Errors: kInvalidArgument.
WICK_API Tensor roll(const Tensor& x, const Dims& shifts, const Dims& dims = {});
/// x in the opposite order along these dims. Errors: kInvalidArgument if one comes twice.
WICK_API Tensor flip(const Tensor& x, const Dims& dims);
/// x turned by `times` right angles from dim0 towards dim1.
WICK_API Tensor rot90(const Tensor& x, int64_t times = 1, int64_t dim0 = 0, int64_t dim1 = 1);
/// x's last dim as the diagonal of zeros, seen by diagonal(y, offset, dim1, dim2).
WICK_API Tensor diag_embed(const Tensor& x, int64_t offset = 0, int64_t dim1 = -2,
                           int64_t dim2 = -1);
/// The matrix with the diagonal x [N], or the diagonal of x [N, M]. Errors: kShapeMismatch.
WICK_API Tensor diag(const Tensor& x, int64_t offset = 0);
/// The sum of a matrix's diagonal, as sum gives it. Errors: kShapeMismatch.
WICK_API Tensor trace(const Tensor& x);
/// x with zeros above the diagonal of the last two dims: element (i, j) stays where j - i <=
/// diagonal. Errors: kShapeMismatch.
WICK_API Tensor tril(const Tensor& x, int64_t diagonal = 0);
/// x with zeros below the diagonal of the last two dims: element (i, j) stays where j - i >=
/// diagonal. Errors: kShapeMismatch.
WICK_API Tensor triu(const Tensor& x, int64_t diagonal = 0);

/// What stands around a padded tensor.
enum class PadMode {
  kConstant,   // a number
  kReflect,    // the elements beyond the edge, the edge not again
  kReplicate,  // the edge
  kCircular,   // the elements of the other end
};
struct Padding {
  int64_t before;
  int64_t after;  // negative ones cut off
};
struct PadOptions {
  PadMode mode = PadMode::kConstant;
  Number value = 0;
};
/// x larger by padding[i] in the i-th of the last padding.size() dims. Errors: kInvalidArgument if
/// more is padded or cut off than there is: reflect wants a larger dim, circular one as large,
/// replicate an element.
WICK_API Tensor pad(const Tensor& x, const std::vector<Padding>& padding,
                    const PadOptions& options = {});

/// x [..., C r^2, H, W] as [..., C, H r, W r], r the factor. Errors: kShapeMismatch.
WICK_API Tensor pixel_shuffle(const Tensor& x, int64_t factor);
/// pixel_shuffle's inverse: x [..., C, H r, W r] as [..., C r^2, H, W]. Errors: kShapeMismatch.
WICK_API Tensor pixel_unshuffle(const Tensor& x, int64_t factor);

}  // namespace wick
