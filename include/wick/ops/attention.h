// Scaled-dot-product attention.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

struct SdpaOptions {
  Tensor mask = {};  // broadcasts to [B, H, T, S]: bool, true where a query may attend to a key; or
                     // floating, added to the scores
  bool is_causal = false;  // a query attends only to keys up to its own position
  Tensor positions = {};   // [B, T], integers >= 0: the queries' positions; empty: 0 to T - 1
  double scale = 0;        // 0: 1 / sqrt(D)
  int64_t window = 0;      // w > 0: of those keys, only the last w; 0: all of them
  double soft_cap = 0;     // c > 0: cap(x) = c tanh(x / c); 0: x
};

/// y = softmax(cap(scale · q kᵀ) + mask) v, grouped-query: query head h reads key head h / (H / G).
///
/// q     [B, H, T, D]  floating
/// k, v  [B, G, S, D]  same dtype; a key's index in S is its position, so a cache of capacity S can
///                     be passed whole; v must be finite even at keys that no query attends to
/// Returns [B, H, T, D] in q's dtype; accumulates in f32 (f64 for f64). The weights of f16 and bf16
/// may be rounded to that dtype before they multiply v; a weight of f16 that rounds to 0 makes NaN of
/// an infinite v. A query that attends to no key gets 0. The kernels do not store the scores, but the
/// gradient with a mask does: smaller ops compute it. A floating mask has a gradient, and is added in
/// the dtype that accumulates.
/// Errors: kShapeMismatch, kDTypeMismatch, kDeviceMismatch; kInvalidArgument if positions or a
/// window are given without is_causal, or the window or soft cap is below 0.
/// Source: Dao et al. 2022, arXiv:2205.14135; Ainslie et al. 2023, arXiv:2305.13245; Gemma Team
/// 2024, arXiv:2408.00118, 2 (window, soft cap).
WICK_API Tensor sdpa(const Tensor& q, const Tensor& k, const Tensor& v,
                     const SdpaOptions& options = {});

}  // namespace wick
