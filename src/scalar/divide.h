// Quotients, remainders, powers and shifts defined for every operand. Floats use fmod, which is
// exact. Integers: dividing by 0 gives 0, and overflow wraps.
#pragma once
#include "scalar/math.h"

namespace wick {

/// Whether the hardware division a / b is defined.
template <class T>
WICK_HD constexpr bool divides(T a, T b) {
  if constexpr (T(-1) < T(0))
    return b != T(0) && !(b == T(-1) && a == T(uint64(1) << (8 * sizeof(T) - 1)));
  else
    return b != T(0);
}

/// a - b trunc(a / b).
template <class T>
WICK_HD T cut_remainder(T a, T b) {
  if constexpr (kIsInteger<T>)
    return divides(a, b) ? T(a % b) : T(0);
  else
    return fmod(a, b);
}

/// a - b floor(a / b).
template <class T>
WICK_HD T floored_remainder(T a, T b) {
  const T rest = cut_remainder(a, b);
  if constexpr (kIsInteger<T>) {
    return rest != T(0) && (rest < T(0)) != (b < T(0)) ? T(rest + b) : rest;
  } else {
    const T moved =
        select(b < T(0), select(rest > T(0), rest + b, rest), select(rest < T(0), rest + b, rest));
    const T zero = select(b < T(0), T(-0.0f), T(0));
    return select(rest == T(0), zero, moved);
  }
}

/// floor(a / b).
template <class T>
WICK_HD T floored_quotient(T a, T b) {
  if constexpr (kIsInteger<T>) {
    if (b == T(0)) return T(0);
    if (!divides(a, b)) return a;  // the lowest value divided by -1
    const T quotient = T(a / b);
    return a % b != T(0) && (a < T(0)) != (b < T(0)) ? T(quotient - 1) : quotient;
  } else {
    // (a - rest) / b is near an integer; rounding may have moved it to either side.
    const T rest = fmod(a, b);
    const T whole = (a - rest) / b;
    const T below = select(b < T(0), select(rest > T(0), whole - T(1), whole),
                           select(rest < T(0), whole - T(1), whole));
    const T near = floor(below);
    const T result = select(below - near > T(0.5f), near + T(1), near);
    return select(b == T(0), a / b,
                  select(result == T(0), select(a / b < T(0), T(-0.0f), T(0)), result));
  }
}

/// a^b for integers, modulo 2^bits.
template <class T>
requires(kIsInteger<T>) WICK_HD T pow(T a, T b) {
  if (b < T(0)) {
    if (a == T(1)) return T(1);
    if (a == T(-1)) return (b & 1) ? T(-1) : T(1);
    return T(0);
  }
  uint64 result = 1, base = uint64(a);
  for (uint64 power = uint64(b); power; power >>= 1, base *= base)
    if (power & 1) result *= base;
  return T(result);
}

template <class T>
WICK_HD T shift_left(T a, T b) {
  return uint64(b) < 8 * sizeof(T) ? T(uint64(a) << uint64(b)) : T(0);
}
template <class T>
WICK_HD T shift_right(T a, T b) {
  return uint64(b) < 8 * sizeof(T) ? T(a >> b) : a < T(0) ? T(-1) : T(0);
}

}  // namespace wick
