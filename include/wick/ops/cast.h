// Conversion from one dtype to another.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

/// x converted to another dtype; x itself if it has that dtype. Float to integer truncates and
/// saturates, and NaN becomes 0. Conversion to bool gives true for everything but 0.
WICK_API Tensor cast(const Tensor& x, DType dtype);

}  // namespace wick
