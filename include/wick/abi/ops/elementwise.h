// Elementwise ops that are no formula of one dtype; formulas hold their own record: scalar/unary.h,
// binary.h, compare.h. All operands have the output's shape.
#pragma once
#include "wick/abi/op.h"

namespace wick {

/// Of ops with numbers beside the tensor (scalar/unary.h, UnaryWithNumbers).
struct NumberAttributes {
  static constexpr const char* kLayout = "f64 a, f64 b";
  double a;
  double b;
};

/// in condition, a, b; out condition ? a : b.
inline constexpr Op kWhere{"where", "BTT:T"};
/// out x in another dtype; the same dtype is the strided copy.
inline constexpr Op kCast{"cast", "T:*"};

}  // namespace wick
