// Matrix products.
#pragma once
#include <optional>
#include <vector>

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
/// once, at the end; else, as on the CPU with weights of another dtype and for the gradient of an
/// activation, every step rounds to y's dtype. Cards multiply two or more rows of f16 or bf16 by a
/// block weight that is rounded to x's dtype: |e| <= 2 u sum|x weight| + 1 ulp, u: unit roundoff of
/// that dtype. The CPU, and cards with up to 8 rows of another dtype or one row, round x: each of
/// 32 neighbours by at most 1 / 65024 of the largest. With set_round_activations(false) neither is
/// rounded, but for the weight beside more than 16 rows of f16 or bf16.
/// Errors: kShapeMismatch, kDTypeMismatch, kDeviceMismatch.
WICK_API Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                       const EpilogueOptions& options = {});
/// linear(x, weights[i], biases[i]) for every i. Cards multiply one row of x by up to three weights
/// in one launch, if they are of one dtype, or of a pair that files mix, as q4_k and q6_k; up to 32
/// rows of f16 or bf16, if they are of one dtype of blocks and the card has matrix units.
///
/// weights  [out_i, in] each, as of linear
/// biases   as many [out_i], each of which may be empty; or an empty list
/// Returns [..., out_i] each. Errors: as for linear; kInvalidArgument for another number of biases.
WICK_API std::vector<Tensor> linear_parts(const Tensor& x, const std::vector<Tensor>& weights,
                                          const std::vector<Tensor>& biases = {});
/// activation(x gateᵀ) (x upᵀ), the inner values of a gated MLP: x [..., in], gate and up [out, in]
/// as weights of linear, result [..., out]. Where one kernel computes all, as on cards for one row,
/// it rounds once, at the end; else every step rounds. Error and errors: as for linear and mul.
/// Source: Shazeer 2020, arXiv:2002.05202.
WICK_API Tensor gated_linear(const Tensor& x, const Tensor& gate, const Tensor& up,
                             Activation activation = Activation::kSilu);
/// linear_parts(rms_norm(x, scale, eps), weights, biases). Cards do both in one launch for one row
/// of x and weights of blocks, and do not round the normalised x to its dtype then.
///
/// scale  [in], x's dtype, the weight of rms_norm
/// Error and errors: as for rms_norm and linear_parts.
WICK_API std::vector<Tensor> rms_norm_linear_parts(const Tensor& x, const Tensor& scale,
                                                   const std::vector<Tensor>& weights,
                                                   const std::vector<Tensor>& biases = {},
                                                   double eps = 1e-5);
/// gated_linear(rms_norm(x, scale, eps), gate, up, activation), as rms_norm_linear_parts does it.
WICK_API Tensor rms_norm_gated_linear(const Tensor& x, const Tensor& scale, const Tensor& gate,
                                      const Tensor& up, Activation activation = Activation::kSilu,
                                      double eps = 1e-5);
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
/// activation(expert_linear(x, gate, ids)) expert_linear(x, up, ids), the inner values of gated
/// MLPs that ids select: gate and up [E, out, in], of one dtype, result [T, J, out]. Where one
/// kernel computes all, as on cards for up to 4 rows for each expert, it rounds once, at the end;
/// else every step rounds. Error and errors: as for expert_linear and mul.
WICK_API Tensor gated_expert_linear(const Tensor& x, const Tensor& gate, const Tensor& up,
                                    const Tensor& ids, Activation activation = Activation::kSilu);
/// The sum of the selected experts' outputs: y[t] = residual[t] + sum over j of factors[t, j] x[t,
/// j] weight[ids[t, j]]^T.
///
/// x         [T, J, in]    floating
/// weight    [E, out, in]  as of expert_linear
/// ids       [T, J]        integers in [0, E)
/// factors   [T, J]        floating; gradients pass to them too
/// residual  [T, out]      x's dtype; may be empty
/// Returns [T, out], dtype of x. Where one kernel computes all, as on cards for up to 4 rows for
/// each expert, it rounds once, at the end; else factors and every step round to x's dtype. Error
/// and errors: as for expert_linear, whose sum here is over j too.
WICK_API Tensor expert_linear_sum(const Tensor& x, const Tensor& weight, const Tensor& ids,
                                  const Tensor& factors, const Tensor& residual = {});

}  // namespace wick
