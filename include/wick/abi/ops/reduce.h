// Reductions: in [K..., R...], out [K...]. Those that combine two parts hold their own record:
// scalar/reduce.h.
#pragma once
#include "wick/abi/op.h"

namespace wick {

struct ReduceAttributes {
  static constexpr const char* kLayout = "i32 kept";
  int32 kept;  // leading dims of the input that stay; the others are reduced
};
/// The first winner's place over the reduced dims in their order; NaN before every number.
inline constexpr Op kArgmax{"argmax", "T:I", attributes<ReduceAttributes>};
inline constexpr Op kArgmin{"argmin", "T:I", attributes<ReduceAttributes>};

}  // namespace wick
