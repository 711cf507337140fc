// The composites of convolution and its gradients, each of which is the gradient of the others.
#pragma once
#include "wick/abi/ops/conv.h"
#include "wick/core/tensor.h"

namespace wick {

/// x [N, C, H, W], weight [O, C / groups, KH, KW], y [N, O, OH, OW]: op is kConv (of x and weight),
/// kConvInputGradient (of y and weight) or kConvWeightGradient (of y and x). Computes it off the
/// tape, as matrix products over the windows' columns. out: the shape of the result.
Tensor conv_composite(const Op& op, const Tensor& a, const Tensor& b, const Shape& out,
                      const ConvAttributes& attributes);

}  // namespace wick
