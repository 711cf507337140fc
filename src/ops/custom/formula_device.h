// A formula's elements on a GPU and the emulator. This file is not included: its text, with that of
// everything it includes, precedes the kernel that formula.cpp makes of a formula (formula_source.h).
#pragma once
#include "ops/custom/formula_values.h"

namespace wick::formula {

template <class S>
WICK_HD S number(bool a) {
  return S(a);
}

/// Calls F on a float.
template <class F, class S, class... More>
requires(!kIsInteger<S>) WICK_HD auto call(S x, More... more) { return F()(x, more...); }

/// Where operands of one shape have their elements, in elements: the output first. formula.cpp
/// fills it.
struct Layout {
  static constexpr int kDims = 8, kOperands = 9;
  int64 rank;
  int64 shape[kDims];
  int64 strides[kOperands][kDims];

  /// The offset in each of n operands of element i in row-major order.
  template <int n>
  WICK_HD void find(int64 i, int64 (&offsets)[n]) const {
    for (int o = 0; o < n; o++) offsets[o] = 0;
    for (int64 d = rank; d-- > 0; i /= shape[d])
      for (int o = 0; o < n; o++) offsets[o] += i % shape[d] * strides[o][d];
  }
};

}  // namespace wick::formula
