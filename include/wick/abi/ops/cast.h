// Both operands have one shape.
#pragma once
#include "wick/abi/op.h"

namespace wick {

/// out x in another dtype; the same dtype is the strided copy.
inline constexpr Op kCast{"cast", "T:*"};

}  // namespace wick
