// Where something stands.
#pragma once
#include "wick/abi/op.h"

namespace wick {

/// Asks for the first place before which a value may stand, or for the last.
struct SearchAttributes {
  static constexpr const char* kLayout = "i32 right";
  int32 right;
};
/// in sorted [N, D] ascending, values [N, J]; out ids [N, J].
inline constexpr Op kSearchSorted{"searchsorted", "TT:I", attributes<SearchAttributes>};
/// in mask [N]; out ids [M], ascending: M is how many are true.
inline constexpr Op kNonzero{"nonzero", "B:I"};

}  // namespace wick
