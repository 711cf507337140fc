// From one dtype to another.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

/// x as another dtype: itself if already so. Float to integer cuts and saturates, NaN gives 0; to
/// bool: whether not zero.
WICK_API Tensor cast(const Tensor& x, DType dtype);

}  // namespace wick
