// Convolution and its gradients, each the gradient of the others.
#pragma once
#include "wick/abi/ops/conv.h"
#include "wick/core/tensor.h"

namespace wick {

/// x [N, C, H, W], weight [O, C / groups, KH, KW], y [N, O, OH, OW]: op is one of kConv (of x and
/// weight), kConvInputGradient (of y and weight) and kConvWeightGradient (of y and x). In smaller
/// ops, off the tape: windows as the columns of matrices. out: the result's shape.
Tensor conv_composite(const Op& op, const Tensor& a, const Tensor& b, const Shape& out,
                      const ConvAttributes& attributes);

}  // namespace wick
