// Recurrences along the tokens of a sequence. Inner strides are 1.
#pragma once
#include "wick/abi/op.h"

namespace wick {

struct CausalConv1dAttributes {
  static constexpr const char* kLayout = "i32 has_bias, i32 has_state, i32 has_lengths, i32 silu";
  int32 has_bias;     // else bias is any view, and is not read
  int32 has_state;    // else state is any view, and is not read: the inputs before are 0
  int32 has_lengths;  // else lengths is any view, and is not read: every length is T
  int32 silu;
};
/// in   x [B, T, E], weight [E, K], bias [E], state [B, K - 1, E], lengths [B]
/// out  y [B, T, E], y[t] = f(bias + sum over k of weight[k] z[t + k]) with z the state, then x,
///      which counts as 0 from the row's length on; the new state [B, K - 1, E]: z from the length
///      on
/// All but x are contiguous. A length outside of [0, T] counts as the nearer end.
inline constexpr Op kCausalConv1d{"causal_conv1d", "TTTTI:TT", attributes<CausalConv1dAttributes>};

struct LinearScanAttributes {
  static constexpr const char* kLayout = "i32 has_state, i32 has_lengths";
  int32 has_state;  // as of CausalConv1dAttributes
  int32 has_lengths;
};
/// in   decay and input [B, T, E], state [B, E], lengths [B]
/// out  y [B, T, E], y[t] = decay[t] y[t - 1] + input[t] up to the row's length, and then as it is;
///      the new state [B, E], the last y before it is rounded
/// All but decay and input are contiguous. Lengths as of kCausalConv1d.
inline constexpr Op kLinearScan{"linear_scan", "TTRI:TR", attributes<LinearScanAttributes>};

}  // namespace wick
