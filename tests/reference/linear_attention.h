// Linear attention, token after token.
#pragma once
#include "recurrence.h"

namespace wick::reference {

struct LinearAttention {
  int map = 0;  // phi: 0: x; 1: elu(x) + 1; 2: (1, z, z (x) z / sqrt(2)), z = x K^(-1/4)
  bool normalize = false;
  Real eps = 0;
  const Array* state = nullptr;    // [B, G, F, V + 1]; null: zeros
  const Array* lengths = nullptr;  // [B]; null: all tokens
};
/// q [B, T, H, K], k [B, T, G, K], v [B, T, G, V]. Padding gives 0.
ResultAndState linear_attention(const Array& q, const Array& k, const Array& v,
                                const LinearAttention& options);

}  // namespace wick::reference
