// Attributes of ops of one operand; their records are with their formulas: scalar/unary.h.
#pragma once
#include "wick/abi/op.h"

namespace wick {

/// The attributes of ops with numbers beside the tensor (scalar/unary.h, UnaryWithNumbers).
struct NumberAttributes {
  static constexpr const char* kLayout = "f64 a, f64 b";
  double a;
  double b;
};

}  // namespace wick
