// Attention without a softmax, whose state has a fixed size. Inner strides are 1.
#pragma once
#include "wick/abi/op.h"

namespace wick {

struct LinearAttentionAttributes {
  static constexpr const char* kLayout =
      "f64 eps, i32 map, i32 normalize, i32 has_state, i32 has_lengths";
  double eps;
  int32 map;          // phi: 0: x; 1: elu(x) + 1; 2: (1, z, z (x) z / sqrt(2)), z = x K^(-1/4)
  int32 normalize;    // y is divided by phi(q) z + eps
  int32 has_state;    // else state is any view, and is not read: it is 0
  int32 has_lengths;  // else lengths is any view, and is not read: every length is T
};
/// The features of a key of so many elements.
constexpr int64 linear_attention_features(int32 map, int64 elements) {
  return map == 2 ? 1 + elements + elements * elements : elements;
}
/// in   q [B, T, H, K], k [B, T, G, K], v [B, T, G, V], state [B, G, F, V + 1], lengths [B]; H is a
///      multiple of G, F the features of K elements
/// out  y [B, T, H, V], 0 from the row's length on; the new state
/// Query head h reads group h / (H / G). The state is the sum of phi(k) [v | 1] over the tokens up
/// to the query's own; its last column is z. State, lengths and y are contiguous. A length outside
/// of [0, T] counts as the nearer end.
inline constexpr Op kLinearAttention{"linear_attention", "TTTRI:TR",
                                     attributes<LinearAttentionAttributes>};

}  // namespace wick
