// Selecting elements by ids, of any integer dtype. An id below 0 or too large is kOutOfRange,
// thrown at once on the CPU and at the next synchronizing call on a card. The message has op,
// position, id and limit; a u64 id above 2^63 - 1 appears as itself. Nothing is read or written out
// of range.
#pragma once
#include "wick/core/var.h"

namespace wick {

/// y[..., j, ...] = x[..., ids[j], ...] along dim. ids: one-dimensional. Of a block dtype, whole
/// blocks move: any dim but the last.
WICK_API Tensor index_select(const Tensor& x, int64_t dim, const Tensor& ids);
/// y[i0, ..., j, ...] = x[i0, ..., ids[i0, ..., j, ...], ...] along dim. ids has x's rank and is no
/// larger than x in the other dims.
WICK_API Tensor gather(const Tensor& x, int64_t dim, const Tensor& ids);
/// Looks up rows of weight [V, D] by ids of any shape [...]: [..., D], in weight's dtype; in f32 if
/// weight has a block dtype.
WICK_API Tensor embedding(const Tensor& weight, const Tensor& ids);
/// The same, cast to dtype.
WICK_API Tensor embedding(const Tensor& weight, const Tensor& ids, DType dtype);
/// x with src[..., j, ...] added at ids[j] along dim. On a card, the order of float sums may differ
/// between runs unless set_deterministic(true). Error: |e| <= c u sum|terms| + 1 ulp of the output
/// dtype, u: unit roundoff of the accumulator (f64 for f64, else f32), c = 4 + terms, since the
/// terms are added one by one. Integers are exact and wrap.
WICK_API Tensor index_add(const Tensor& x, int64_t dim, const Tensor& ids, const Tensor& src);
/// x with src added where gather with the same ids would read. Error: as for index_add.
WICK_API Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& ids, const Tensor& src);

/// x with src written where gather with the same ids would read; ids may broadcast to src's shape.
/// If an id repeats, the last value wins, and all of them get the gradient of that element. Exact.
WICK_API Tensor scatter(const Tensor& x, int64_t dim, const Tensor& ids, const Tensor& src);
/// x with src[..., j, ...] written at ids[j] along dim. Exact.
WICK_API Tensor index_copy(const Tensor& x, int64_t dim, const Tensor& ids, const Tensor& src);
/// x with `value` written at ids[j] along dim. Exact. Errors: kInvalidArgument for a value outside
/// the dtype's range.
WICK_API Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& ids, Number value);
/// The elements of flattened x at ids, in ids' shape. Negative ids count from the end.
WICK_API Tensor take(const Tensor& x, const Tensor& ids);
/// gather, with x and ids broadcast against each other in the other dims.
WICK_API Tensor take_along_dim(const Tensor& x, const Tensor& ids, int64_t dim);

/// Writes src into target where gather with the same ids would read; if an id repeats, the last
/// value wins. ids may broadcast to src's shape. Modifies target's memory and is not recorded on
/// the tape.
WICK_API void scatter_(Var& target, int64_t dim, const Tensor& ids, const Tensor& src);

}  // namespace wick
