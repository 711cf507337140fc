// The gated delta rule. Inner strides of q, k and v are 1; states are contiguous.
#pragma once
#include "wick/abi/op.h"

namespace wick {

/// S = exp(decay) S; S = S + beta k (v - Sᵀ k)ᵀ; y = scale Sᵀ q, for one token after the other.
/// Tokens from lengths[b] on, clamped to [0, T], are padding: they leave the state as it is and
/// their y is 0.
struct DeltaRuleAttributes {
  static constexpr const char* kLayout = "f64 scale, i32 has_state, i32 has_lengths";
  double scale;
  int32 has_state = 0;    // else the state before is 0, its view any, and is not read
  int32 has_lengths = 0;  // else all tokens are read, lengths is any view, and is not read
};
/// in   q and k [B, T, H, K], v [B, T, H, V], decay and beta [B, T, H], state [B, H, K, V],
///      lengths [B]
/// out  y [B, T, H, V], the state after the last token [B, H, K, V]
inline constexpr Op kGatedDeltaRule{"gated_delta_rule", "TTTRRRI:TR",
                                    attributes<DeltaRuleAttributes>};

}  // namespace wick
