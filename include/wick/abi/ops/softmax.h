// Softmax and the log of the sum of exponentials over the last dim. The inner stride is 1.
#pragma once
#include "wick/abi/call.h"
#include "wick/abi/op.h"

namespace wick {

/// in x [N, D]; out [N, D].
inline constexpr Op kSoftmax{"softmax", "T:T"};

/// in x [N, D], f32 or f64; out [N], contiguous: log(sum(exp(x))).
inline constexpr Op kLogSumExp{"logsumexp", "T:T"};
/// Whether the rows of x are too long for one thread or block each, and too few for a device: the
/// composite's reductions cut them.
inline bool is_few_long_rows(const View& x) { return x.shape[0] < 64 && x.shape[1] > 1 << 16; }

}  // namespace wick
