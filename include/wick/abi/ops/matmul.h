// Products of matrices.
#pragma once
#include "wick/abi/op.h"

namespace wick {

/// in a [batch..., M, K], b [batch..., K, N], any strides; out [batch..., M, N].
inline constexpr Op kMatmul{"matmul", "TT:T"};

struct LinearAttributes {
  static constexpr const char* kLayout = "i32 rounds_x";
  int32
      rounds_x;  // nonzero: x may be rounded to 8 bits, in blocks of 32 with the scale of the largest
};
/// in x [M, K], weight [N, K] of another dtype, floating or of blocks, both with inner strides of 1; out
/// y [M, N], contiguous: y[m, n] = sum over k of x[m, k] weight[n, k].
inline constexpr Op kLinear{"linear", "T*:T", attributes<LinearAttributes>};

}  // namespace wick
