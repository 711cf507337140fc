// Softmax and the log of the sum of exponentials over the last dim. The inner stride is 1.
#pragma once
#include "wick/abi/op.h"

namespace wick {

/// in x [N, D]; out [N, D].
inline constexpr Op kSoftmax{"softmax", "T:T"};

/// in x [N, D], f32 or f64; out [N], contiguous: log(sum(exp(x))).
inline constexpr Op kLogSumExp{"logsumexp", "T:T"};

}  // namespace wick
