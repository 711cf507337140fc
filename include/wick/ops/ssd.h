// The state-space layer of Mamba 2.
#pragma once
#include <array>
#include <limits>

#include "wick/ops/tensor_and_state.h"

namespace wick {

struct SsdOptions {
  Tensor d = {};        // [H], floating: d · x is added to y; empty: nothing is
  Tensor state = {};    // [B, H, P, N], floating: the state before the first token; empty: zeros
  Tensor lengths = {};  // [B], integers: only the first lengths[b] tokens enter the state and the
                        // rest is padding, whose y is 0; clamped to [0, T]; empty: all T
  Tensor dt_bias = {};  // [H], floating: softplus(dt + dt_bias) within step_limit is the step size;
                        // empty: dt is
  /// The least and the greatest step size, of calls with dt_bias.
  std::array<double, 2> step_limit = {0, std::numeric_limits<double>::infinity()};
  int64_t chunk = 64;             // tokens that the composite multiplies at once
  bool overwrites_state = false;  // as in CausalConv1dOptions (wick/ops/recurrence.h)
};

/// Structured state-space duality: h = exp(dt · a) h + dt · x bᵀ and y = h c + d x, for one token
/// after the other. Head h reads group h / (H / G) of b and c.
///
/// x   [B, T, H, P]  floating
/// dt  [B, T, H]     floating; the step size, unless options.dt_bias makes it of dt
/// a   [H]           floating, negative
/// b   [B, T, G, N]  dtype of x; a token adds dt · x bᵀ to the state
/// c   [B, T, G, N]  dtype of x; a token reads the state's product with c
/// Returns y [B, T, H, P] in x's dtype and the state [B, H, P, N] in f32 (f64 for f64), in which
/// all is computed. To continue a sequence, pass the state of its first part with the second. The
/// kernels take one token after the other, so the parts give the bits of the whole; the composite
/// works by matmuls in chunks, O(T · chunk), and gives the gradients, of the state too.
/// Padding may be NaN or infinite. The kernels read dt in x's dtype or the state's without a copy;
/// and a, d and dt_bias if they are rows of one tensor in the state's dtype, in this order.
/// Errors: kShapeMismatch, kDTypeMismatch, kDeviceMismatch; kInvalidArgument if chunk < 1 or the
/// limits are not in order.
/// Source: Dao & Gu 2024, arXiv:2405.21060, 6.
WICK_API TensorAndState ssd(const Tensor& x, const Tensor& dt, const Tensor& a, const Tensor& b,
                            const Tensor& c, const SsdOptions& options = {});

}  // namespace wick
