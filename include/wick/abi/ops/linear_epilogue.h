// A product with an epilogue: the steps from its sums to the rounded result. One kernel where a
// device has it.
#pragma once
#include "wick/abi/op.h"

namespace wick {

/// f in linear_epilogue.
enum class EpilogueActivation : int32 { kNone, kRelu, kSilu, kGelu, kGeluTanh };

struct EpilogueAttributes {
  static constexpr const char* kLayout =
      "i32 activation, i32 has_bias, i32 has_residual, i32 reserved";
  EpilogueActivation activation;
  int32 has_bias;      // else bias is any view, and is not read
  int32 has_residual;  // else residual is any view, and is not read
  int32 reserved = 0;  // no padding: two equal calls are equal bytes
};

/// in x [M, K], weight [N, K], bias [N], all with inner strides of 1, residual [M, N]; out y [M,
/// N]; both contiguous and of T or of the dtype that T accumulates in:
/// y[m, n] = f(bias[n] + sum over k of x[m, k] weight[n, k]) + residual[m, n].
inline constexpr Op kLinearEpilogue{"linear_epilogue", "TTT*:*", attributes<EpilogueAttributes>};

}  // namespace wick
