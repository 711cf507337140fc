// Softmax and what is learnt by.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

/// log(softmax(x)) along dim, computed from x - max(x). x: floating. Error: |e| <= 4 u m + 1 ulp of
/// the output dtype, u of f32 (f64 for f64), m the sum of the intermediate results' magnitudes; the
/// same for the functions below.
WICK_API Tensor log_softmax(const Tensor& x, int64_t dim = -1);
/// exp(x - max(x)) / sum along dim. x: floating; sums in f32 (f64 for f64).
WICK_API Tensor softmax(const Tensor& x, int64_t dim = -1);
/// The mean over [N] of -log softmax(logits)[target]. logits [N, C] floating, targets [N] i64 in
/// [0, C). Returns a scalar of f32 (f64 for f64). Errors: kShapeMismatch, kDTypeMismatch,
/// kOutOfRange.
WICK_API Tensor cross_entropy(const Tensor& logits, const Tensor& targets);

}  // namespace wick
