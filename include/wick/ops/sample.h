// The next token from logits, chosen on the device.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

struct SampleOptions {
  double temperature = 1;  // 0: greedy, the first of the largest
  int64_t top_k = 0;       // keep the k most likely; 0: all
  double top_p = 1;        // of these keep the fewest whose share reaches p
};

/// Chooses an id per row, drawn from softmax(logits / temperature) cut to top_k and top_p: uniform
/// [B] of f32 in [0, 1) picks along the kept ids in ascending order: the first at which their share
/// exceeds it. What ties with the last one kept stays too. Logits may be -inf, which is never
/// drawn; NaN, +inf and nothing but -inf give some id in [0, V). logits [B, V] floating. Returns
/// [B] i64. Errors: kInvalidArgument if temperature < 0, top_k < 0 or top_p outside of (0, 1];
/// kShapeMismatch; kDTypeMismatch.
WICK_API Tensor sample(const Tensor& logits, const Tensor& uniform,
                       const SampleOptions& options = {});

}  // namespace wick
