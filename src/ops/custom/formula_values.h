// What the text of a formula consists of, on every device: constants, truth values, and functions of
// integers. Freestanding.
#pragma once
#include "ops/custom/formula_functions.h"

namespace wick::formula {

inline constexpr double kPi = 3.14159265358979323846;
inline constexpr double kInf = __builtin_bit_cast(double, uint64(0x7ff) << 52);
inline constexpr double kNan = __builtin_bit_cast(double, uint64(0x7ff8) << 48);

// A truth value is a bool, or a mask whose lanes are 0 and -1.

template <class M>
WICK_HD M is_not(M a) {
  return a == 0;
}
template <class M>
WICK_HD M both(M a, M b) {
  return a & b;
}
template <class M>
WICK_HD M either(M a, M b) {
  return a | b;
}
template <class M>
WICK_HD M choose(M condition, M a, M b) {
  return either(both(condition, a), both(is_not(condition), b));
}
/// Calls F on integers: i64 or u64. A rounding function without an integer formula returns its
/// argument; a test for NaN or infinities computes in f32.
template <class F, class S, class... More>
requires(kIsInteger<S>) WICK_HD auto call(S x, More... more) {
  using In = ComputeIn<F, S>;
  if constexpr (detail::position_in<S>(typename F::Types{}) == F::Types::kSize) {
    if constexpr (kSame<decltype(F()(float(x), float(more)...)), bool>)
      return F()(float(x), float(more)...);
    else
      return x;
  } else if constexpr (kSame<decltype(F()(In(x), In(more)...)), bool>) {
    return F()(In(x), In(more)...);
  } else {
    return S(F()(In(x), In(more)...));
  }
}

}  // namespace wick::formula
