// All operands have the output's shape.
#pragma once
#include "wick/abi/op.h"

namespace wick {

/// in condition, a, b; out condition ? a : b.
inline constexpr Op kWhere{"where", "BTT:T"};

}  // namespace wick
