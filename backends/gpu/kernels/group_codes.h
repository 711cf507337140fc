// The scale of a group whose elements neighbouring lanes hold.
#pragma once
#include "kernels/common.h"
#include "scalar/code_scale.h"
#include "wick/abi/ops/quantize.h"

namespace wick::gpu {

/// The larger of two magnitudes, which are ordered as their bits: NaN is the largest.
WICK_DEVICE inline float larger_magnitude(float a, float b) {
  const uint32 x = __builtin_bit_cast(uint32, a), y = __builtin_bit_cast(uint32, b);
  return __builtin_bit_cast(float, x > y ? x : y);
}

/// The largest magnitude that 2 `most` neighbouring lanes hold.
template <int most, class Ctx>
WICK_DEVICE float largest_of(const Ctx& ctx, float x) {
  float largest = __builtin_fabsf(x);
  masks_down<most, 1>([&]<int mask>() {
    largest = larger_magnitude(largest, ctx.template shuffle_xor<mask>(largest));
  });
  return largest;
}

}  // namespace wick::gpu
