// Softmax along a dim in [-rank, rank); a tensor without dims is taken as one of one dim. Errors of
// all: kOutOfRange of another dim.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

/// log(softmax(x)) along dim, computed from x - max(x). x: floating. Error: |e| <= 4 u m + 1 ulp of
/// the output dtype, u of f32 (f64 for f64), m the sum of the intermediate results' magnitudes; the
/// same for the functions below.
WICK_API Tensor log_softmax(const Tensor& x, int64_t dim = -1);
/// exp(x - max(x)) / sum along dim. x: floating; sums in f32 (f64 for f64).
WICK_API Tensor softmax(const Tensor& x, int64_t dim = -1);

}  // namespace wick
