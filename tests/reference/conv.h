// Convolutions and their transposes, over x [N, C, H, W] and weight [O, C / groups, KH, KW].
#pragma once
#include "ops.h"

namespace wick::reference {

struct Convolution {
  int64_t stride[2] = {1, 1};
  int64_t before[2] = {0, 0}, behind[2] = {0, 0};  // padding
  int64_t dilation[2] = {1, 1};
  int64_t groups = 1;
  int64_t output_padding[2] = {0, 0};  // of the transposed one

  /// The place in x of an output and a tap, along dim d of the two.
  int64_t place(int d, int64_t output, int64_t tap) const {
    return output * stride[d] + tap * dilation[d] - before[d];
  }
};

/// conv2d, in which what stands in the padding is not multiplied at all.
Result conv2d(const Array& x, const Array& weight, const Convolution& c);
/// weight [C, O / groups, KH, KW]: every product of x and weight goes to where conv2d would read.
Result conv_transpose2d(const Array& x, const Array& weight, const Convolution& c);
/// The gradient of conv2d's weight for gy of its result; kernel: KH, KW.
Result conv_weight_gradient(const Array& gy, const Array& x, const Shape& weight,
                            const Convolution& c);
/// y + bias[o], along dim 1.
Result add_bias(Result y, const Array& bias);

/// x with elements before and after each of the last two dims: 0 zeros, 1 mirrored, 2 repeated, 3
/// from the other end.
Array padded(const Array& x, int mode, const Convolution& c);

/// [N, C, H, W] -> [N, C KH KW, L]. weight: its last two sizes are those of a window.
Result unfold2d(const Array& x, const Shape& kernel, const Convolution& c);
/// [N, C KH KW, L] -> [N, C, size].
Result fold2d(const Array& x, const Shape& size, const Shape& kernel, const Convolution& c);

}  // namespace wick::reference
