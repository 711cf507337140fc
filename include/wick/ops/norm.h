// Normalisations.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

/// Root-mean-square normalisation over the last dimension: y = x / sqrt(mean(x²) + eps) · weight.
///
/// x       [..., D]   floating; the mean is taken in f32 (f64 for f64)
/// weight  [D]        same dtype as x
/// eps     >= 0, added to the mean of squares
/// Returns [..., D], dtype of x.
/// Error: |e| <= 9 u |y| + 1 ulp of the output dtype, u: unit roundoff of f32 (f64 for f64).
/// Errors: kShapeMismatch if weight is not [D]; kDTypeMismatch; kInvalidArgument if eps < 0.
/// Source: Zhang & Sennrich 2019, arXiv:1910.07467, eq. 4.
WICK_API Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps = 1e-5);

struct SumAndNorm {
  Tensor sum, y;
};
/// The step from one part of a layer to the next where both its output and the next part's input
/// are normalised: sum = residual + rms_norm(x, weight, eps), y = rms_norm(sum, next_weight, eps).
///
/// x, residual  [..., D]   of one floating dtype
/// weight       [D]        same dtype
/// next_weight  [D]        same dtype; may be empty, and so is y then
/// Returns sum and y [..., D]. Cards compute both in one launch, which rounds the sum once; else
/// each step rounds. Error: as of rms_norm, of the norm and of the sum. Errors: as rms_norm.
WICK_API SumAndNorm rms_norm_residual(const Tensor& x, const Tensor& weight, const Tensor& residual,
                                      const Tensor& next_weight = {}, double eps = 1e-5);

/// Layer normalisation over the last dimension: y = (x - m) / sqrt(mean((x - m)²) + eps) · weight +
/// bias, m = mean(x).
///
/// x       [..., D]   floating; the means are taken in f32 (f64 for f64)
/// weight  [D]        same dtype as x
/// bias    [D]        same dtype as x; empty: no bias
/// eps     >= 0, added to the variance
/// Returns [..., D], dtype of x.
/// Error: |e| <= 10 u ((|x - m| + mean(|x|)) |weight| / sqrt(...) + |y|) + 1 ulp of the output
/// dtype, u: unit roundoff of f32 (f64 for f64).
/// Errors: kShapeMismatch if weight or bias is not [D]; kDTypeMismatch; kInvalidArgument if eps <
/// 0.
/// Source: Ba, Kiros & Hinton 2016, arXiv:1607.06450, eq. 3.
WICK_API Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                           double eps = 1e-5);

}  // namespace wick
