// Scans: in x [O, N, I], out y [O, N, I], over N.
#pragma once
#include "wick/abi/op.h"

namespace wick {

inline constexpr Op kCumsum{"cumsum", "T:S"};
inline constexpr Op kCumprod{"cumprod", "T:S"};
/// A second output is ids [O, N, I] of the extremes: the last of equals, NaN before every number.
inline constexpr Op kCummax{"cummax", "T:TI"};
inline constexpr Op kCummin{"cummin", "T:TI"};

}  // namespace wick
