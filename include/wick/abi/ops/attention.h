// Scaled-dot-product attention. Inner strides are 1.
#pragma once
#include "wick/abi/op.h"
#include "wick/abi/ops/quantize.h"

namespace wick {

/// y = softmax(cap(scale q k^T)) v, over the keys s with s <= position of the query where causal,
/// else all, and s >= its first key. Query head h reads key head h / (H / G). A sink is a score
/// without a value: sinks[h] takes part in the softmax of each query of head h. A query that sees
/// no key gives 0, and the sink or -inf for l.
struct SdpaAttributes {
  static constexpr const char* kLayout =
      "f64 scale, f64 soft_cap, i64 window, i32 causal, i32 has_first_keys, i32 has_sinks, i32 "
      "block";
  double scale;
  double soft_cap;  // c > 0: cap(x) = c tanh(x / c); 0: x
  int64 window;     // w > 0: of those keys, only s > position - w, where causal; 0: all of them
  int32 causal;
  int32 has_first_keys = 0;  // else first_keys is any view, and is not read
  int32 has_sinks = 0;       // else sinks is any view, and is not read
  int32 block = 0;           // n > 0: keys lie in blocks of n, a power of two
};
/// in   q [B, H, T, D], k [B, G, S, D], v [B, G, S, Dv], positions and first_keys [B, T], sinks
///      [H]; H is a multiple of G
/// out  y [B, H, T, Dv] (any outer strides), l [B, H, T]: log of the sum of exp, the sink's
///      included
/// With blocks, k and v are a pool [1, G, P, D] that all sequences share, first_keys is a table [B,
/// N] of blocks, and S is N block: key s of sequence b is row table[b, s / block] block + s %
/// block. Of blocks that no query sees, ids outside of the pool do no harm; others read block 0.
inline constexpr Op kSdpa{"sdpa", "TTTIIR:TR", attributes<SdpaAttributes>};
/// The same with a seventh input, a bias [B, H, T, S] of any strides, which is added to the capped
/// scores. A query whose biases are all -inf sees no key.
inline constexpr Op kSdpaMasked{"sdpa_masked", "TTTIIRR:TR", attributes<SdpaAttributes>};
/// kSdpa with keys and values of another dtype than q: f16, f8, or i8, whose element d counts
/// scales[d / kScaleGroup] each. Kernels may round the product to T.
/// in   as of kSdpa, then the scales of k [B, G, S, D / kScaleGroup] and of v; any views, which are
///      not read, unless k and v are i8
inline constexpr Op kSdpaMixed{"sdpa_mixed", "T**IIRHH:TR", attributes<SdpaAttributes>};
/// in   gy as y, then q, k, v, positions, y, l, first_keys as of kSdpa; l holds all that these
///      gradients need of the sinks
/// out  gq as q, gk as k, gv as v, all written whole
inline constexpr Op kSdpaGradient{"sdpa_gradient", "TTTTITRI:TTT", attributes<SdpaAttributes>};
/// The same of kSdpaMasked, with its bias in place of first_keys, which such a call may not have.
/// Weights are exp(score + bias - l), so they are off by as much as l's rounding to its dtype.
inline constexpr Op kSdpaMaskedGradient{"sdpa_masked_gradient", "TTTTITRR:TTT",
                                        attributes<SdpaAttributes>};

}  // namespace wick
