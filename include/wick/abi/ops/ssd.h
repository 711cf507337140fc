// The state-space layer of Mamba 2. Inner strides of x, b, c and constants are 1; states are
// contiguous.
#pragma once
#include "wick/abi/op.h"

namespace wick {

/// h = exp(dt a) h + dt x bᵀ, y = h c + d x, for one token after the other. Head h reads group
/// h / (H / G) of b and c. Tokens from lengths[b] on, clamped to [0, T], are padding: they leave
/// the state as it is and their y is 0. With dt_bias, softplus(dt + dt_bias), limited to
/// [least_step, greatest_step], takes the place of dt.
struct SsdAttributes {
  static constexpr const char* kLayout =
      "f64 least_step, f64 greatest_step, i32 has_d, i32 has_dt_bias, i32 has_state, i32 "
      "has_lengths";
  double least_step = 0, greatest_step = 0;
  int32 has_d = 0, has_dt_bias = 0;
  int32 has_state = 0;    // else the state before is 0, its view any, and is not read
  int32 has_lengths = 0;  // else all tokens are read, lengths is any view, and is not read
};
/// in   x [B, T, H, P], dt [B, T, H] in x's dtype or the state's, b and c [B, T, G, N], constants
///      [1 to 3, H], state [B, H, P, N], lengths [B]; H is a multiple of G. Rows of constants: a,
///      then d and dt_bias, if the call has them.
/// out  y [B, T, H, P], the state after the last token [B, H, P, N]
inline constexpr Op kSsd{"ssd", "T*TTRRI:TR", attributes<SsdAttributes>};

}  // namespace wick
