// Rows in 8 bits.
#pragma once
#include "wick/abi/op.h"

namespace wick {

/// Neighbours of a row of i8 that share a scale.
inline constexpr int64 kScaleGroup = 32;
/// The largest number of f8e4m3, which has no infinity.
inline constexpr float kMaxF8E4M3 = 448;

/// in x [N, D], D a multiple of kScaleGroup; out codes [N, D] of i8 and scales [N, D /
/// kScaleGroup], contiguous, as CodeScale (src/scalar/code_scale.h) has them.
inline constexpr Op kQuantizeI8{"quantize_i8", "T:*H"};

}  // namespace wick
