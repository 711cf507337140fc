// Matrix products.
#pragma once
#include <optional>

#include "wick/core/tensor.h"

namespace wick {

/// a [..., M, K] times b [..., K, N] -> [..., M, N]. Leading dims broadcast. A vector counts as a
/// row (a) or a column (b), and that dim is dropped from the result. Operands must share a dtype;
/// cast first to accumulate in a wider one. f16, bf16 and f8 accumulate in f32; integers wrap; bool
/// gives i64. Error: |e| <= c u sum|a b| + 1 ulp of the output dtype, u: unit roundoff of the
/// accumulator, c = 2 + log2(K); if all terms are alike, so that their roundings do not cancel, c
/// is up to K, because libraries and cards sum sequentially. Errors: kShapeMismatch,
/// kDTypeMismatch, kDeviceMismatch.
WICK_API Tensor matmul(const Tensor& a, const Tensor& b);

/// The unary op of the same name.
enum class Activation { kNone, kRelu, kSilu, kGelu, kGeluTanh };

/// The steps from linear's sums to its rounded result.
struct EpilogueOptions {
  Activation activation = Activation::kNone;
  Tensor residual = {};             // of y's shape and dtype; empty: 0
  std::optional<DType> dtype = {};  // of y; missing: x's
};
/// y = activation(x weightᵀ + bias) + residual, of sums in f32 (f64 for f64): x [..., in], weight
/// [out, in], y [..., out].
///
/// weight      x's dtype; or another floating or a block dtype beside a floating x, used as it
///             lies. The gradient passes to x, and to a floating weight.
/// bias        [out], x's dtype; may be empty
/// activation  of a floating x
/// dtype       f32 beside an f16 or bf16 x: the sums are not rounded to x's dtype; else x's own
/// Error: as for matmul, plus 0.5 ulp for the bias, times the slope of the activation, which is at
/// most 1.13; plus the activation's own error. Where one kernel of a card computes all, it rounds
/// once, at the end; else, as on the CPU, for weights of another dtype and for the gradient of an
/// activation, every step rounds to y's dtype. Matrix units of cards multiply more than 16 rows of
/// f16 or bf16 by a block weight that is rounded to x's dtype: |e| <= 2 u sum|x weight| + 1 ulp, u:
/// unit roundoff of that dtype. The CPU, and cards with up to 8 rows, round x beside a
/// block weight unless set_round_activations(false): each of 32 neighbours by at most 1 / 65024 of
/// the largest.
/// Errors: kShapeMismatch, kDTypeMismatch, kDeviceMismatch.
WICK_API Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                       const EpilogueOptions& options = {});
/// Rows of x times the transposes of weights selected by ids: y[t, j] = x[t] weight[ids[t, j]]^T. A
/// layer of a mixture of experts, whose router has selected J experts for each of T tokens; nothing
/// waits for the ids.
///
/// x       [T, in], or [T, J, in] with a row for each id; floating
/// weight  [E, out, in]  x's dtype, another floating or a block dtype, used as it lies and decoded
///                       as by linear. The gradient passes to x, and to a floating weight.
/// ids     [T, J]        integers in [0, E)
/// Returns [T, J, out], dtype of x. Error: as for linear.
/// Errors: kShapeMismatch, kDTypeMismatch, kDeviceMismatch; kOutOfRange for an id as in
/// ops/gather.h.
/// Source: Shazeer et al. 2017, arXiv:1701.06538, eq. 1.
WICK_API Tensor expert_linear(const Tensor& x, const Tensor& weight, const Tensor& ids);

}  // namespace wick
