// Ops that write without reading.
#pragma once
#include "wick/abi/op.h"

namespace wick {

struct FillAttributes {
  static constexpr const char* kLayout = "u64 bits";
  uint64 bits;  // the element's own bytes, the lowest first
};
/// Every element of out becomes the value.
inline constexpr Op kFill{"fill", ":T", attributes<FillAttributes>};

}  // namespace wick
