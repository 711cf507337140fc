// A product with a bias that is added before rounding: one kernel where a device has it.
#pragma once
#include "wick/abi/op.h"

namespace wick {

/// in x [M, K], weight [N, K], bias [N], all with inner strides of 1; out y [M, N], contiguous:
/// y[m, n] = bias[n] + sum over k of x[m, k] weight[n, k].
inline constexpr Op kLinearBias{"linear_bias", "TTT:T"};

}  // namespace wick
