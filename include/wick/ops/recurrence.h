// Recurrences along the tokens of a sequence, whose state a later call can continue from.
#pragma once
#include "wick/ops/tensor_and_state.h"

namespace wick {

struct CausalConv1dOptions {
  Tensor bias = {};     // [E], x's dtype; empty: no bias
  Tensor state = {};    // [B, K - 1, E], x's dtype: the inputs before x; empty: zeros
  Tensor lengths = {};  // [B], integers: the tokens of each row, the rest is padding; empty: all T
  bool silu = false;    // y = silu(sum)
  /// Writes the new state into the memory of `state` if a kernel of the device serves the call, for
  /// calls of one token a row: every holder of the tensor sees it. Not on the tape.
  bool overwrites_state = false;
};

/// Convolution of each channel with its own taps, of which the last meets the token itself:
/// y[b, t, e] = bias[e] + sum over k of weight[e, k] x[b, t + k - (K - 1), e].
///
/// x       [B, T, E]  floating; any outer strides, without a copy if the last is 1
/// weight  [E, K]     same dtype as x; K >= 1
/// Returns y [B, T, E] and the state [B, K - 1, E], the last K - 1 inputs of each row, both in x's
/// dtype; sums in f32 (f64 for f64). Padding does not enter the state; its y is finite where the
/// other operands are. A length outside of [0, T] counts as the nearer end.
/// Error: |e| <= 3 u (|bias| + sum |weight x|) + 1 ulp of the output dtype, u: unit roundoff of f32
/// (f64 for f64).
/// Errors: kShapeMismatch, kDTypeMismatch, kDeviceMismatch.
/// Source: Gu & Dao 2023, arXiv:2312.00752, figure 3.
WICK_API TensorAndState causal_conv1d(const Tensor& x, const Tensor& weight,
                                      const CausalConv1dOptions& options = {});

struct LinearScanOptions {
  Tensor state = {};    // [B, E], f32 (f64 for f64): y before the first token; empty: zeros
  Tensor lengths = {};  // as in CausalConv1dOptions
  bool overwrites_state = false;  // as in CausalConv1dOptions
};

/// First-order linear recurrence of each channel: y[t] = decay[t] y[t - 1] + input[t].
///
/// decay  [B, T, E]  floating; any outer strides, without a copy if the last is 1
/// input  [B, T, E]  same dtype as decay
/// Returns y [B, T, E] in decay's dtype and the state [B, E], y of each row's last token in f32
/// (f64 for f64), in which all is computed. Padding leaves the state as it is.
/// Error: |e| <= 2 u m[t] + 1 ulp of the output dtype with m[t] = |decay[t]| m[t - 1] + s[t] and
/// s[t] = |decay[t]| s[t - 1] + |input[t]|, u: unit roundoff of f32 (f64 for f64).
/// Errors: kShapeMismatch, kDTypeMismatch, kDeviceMismatch.
/// Source: De et al. 2024, arXiv:2402.19427, 2.4; Gu & Dao 2023, arXiv:2312.00752, eq. 2.
WICK_API TensorAndState linear_scan(const Tensor& decay, const Tensor& input,
                                    const LinearScanOptions& options = {});

}  // namespace wick
