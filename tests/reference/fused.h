// The fused ops of a transformer and their gradients, naively. `magnitude` is what errors of one
// rounding in the accumulator's dtype are multiplied by on their way to the result.
#pragma once
#include "ops.h"

namespace wick::reference {

/// f64 for f64, else f32.
DType accumulator(DType dtype);

Result rms_norm(const Array& x, const Array& weight, Real eps);
/// The gradient of x, then that of weight, in one line.
Result rms_norm_gradient(const Array& gy, const Array& x, const Array& weight, Real eps);
/// bias: null if there is none.
Result layer_norm(const Array& x, const Array& weight, const Array* bias, Real eps);
/// The gradient of x, then those of weight and bias, in one line.
Result layer_norm_gradient(const Array& gy, const Array& x, const Array& weight, Real eps);

struct Rope {
  bool interleaved = false;   // pairs are neighbours, else D / 2 apart
  std::size_t token_dim = 1;  // of x: 1 in [B, T, H, D], 2 in [B, H, T, D]
};
/// cos and sin [P, D / 2], positions [B, T].
Result rope(const Array& x, const Array& cos, const Array& sin, const Array& positions,
            const Rope& options);

struct Attention {
  Real scale = 0;  // 0: 1 / sqrt(D)
  bool causal = true;
  const Array* mask = nullptr;        // [B, H, T, S], bool or floating, or none
  int64_t window = 0;                 // of those keys, the last ones; 0: all of them
  Real soft_cap = 0;                  // c: scores become c tanh(score / c); 0: as they are
  const Array* sinks = nullptr;       // [H]: scores without a value, or none
  const Array* first_keys = nullptr;  // [B, T]: keys before are not seen; none: all 0
  Real stored_roundings = 0;          // of the accumulator, by which elements of k and v may be off
};
/// A result of matrix products, and what else than the accumulator's roundings may have changed it.
struct ProductsResult {
  Result result;
  /// What one rounding of the second product's operand is multiplied by: matrix units want it
  /// narrow.
  std::vector<Real> between;
  /// What the rounding of the y that is kept for the gradient is multiplied by.
  std::vector<Real> kept;
};
/// q [B, H, T, D], k and v [B, G, S, D], positions [B, T].
ProductsResult sdpa(const Array& q, const Array& k, const Array& v, const Array& positions,
                    const Attention& attention);
/// The gradients of q, k and v, and of the sinks if there are any, one after another in one line.
ProductsResult sdpa_gradient(const Array& gy, const Array& q, const Array& k, const Array& v,
                             const Array& positions, const Attention& attention);

/// The gradient of logits [N, C]; upstream is that of the mean.
Result cross_entropy_gradient(const Array& logits, const Array& targets, const Array& upstream);

struct AdamW {
  Real rate, beta1, beta2, eps, weight_decay;
  int64_t step;
};
/// The new parameter, mean and square: [3, n].
Result adamw(const Array& parameter, const Array& gradient, const Array& mean, const Array& square,
             const AdamW& options);

struct Sampling {
  Real temperature = 1;
  int64_t top_k = 0;
  Real top_p = 1;
  Real min_p = 0;
};
/// The ids, and the ids that rounding may lead to instead: where a share is nearer than rounding to
/// what it is compared with, the other choice.
struct Samples {
  Result result;
  Result or_else;
};
Samples sample(const Array& logits, const Array& uniform, const Sampling& sampling);

/// Token by token: tokens, marked, positions [B], states [B, 3] and histories [B, S], one after
/// another in one array, after the drawn ids are appended.
Result append_tokens(const Array& drawn, const Array& grows, const Array& tokens,
                     const Array& positions, const Array& state, const Array& history);

}  // namespace wick::reference
