// Scaled-dot-product attention.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

struct SdpaOptions {
  double scale = 0;    // 0: 1 / sqrt(D)
  bool causal = true;  // a query sees the keys up to its own position; else all
};

/// y = softmax(scale · q kᵀ) v, grouped-query: query head h reads key head h / (H / G).
///
/// q          [B, H, T, D]  floating
/// k, v       [B, G, S, D]  same dtype; a key's index in S is its position, so a cache of
///                          capacity S is passed whole; what v holds for keys that are not seen
///                          must be finite
/// positions  [B, T]        i64 >= 0: of the queries; where causal, keys beyond a query's are not
///                          seen
/// Returns [B, H, T, D], dtype of q; sums in f32 (f64 for f64). Scores are not stored.
/// Errors: kShapeMismatch, kDTypeMismatch, kDeviceMismatch.
/// Source: Dao et al. 2022, arXiv:2205.14135; Ainslie et al. 2023, arXiv:2305.13245.
WICK_API Tensor sdpa(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& positions,
                     const SdpaOptions& options = {});

}  // namespace wick
