// Sorting: each row by itself, stable, NaN last.
#pragma once
#include "wick/abi/op.h"

namespace wick {

struct SortAttributes {
  static constexpr const char* kLayout = "i32 descending";
  int32 descending;  // NaN is larger than every number, so it comes first
};
/// in x [N, D]; out y [N, D], ids [N, D].
inline constexpr Op kSort{"sort", "T:TI", attributes<SortAttributes>};
/// in x [N, D]; out y [N, K], ids [N, K]: the K first of the sorted row.
inline constexpr Op kTopk{"topk", "T:TI", attributes<SortAttributes>};

}  // namespace wick
