// A product with an epilogue: the steps from its sums to the rounded result. One kernel where a
// device has it.
#pragma once
#include "wick/abi/op.h"

namespace wick {

/// f in linear_epilogue.
enum class EpilogueActivation : int32 { kNone, kRelu, kSilu, kGelu, kGeluTanh };

struct EpilogueAttributes {
  static constexpr const char* kLayout =
      "i32 activation, i32 has_bias, i32 has_residual, i32 reserved";
  EpilogueActivation activation;
  int32 has_bias;      // else bias is any view, and is not read
  int32 has_residual;  // else residual is any view, and is not read
  int32 reserved = 0;  // no padding: two equal calls are equal bytes
};

/// in x [M, K], weight [N, K], bias [N], all with inner strides of 1, residual [M, N]; out y [M,
/// N]; both contiguous and of T or of the dtype that T accumulates in:
/// y[m, n] = f(bias[n] + sum over k of x[m, k] weight[n, k]) + residual[m, n].
inline constexpr Op kLinearEpilogue{"linear_epilogue", "TTT*:*", attributes<EpilogueAttributes>};

/// The same with a weight as kLinear's, of another dtype than x. The residual and y are of x's.
inline constexpr Op kLinearMixedEpilogue{"linear_mixed_epilogue", "T*TT:T",
                                         attributes<EpilogueAttributes>};

struct PartsAttributes {
  static constexpr const char* kLayout = "i32 parts, i32 has_bias";
  int32 parts;     // 2 or 3; weights, biases and results beyond them are any views, and not used
  int32 has_bias;  // else the biases are any views, and are not read
};

/// in x [M, K], weights w_i [N_i, K] of x's dtype or another, all with inner strides of 1, biases
/// b_i [N_i], contiguous; out y_i [M, N_i], contiguous: y_i[m, n] = b_i[n] + sum over k of x[m, k]
/// w_i[n, k].
inline constexpr Op kLinearParts{"linear_parts", "T***TTT:TTT", attributes<PartsAttributes>};

struct MixedPartsAttributes {
  static constexpr const char* kLayout = "i32 parts, i32 has_bias, i32[3] dtypes, i32 reserved";
  int32 parts, has_bias;  // as in PartsAttributes
  int32 dtypes[3];        // DTypes of blocks
  int32 reserved = 0;
};

/// linear_parts with weights of blocks of several dtypes, given as the bytes of their rows.
inline constexpr Op kLinearMixedParts{"linear_mixed_parts", "T***TTT:TTT",
                                      attributes<MixedPartsAttributes>};

struct GatedAttributes {
  static constexpr const char* kLayout = "i32 activation, i32 reserved";
  EpilogueActivation activation;
  int32 reserved = 0;
};

/// in x [M, K], gate and up [N, K] of x's dtype or another, all with inner strides of 1; out y [M,
/// N], contiguous: y[m, n] = f(sum over k of x[m, k] gate[n, k]) times the same of up.
inline constexpr Op kGatedLinear{"gated_linear", "T**:T", attributes<GatedAttributes>};

struct NormPartsAttributes {
  static constexpr const char* kLayout =
      "f64 eps, i32 parts, i32 has_bias, i32[3] dtypes, i32 reserved";
  double eps;
  int32 parts, has_bias;  // as in PartsAttributes
  int32 dtypes[3];        // of the weights
  int32 reserved = 0;
};

/// linear_parts of rms_norm(x, scale) in place of x; scale [K], contiguous, is the last input.
inline constexpr Op kRmsNormLinearParts{"rms_norm_linear_parts", "T***TTTT:TTT",
                                        attributes<NormPartsAttributes>};
/// linear_mixed_parts of that.
inline constexpr Op kRmsNormLinearMixedParts{"rms_norm_linear_mixed_parts", "T***TTTT:TTT",
                                             attributes<NormPartsAttributes>};

struct NormGatedAttributes {
  static constexpr const char* kLayout = "f64 eps, i32 activation, i32 reserved";
  double eps;
  EpilogueActivation activation;
  int32 reserved = 0;
};

/// gated_linear of rms_norm(x, scale) in place of x; scale [K], contiguous, is the last input.
inline constexpr Op kRmsNormGatedLinear{"rms_norm_gated_linear", "T**T:T",
                                        attributes<NormGatedAttributes>};

/// in x [T, J, K], any outer strides, gate and up [E, N, K] of x's dtype or another, all with inner
/// strides of 1, ids [T, J]; out y [T, J, N], both contiguous: y[t, j, n] = f(sum over k of x[t, j,
/// k] gate[ids[t, j], n, k]) times the same of up.
inline constexpr Op kGatedExpertLinear{"gated_expert_linear", "T**I:T",
                                       attributes<GatedAttributes>};

struct ExpertSumAttributes {
  static constexpr const char* kLayout = "i32 has_residual, i32 reserved";
  int32 has_residual;  // else residual is any view, and is not read
  int32 reserved = 0;
};

/// in x [T, J, K], weight [E, N, K] of x's dtype or another, inner strides of 1, ids and factors
/// [T, J], residual [T, N]; out y [T, N]; all but x and weight contiguous: y[t, n] = residual[t, n]
/// + sum over j of factors[t, j] times sum over k of x[t, j, k] weight[ids[t, j], n, k].
inline constexpr Op kExpertLinearSum{"expert_linear_sum", "T*IRT:T",
                                     attributes<ExpertSumAttributes>};

}  // namespace wick
