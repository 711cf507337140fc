// Conversion from one dtype to another.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

/// x as another dtype: itself if already so. A float becomes an integer cut and saturated, NaN
/// gives 0; a number becomes a bool by whether it is not zero.
WICK_API Tensor cast(const Tensor& x, DType dtype);

}  // namespace wick
