// The state-space layer of Mamba 2. Inner strides of x, b and c are 1; a, d and states are
// contiguous.
#pragma once
#include "wick/abi/op.h"

namespace wick {

/// h = exp(dt a) h + dt x bᵀ, y = h c + d x, for one token after the other. Head h reads group
/// h / (H / G) of b and c. Tokens from lengths[b] on, clamped to [0, T], are padding: they leave
/// the state as it is and their y is 0.
struct SsdAttributes {
  static constexpr const char* kLayout = "i32 has_d, i32 has_state, i32 has_lengths, i32 reserved";
  int32 has_d = 0;        // else d is any view, and is not read
  int32 has_state = 0;    // else the state before is 0, its view any, and is not read
  int32 has_lengths = 0;  // else all tokens are read, lengths is any view, and is not read
  int32 reserved = 0;     // no padding: two equal calls are equal bytes
};
/// in   x [B, T, H, P], dt [B, T, H], a [H], b and c [B, T, G, N], d [H], state [B, H, P, N],
///      lengths [B]; H is a multiple of G
/// out  y [B, T, H, P], the state after the last token [B, H, P, N]
inline constexpr Op kSsd{"ssd", "TRRTTRRI:TR", attributes<SsdAttributes>};

}  // namespace wick
