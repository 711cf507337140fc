// Scaled-dot-product attention. Inner strides are 1.
#pragma once
#include "wick/abi/op.h"

namespace wick {

/// y = softmax(cap(scale q k^T)) v, over the keys s with s <= position of the query where causal,
/// else all. Query head h reads key head h / (H / G). A query that sees no key gives 0 and l = -inf.
struct SdpaAttributes {
  static constexpr const char* kLayout =
      "f64 scale, f64 soft_cap, i64 window, i32 causal, i32 reserved";
  double scale;
  double soft_cap;  // c > 0: cap(x) = c tanh(x / c); 0: x
  int64 window;     // w > 0: of those keys, only s > position - w, where causal; 0: all of them
  int32 causal;
  int32 reserved = 0;  // no padding: two equal calls are equal bytes
};
/// in   q [B, H, T, D], k and v [B, G, S, D], positions [B, T]; H is a multiple of G
/// out  y [B, H, T, D] (any outer strides), l [B, H, T]: log of the sum of exp
inline constexpr Op kSdpa{"sdpa", "TTTI:TR", attributes<SdpaAttributes>};
/// The same with a fifth input, a bias [B, H, T, S] of any strides, which is added to the capped scores.
/// A query whose biases are all -inf sees no key.
inline constexpr Op kSdpaMasked{"sdpa_masked", "TTTIR:TR", attributes<SdpaAttributes>};
/// in   gy [B, H, T, D], then q, k, v, positions, y, l as of kSdpa
/// out  gq as q, gk and gv as k, all written whole
inline constexpr Op kSdpaGradient{"sdpa_gradient", "TTTTITR:TTT", attributes<SdpaAttributes>};

}  // namespace wick
