// The codes of numbers in 8 bits that share a scale.
#pragma once
#include "wick/abi/marks.h"
#include "wick/abi/numbers.h"

namespace wick {

/// code = x / scale to the nearest integer, halves away from 0, so that x is about code times scale.
/// Groups whose scale f16 cannot hold have codes of 0. Source: Q8_0 of ggml.
struct CodeScale {
  float scale, inverse;

  /// largest: the largest magnitude of the group.
  static WICK_HD CodeScale of(float largest) {
    const float scale = largest / 127;
    return {scale, scale > 1e-30f ? 1 / scale : 0};
  }
  /// 0 for NaN, of which a group with an infinity has some: its scale is infinite or NaN.
  WICK_HD int8 code(float x) const {
    const float y = x * inverse, z = y < 0 ? y - 0.5f : y + 0.5f;
    return z == z ? int8(int32(z)) : int8(0);
  }
};

}  // namespace wick
