// silu: a unary formula (unary.h) that the binary formula swiglu uses too.
#pragma once
#include "scalar/math.h"
#include "wick/abi/op.h"

namespace wick {

/// x / (1 + exp(-x)). For very negative x, exp(x) is subnormal while the result is not yet. There
/// the exponential is computed e^32 too large (32 + x is exact) and the result is scaled back at
/// the end.
struct Silu {
  static constexpr Op op{"silu", "T:T"};
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    const T size = abs(x);
    const T e = exp(select(size > T(64), T(32) - size, -size));
    const T top = select(x < T(0), x * e, x);
    const T far = select(x < T(0), top * T(0x1.c8464f7616468p-47), x);  // e^-32; 1 + e^-|x| is 1
    return select(size > T(64), far, top / (T(1) + e));
  }
};

}  // namespace wick
