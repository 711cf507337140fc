// Sampling the next token from logits, on the device.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

struct SampleOptions {
  double temperature = 1;  // 0: greedy, the first of the largest logits
  int64_t top_k = 0;       // keep the k most likely ids; 0: all
  double top_p = 1;        // of these, keep the fewest whose probabilities sum to at least p
};

/// Draws one id per row from softmax(logits / temperature), restricted by top_k and top_p. uniform
/// [B], f32 in [0, 1), selects the id: the first kept id, in ascending order, at which the
/// cumulative probability exceeds it. Ids that tie with the last one kept are kept too. Logits may
/// be -inf, which is never drawn; NaN, +inf or a row of only -inf give some id in [0, V). logits
/// [B, V]: floating. Returns i64 [B]. Errors: kInvalidArgument if temperature < 0, top_k < 0 or
/// top_p is outside (0, 1]; kShapeMismatch; kDTypeMismatch.
WICK_API Tensor sample(const Tensor& logits, const Tensor& uniform,
                       const SampleOptions& options = {});

}  // namespace wick
