// Products of matrices.
#pragma once
#include "wick/abi/op.h"

namespace wick {

/// in a [batch..., M, K], b [batch..., K, N], any strides; out [batch..., M, N].
inline constexpr Op kMatmul{"matmul", "TT:T"};

}  // namespace wick
