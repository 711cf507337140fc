// Elements chosen by ids: of any integer dtype. An id below 0 or too large is an error: at once on
// the CPU, on a card at the next synchronizing call (kOutOfRange, which names op, position, id and
// limit; of u64 above 2^63 - 1 that number); nothing is read or written out of range.
#pragma once
#include "wick/core/var.h"

namespace wick {

/// y[..., j, ...] = x[..., ids[j], ...] along dim. ids: one-dimensional.
WICK_API Tensor index_select(const Tensor& x, int64_t dim, const Tensor& ids);
/// y[i0, ..., j, ...] = x[i0, ..., ids[i0, ..., j, ...], ...] along dim. ids: x's rank, no larger
/// than x in the other dims.
WICK_API Tensor gather(const Tensor& x, int64_t dim, const Tensor& ids);
/// The rows of weight [V, D] that ids of any shape [...] name: [..., D].
WICK_API Tensor embedding(const Tensor& weight, const Tensor& ids);
/// x with src[..., j, ...] added at ids[j] along dim. On a card the order of float sums may change
/// between runs, unless set_deterministic(true). Error: |e| <= c u sum|terms| + 1 ulp of the output
/// dtype, u of the accumulator (f32, of f64 f64), c = 4 + terms, which are added one by one; integers
/// are exact and wrap.
WICK_API Tensor index_add(const Tensor& x, int64_t dim, const Tensor& ids, const Tensor& src);
/// x with src added where gather with the same ids would read. Error: as index_add.
WICK_API Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& ids, const Tensor& src);

/// x with src set where gather with the same ids would read; ids may broadcast to src's shape. Of
/// equal ids the last one's value stays, and all get its place's gradient. Exact.
WICK_API Tensor scatter(const Tensor& x, int64_t dim, const Tensor& ids, const Tensor& src);
/// x with src[..., j, ...] set at ids[j] along dim. Exact.
WICK_API Tensor index_copy(const Tensor& x, int64_t dim, const Tensor& ids, const Tensor& src);
/// x with the number set at ids[j] along dim. Exact.
WICK_API Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& ids, Number value);
/// The elements of x as if it had one dim, in ids' shape. Negative ids count from the end.
WICK_API Tensor take(const Tensor& x, const Tensor& ids);
/// gather of x and ids that broadcast to one another in the other dims.
WICK_API Tensor take_along_dim(const Tensor& x, const Tensor& ids, int64_t dim);

/// Writes src into target where gather with the same ids would read; of equal ids the last one's
/// value stays. ids may broadcast to src's shape. In target's memory, off the tape.
WICK_API void scatter_(Var& target, int64_t dim, const Tensor& ids, const Tensor& src);

}  // namespace wick
