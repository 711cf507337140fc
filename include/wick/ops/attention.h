// Scaled-dot-product attention.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

struct SdpaOptions {
  Tensor mask = {};  // broadcasts to [B, H, T, S]: bool, true where a key is seen; or floating,
                     // added to the scores
  bool is_causal = false;  // a query sees the keys up to its own position; else all
  Tensor positions = {};   // [B, T], integers >= 0: of the queries; none: 0 to T - 1
  double scale = 0;        // 0: 1 / sqrt(D)
};

/// y = softmax(scale · q kᵀ + mask) v, grouped-query: query head h reads key head h / (H / G).
///
/// q     [B, H, T, D]  floating
/// k, v  [B, G, S, D]  same dtype; a key's index in S is its position, so a cache of capacity S is
///                     passed whole; what v holds for keys that are not seen must be finite
/// Returns [B, H, T, D], dtype of q; sums in f32 (f64 for f64); 0 for a query that sees no key.
/// Scores are not stored, but with a mask, which no kernel takes so far: smaller ops then compute
/// it, and a floating mask has a gradient.
/// Errors: kShapeMismatch, kDTypeMismatch, kDeviceMismatch; kInvalidArgument for positions without
/// is_causal.
/// Source: Dao et al. 2022, arXiv:2205.14135; Ainslie et al. 2023, arXiv:2305.13245.
WICK_API Tensor sdpa(const Tensor& q, const Tensor& k, const Tensor& v,
                     const SdpaOptions& options = {});

}  // namespace wick
