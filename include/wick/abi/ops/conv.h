// Convolutions: x [N, C, H, W], weight [O, C / groups, KH, KW], y [N, O, OH, OW]. Each op is the
// gradient of another.
#pragma once
#include "wick/abi/op.h"

namespace wick {

/// y[oh, ow] = sum over kh, kw of x[oh stride + kh dilation - padding] weight[kh, kw].
struct ConvAttributes {
  static constexpr const char* kLayout = "i64 stride[2], padding[2], dilation[2], groups";
  int64 stride[2], padding[2];  // padding before; the sizes give the padding after
  int64 dilation[2];
  int64 groups;
};
/// in x, weight; out y.
inline constexpr Op kConv{"conv", "TT:T", attributes<ConvAttributes>};
/// in y, weight; out x, which the attributes do not size: a transposed convolution.
inline constexpr Op kConvInputGradient{"conv_input_gradient", "TT:T", attributes<ConvAttributes>};
/// in y, x; out weight.
inline constexpr Op kConvWeightGradient{"conv_weight_gradient", "TT:T", attributes<ConvAttributes>};

}  // namespace wick
