// Factors of queries that grow with their position.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

/// Queries at position p are multiplied by 1 + scale ln(1 + floor((p + offset) / length)). Source:
/// Nakanishi 2025, arXiv:2501.19399, as in Llama 4.
struct Temperature {
  double scale = 0;  // 0: queries stay as they are
  int64_t length = 1, offset = 0;

  /// q [B, H, T, D] of tokens at positions [B, T].
  Tensor operator()(const Tensor& q, const Tensor& positions) const;
};

}  // namespace wick
