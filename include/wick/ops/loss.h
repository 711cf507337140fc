// Loss functions.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

/// The mean over N of -log softmax(logits)[target]. logits [N, C]: floating; targets [N]: integers
/// in [0, C). Returns a scalar in f32 (f64 for f64). Errors: kShapeMismatch, kDTypeMismatch,
/// kOutOfRange.
WICK_API Tensor cross_entropy(const Tensor& logits, const Tensor& targets);

}  // namespace wick
