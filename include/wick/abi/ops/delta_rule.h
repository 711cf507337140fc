// The gated delta rule. Inner strides of q, k, v and constants are 1; states are contiguous.
#pragma once
#include "wick/abi/op.h"

namespace wick {

/// S = exp(decay) S; S = S + beta k (v - Sᵀ k)ᵀ; y = scale Sᵀ q, for one token after the other.
/// Tokens from lengths[b] on, clamped to [0, T], are padding: they leave the state as it is and
/// their y is 0. Head h reads head h / (H / G) of q and k, or h mod G if they are tiled.
struct DeltaRuleAttributes {
  static constexpr const char* kLayout =
      "f64 scale, f64 qk_norm_eps, i32 has_gate, i32 has_sigmoid, i32 is_tiled, i32 has_state, "
      "i32 has_lengths, i32 reserved";
  double scale = 1;
  double qk_norm_eps = 0;  // > 0: q and k are divided by sqrt(sum of squares + eps)
  int32 has_gate = 0;      // -exp(a_log) softplus(decay + dt_bias) takes the place of decay
  int32 has_sigmoid = 0;   // sigmoid(beta) takes the place of beta
  int32 is_tiled = 0;
  int32 has_state = 0;    // else the state before is 0, its view any, and is not read
  int32 has_lengths = 0;  // else all tokens are read, lengths is any view, and is not read
  int32 reserved = 0;     // no padding: two equal calls are equal bytes
};
/// in   q and k [B, T, G, K], v [B, T, H, V], decay and beta [B, T, H], both in q's dtype or both
///      in the state's, constants [2, H], state [B, H, K, V], lengths [B]; H is a multiple of G.
///      Rows of constants: a_log and dt_bias; without a gate any view, and not read.
/// out  y [B, T, H, V], the state after the last token [B, H, K, V]
inline constexpr Op kGatedDeltaRule{"gated_delta_rule", "TTT**RRI:TR",
                                    attributes<DeltaRuleAttributes>};

}  // namespace wick
