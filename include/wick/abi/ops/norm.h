// Normalizations over the last dim. Inner strides are 1.
#pragma once
#include "wick/abi/op.h"

namespace wick {

struct RmsNormAttributes {
  static constexpr const char* kLayout = "f64 eps";
  double eps;
};
/// in x [N, D], weight [D]; out y [N, D], r [N] = 1 / sqrt(mean(x^2) + eps).
inline constexpr Op kRmsNorm{"rms_norm", "TT:TR", attributes<RmsNormAttributes>};
/// in gy [N, D], x [N, D], weight [D], r [N]; out gx [N, D].
inline constexpr Op kRmsNormGradient{"rms_norm_gradient", "TTTR:T"};

struct RmsNormResidualAttributes {
  static constexpr const char* kLayout = "f64 eps, i32 has_next, i32 reserved";
  double eps;
  int32 has_next;  // else next_weight and y are any views, and are not used
  int32 reserved = 0;
};
/// in x [N, D], weight [D], residual [N, D], next_weight [D]; out sum [N, D] = residual +
/// rms_norm(x, weight), y [N, D] = rms_norm(sum, next_weight), both contiguous.
inline constexpr Op kRmsNormResidual{"rms_norm_residual", "TTTT:TT",
                                     attributes<RmsNormResidualAttributes>};

struct LayerNormAttributes {
  static constexpr const char* kLayout = "f64 eps, i32 has_bias, i32 reserved";
  double eps;
  int32 has_bias;      // else the bias is any vector [D], and is not read
  int32 reserved = 0;  // no padding: two equal calls are equal bytes
};
/// in x [N, D], weight [D], bias [D]; out y [N, D], mean [N], r [N] = 1 / sqrt(variance + eps).
inline constexpr Op kLayerNorm{"layer_norm", "TTT:TRR", attributes<LayerNormAttributes>};
/// in gy [N, D], x [N, D], weight [D], mean [N], r [N]; out gx [N, D].
inline constexpr Op kLayerNormGradient{"layer_norm_gradient", "TTTRR:T"};

}  // namespace wick
