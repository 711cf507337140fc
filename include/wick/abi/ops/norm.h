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

}  // namespace wick
