// Moving elements by ids. Ids [O, J, I] have any strides.
#pragma once
#include "wick/abi/op.h"

namespace wick {

/// in x [O, N, I], ids; out y [O, J, I]: y[o, j, i] = x[o, ids[o, j, i], i].
inline constexpr Op kGather{"gather", "TI:T"};
/// in src [O, J, I], ids; out y [O, N, I], added to: y[o, ids[o, j, i], i] += src[o, j, i].
inline constexpr Op kScatterAdd{"scatter_add", "TI:T"};
/// in and out as of kScatterAdd, but set: of equal ids the last one's value stays.
inline constexpr Op kScatter{"scatter", "TI:T"};

}  // namespace wick
