// Ops that keep a state along a sequence, token by token. `magnitude` is what errors of one rounding
// in the state's dtype are multiplied by on their way to the result.
#pragma once
#include "ops.h"

namespace wick::reference {

struct TensorAndState {
  Result y, state;
};

/// x [B, T, H, P], dt [B, T, H], a [H], b and c [B, T, G, N]; d [H], state [B, H, P, N] and
/// lengths [B], or null. y of padding is 0. dt_bias [H]: softplus(dt + dt_bias), limited, is the step
/// size; or null, for dt.
TensorAndState ssd(const Array& x, const Array& dt, const Array& a, const Array& b, const Array& c,
                   const Array* d, const Array* state, const Array* lengths,
                   const Array* dt_bias = nullptr, Real least_step = 0, Real greatest_step = 0);

struct DeltaRule {
  Real scale = 0;                                    // 0: 1 / sqrt(K)
  const Array *state = nullptr, *lengths = nullptr;  // [B, H, K, V] and [B], or null
  const Array *a_log = nullptr, *dt_bias = nullptr;  // [H]: with them, decay is
                                                     // -exp(a_log) softplus(decay + dt_bias)
  Real qk_norm_eps = 0;       // > 0: q and k are divided by sqrt(sum of squares + eps)
  bool sigmoid_beta = false;  // beta is sigmoid(beta)
  bool tiled_heads = false;   // head h reads head h mod G of q and k, else h / (H / G)
};
/// q and k [B, T, G, K], v [B, T, H, V], decay and beta [B, T, H]. y of padding is 0.
TensorAndState gated_delta_rule(const Array& q, const Array& k, const Array& v, const Array& decay,
                                const Array& beta, const DeltaRule& options);

}  // namespace wick::reference
