// Softmax along a dim in [-rank, rank). A tensor without dims counts as one-dimensional. All
// functions throw kOutOfRange for another dim.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

/// log(softmax(x)) along dim, computed from x - max(x). x: floating. Error: |e| <= 4 u m + 1 ulp of
/// the output dtype, u: unit roundoff of f32 (f64 for f64), m: sum of the magnitudes of the
/// intermediate results; the same bound holds for softmax.
WICK_API Tensor log_softmax(const Tensor& x, int64_t dim = -1);
/// exp(x - max(x)) / sum(exp(x - max(x))) along dim. x: floating; accumulates in f32 (f64 for f64).
WICK_API Tensor softmax(const Tensor& x, int64_t dim = -1);

}  // namespace wick
