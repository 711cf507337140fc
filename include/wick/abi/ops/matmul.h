// Products of matrices.
#pragma once
#include "wick/abi/op.h"

namespace wick {

/// in a [batch..., M, K], b [batch..., K, N], any strides; out [batch..., M, N].
inline constexpr Op kMatmul{"matmul", "TT:T"};

/// in x [M, K], weight [N, K] of another dtype, floating or of blocks, both with inner strides of
/// 1; out y [M, N], contiguous: y[m, n] = sum over k of x[m, k] weight[n, k].
inline constexpr Op kLinear{"linear", "T*:T"};

/// in x [T, J, K], any outer strides, weight [E, N, K] of x's dtype or another, floating or of
/// blocks, both with inner strides of 1, ids [T, J] and out y [T, J, N], contiguous: y[t, j, n] =
/// sum over k of x[t, j, k] weight[ids[t, j], n, k].
inline constexpr Op kExpertLinear{"expert_linear", "T*I:T"};

}  // namespace wick
