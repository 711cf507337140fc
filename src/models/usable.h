// Whether tokens can be sampled from logits.
#pragma once
#include "wick/ops/compare.h"
#include "wick/ops/reduce.h"

namespace wick {

/// [..., V] -> [..., 1]: whether a token can be sampled from the logits. amax takes a NaN for the
/// largest.
inline Tensor is_usable(const Tensor& logits) {
  return isfinite(amax(logits, {.dims = {-1}, .keepdim = true}));
}

}  // namespace wick
