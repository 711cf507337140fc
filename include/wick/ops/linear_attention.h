// Attention without a softmax, in time linear in the number of tokens.
#pragma once
#include "wick/ops/recurrence.h"

namespace wick {

/// phi, the features of queries and keys of K elements.
enum class FeatureMap {
  kNone,    // phi(x) = x
  kElu,     // elu(x) + 1, which is above 0
  kTaylor,  // (1, z, z (x) z / sqrt(2)) with z = x K^(-1/4): phi(q) · phi(k) = 1 + s + s² / 2 with
            // s = q · k / sqrt(K); F = 1 + K + K² features
};

struct LinearAttentionOptions {
  FeatureMap map = FeatureMap::kElu;
  bool normalize = true;  // the weights of a query sum to 1
  double eps = 1e-6;      // >= 0, added to the sum that normalizes
  Tensor state = {};      // [B, G, F, V + 1], f32 (f64 for f64): of the tokens before; empty: zeros
  Tensor lengths = {};  // [B], integers: the tokens of each row, the rest is padding; empty: all T
  int64_t chunk = 64;   // tokens whose scores are computed at once, where no kernel runs
};

/// Causal linear attention: with S[t] the sum of phi(k[s]) v[s]ᵀ and z[t] the sum of phi(k[s]) over
/// s <= t, y[t] = S[t]ᵀ phi(q[t]), divided by z[t] · phi(q[t]) + eps where normalize. Query head h
/// reads head h / (H / G) of k and v.
///
/// q  [B, T, H, K]  floating; any outer strides, without a copy if the last is 1
/// k  [B, T, G, K]  same dtype; H is a multiple of G
/// v  [B, T, G, V]  same dtype; K, from 1 on, and V are at most 65536
/// Returns y [B, T, H, V] in q's dtype and the state [B, G, F, V + 1], S beside z, in f32 (f64
/// for f64), in which all is computed; F = K but for kTaylor. Padding does not enter the state; its
/// y is 0. A length outside of [0, T] counts as the nearer end.
/// Error: |e| <= (2 + 2 r + log2(n) / 2) u m + 1 ulp of the output dtype with r = 0, 3 or 7
/// roundings of a feature by the map, n = (T + 1) F terms, m the sum of their magnitudes (where
/// normalize also |y| times the divisor's, both over the divisor), u: unit roundoff of f32 (f64
/// for f64); if all terms are alike, so that their roundings do not cancel, up to n in place of
/// log2(n) / 2, as of matmul.
/// Errors: kShapeMismatch, kDTypeMismatch, kDeviceMismatch; kInvalidArgument if eps < 0 or chunk <
/// 1.
/// Source: Katharopoulos et al. 2020, arXiv:2006.16236, eq. 16 to 20; Arora et al. 2024,
/// arXiv:2402.18668, 4.1 (Taylor).
WICK_API TensorAndState linear_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                         const LinearAttentionOptions& options = {});

}  // namespace wick
