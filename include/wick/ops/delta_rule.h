// Linear attention by the delta rule.
#pragma once
#include "wick/ops/tensor_and_state.h"

namespace wick {

struct DeltaRuleOptions {
  double scale = 0;     // of y; 0: 1 / sqrt(K)
  Tensor state = {};    // [B, H, K, V], floating: the state before the first token; empty: zeros
  Tensor lengths = {};  // [B], integers: only the first lengths[b] tokens enter the state and the
                        // rest is padding, whose y is 0; clamped to [0, T]; empty: all T
  Tensor a_log = {};    // [H], floating; needs dt_bias: the logarithm of the factor on the state is
                        // -exp(a_log) softplus(decay + dt_bias); empty: decay is
  Tensor dt_bias = {};  // [H], floating
  double qk_norm_eps = 0;         // > 0: q and k are divided by sqrt(sum of squares + qk_norm_eps)
  bool sigmoid_beta = false;      // the share is sigmoid(beta), else beta
  bool tiled_heads = false;       // head h reads head h mod G of q and k, else h / (H / G)
  int64_t chunk = 64;             // tokens that the composite multiplies at once
  bool overwrites_state = false;  // as in CausalConv1dOptions (wick/ops/recurrence.h)
};

/// The gated delta rule: S = exp(decay) S, then S = S + beta k (v - Sᵀ k)ᵀ, then y = scale · Sᵀ q,
/// for one token after the other.
///
/// q, k   [B, T, G, K]  floating, of one dtype; the caller normalizes them, or options.qk_norm_eps
/// v      [B, T, H, V]  same dtype; H is a multiple of G
/// decay  [B, T, H]     floating, <= 0: the logarithm of the factor on the state, unless
///                      options.a_log makes it of decay
/// beta   [B, T, H]     floating: the share of k's value that is replaced by v
/// Returns y [B, T, H, V] in q's dtype and the state [B, H, K, V] in f32 (f64 for f64), in which
/// all is computed. To continue a sequence, pass the state of its first part with the second. The
/// kernels take one token after the other, so the parts give the bits of the whole; the composite
/// works by matmuls in chunks, O(T · chunk), and gives the gradients, of the state too.
/// Padding may be NaN or infinite. The kernels read decay and beta without a copy if both have q's
/// dtype, or both the state's; and a_log and dt_bias if they are rows of one tensor in the state's
/// dtype, in this order.
/// Errors: kShapeMismatch, kDTypeMismatch, kDeviceMismatch; kInvalidArgument if chunk < 1, if
/// qk_norm_eps < 0, or if one of a_log and dt_bias is missing.
/// Source: Yang, Kautz & Hatamizadeh 2024, arXiv:2412.06464, eq. 10 and 3.3.
WICK_API TensorAndState gated_delta_rule(const Tensor& q, const Tensor& k, const Tensor& v,
                                         const Tensor& decay, const Tensor& beta,
                                         const DeltaRuleOptions& options = {});

}  // namespace wick
