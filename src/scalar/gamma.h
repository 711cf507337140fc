// The slopes of lgamma: digamma and trigamma, by recurrence to where the asymptotic series is good.
// Source: Abramowitz & Stegun 1964, 6.3 and 6.4.
#pragma once
#include "scalar/math.h"

namespace wick {

// The double is a parameter so that device compilers look its functions up when they are used.

/// Error: 1e-15 (1 + |digamma(x)|).
template <class T, class Double = double>
WICK_HD T digamma(T at) {
  constexpr double pi = 3.14159265358979323846;
  const double infinity = __builtin_bit_cast(double, uint64(0x7ff) << 52);
  Double x = Double(at), sum = 0;
  if (x == 0) return T(__builtin_bit_cast(uint64, x) >> 63 ? infinity : -infinity);
  if (x < 0) {  // 6.3.7
    if (x == floor(x)) return T(infinity - infinity);
    sum = -pi / tan(pi * (x - round_even(x)));
    x = 1 - x;
  }
  for (; x < 10; x += 1) sum -= 1 / x;  // 6.3.5
  const Double y = 1 / (x * x);
  const Double series =  // 6.3.18
      y *
      (1. / 12 -
       y * (1. / 120 -
            y * (1. / 252 - y * (1. / 240 - y * (1. / 132 - y * (691. / 32760 - y * (1. / 12)))))));
  return T(sum + log(x) - 0.5 / x - series);
}

/// Error: 1e-15 trigamma(x).
template <class T, class Double = double>
WICK_HD T trigamma(T at) {
  constexpr double pi = 3.14159265358979323846;
  Double x = Double(at), sum = 0, sign = 1;
  if (x <= 0) {  // 6.4.7
    const Double s = sin(pi * (x - round_even(x)));
    sum = pi / s * (pi / s);
    sign = -1;
    x = 1 - x;
  }
  Double upper = 0;
  for (; x < 10; x += 1) upper += 1 / (x * x);  // 6.4.6
  const Double y = 1 / (x * x);
  const Double series =  // 6.4.12
      1 / x + y / 2 +
      y / x *
          (1. / 6 -
           y * (1. / 30 -
                y * (1. / 42 - y * (1. / 30 - y * (5. / 66 - y * (691. / 2730 - y * (7. / 6)))))));
  return T(sum + sign * (upper + series));
}

}  // namespace wick
