// Softmax over the last dim. The inner stride is 1.
#pragma once
#include "wick/abi/op.h"

namespace wick {

/// in x [N, D]; out [N, D].
inline constexpr Op kSoftmax{"softmax", "T:T"};

}  // namespace wick
