// Recurrences along the tokens of a sequence, token after token. Each row b counts as the first
// lengths[b] of its tokens; an operand that is null is absent.
#pragma once
#include "ops.h"

namespace wick::reference {

/// An output, and the state after the last token.
struct ResultAndState {
  Result y, state;
};

/// x [B, T, E], weight [E, K], bias [E], state [B, K - 1, E]. Padding counts as zeros.
ResultAndState causal_conv1d(const Array& x, const Array& weight, const Array* bias,
                             const Array* state, const Array* lengths, bool silu);

/// decay and input [B, T, E], state [B, E]. Padding gives the state.
ResultAndState linear_scan(const Array& decay, const Array& input, const Array* state,
                           const Array* lengths);

}  // namespace wick::reference
