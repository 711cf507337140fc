// The derivatives of lgamma: digamma, trigamma, and further ones, by recurrence to where the
// asymptotic series is good. Source: Abramowitz & Stegun 1964, 6.3, 6.4 and 23.1.
#pragma once
#include "scalar/math.h"

namespace wick {

// The double is a parameter so that device compilers look its functions up when they are used.

/// Error: 4 u (1 + |digamma(x)|), u = 2^-53; below 0 of digamma(1 - x) and the cotangent.
template <class T, class Double = double>
WICK_HD T digamma(T at) {
  constexpr double pi = 3.14159265358979323846;
  constexpr double log_8 = 2.07944154167983592825, log_8_rest = 1.80593706877904643e-16;
  const double infinity = __builtin_bit_cast(double, uint64(0x7ff) << 52);
  Double x = Double(at), cotangent = 0;
  if (abs(x) < 1e-20) return T(-1 / x);  // all that shows beside it
  if (x < 0) {                           // 6.3.7; near 1/2 the angle's own rounding would show
    if (x == floor(x)) return T(infinity - infinity);
    const Double r = x - round_even(x), size = abs(r);
    cotangent = size > 0.25 ? Double(tan(pi * (0.5 - size))) : 1 / tan(pi * size);
    if (r < 0) cotangent = -cotangent;
    x = 1 - x;
  }
  // cut: what rounding takes from the additions to sum. Around digamma's zero sum and logarithm cancel but for
  // little, beside which it shows.
  Double sum = 0, cut = 0;
  int steps = 0;
  for (; x + steps < 10; steps++) {  // 6.3.5
    const Double term = 1 / (x + steps), next = sum + term, added = next - sum;
    cut += (sum - (next - added)) + (term - added);
    sum = next;
  }
  x += steps;
  const Double y = 1 / (x * x);
  const Double series =  // 6.3.18
      y *
      (1. / 12 -
       y * (1. / 120 -
            y * (1. / 252 - y * (1. / 240 - y * (1. / 132 - y * (691. / 32760 - y * (1. / 12)))))));
  // log(x) = log(8) + log(x / 8): around the zero x is by now below 12, and log(x / 8), the only part
  // that is rounded, below 0.4.
  const Double small = log(x / 8) - (0.5 / x + series + cut - log_8_rest);
  return T((log_8 - sum) + small - pi * cotangent);
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

/// n! times Hurwitz's zeta: the sum of n! / (x + k)^(n + 1) over k = 0, 1 ..., x > 0, by Euler's and
/// Maclaurin's summation. Error: 2 (n + 4) ulp of it. What n! and the powers are times x^-(n + 1)
/// neither overflows nor vanishes unless the sum does.
template <class Double>
WICK_HD Double scaled_zeta(int n, Double x) {
  const Double s = n + 1, first = x, large = 10 + 2 * s;
  Double scale = 1 / x;
  for (int i = 1; i <= n; i++) scale *= i / x;
  Double sum = 0;
  for (; x < large; x += 1) sum += pow(first / x, s);
  // B_2j / (2 j)!
  constexpr double of_bernoulli[] = {1. / 12,          -1. / 720,
                                     1. / 30240,       -1. / 1209600,
                                     1. / 47900160,    -691. / 1307674368000,
                                     1. / 74724249600, -3617. / 10670622842880000};
  const Double power = pow(first / x, s), y = 1 / (x * x);
  sum += power * (x / (s - 1) + Double(0.5));
  Double term = power * s / x;  // s (s + 1) ... (s + 2 j - 2) x^(1 - 2 j), times the power
  for (int j = 0; j < 8; j++) {
    sum += of_bernoulli[j] * term;
    term *= (s + (2 * j + 1)) * (s + (2 * j + 2)) * y;
  }
  return scale * sum;
}

/// The derivative of digamma of this order, a whole number in [0, 170]; NaN of another. Error:
/// 2 (order + 4) ulp where x > 0.
template <class T, class Double = double>
WICK_HD T polygamma(T of_order, T at) {
  const double infinity = __builtin_bit_cast(double, uint64(0x7ff) << 52);
  const Double x = Double(at), order = Double(of_order);
  if (order == 0) return digamma(at);
  if (order == 1) return trigamma(at);
  if (!(order > 0 && order <= 170) || order != floor(order) || x != x)
    return T(infinity - infinity);
  const int n = int(order);
  const Double sign = n % 2 ? Double(1) : Double(-1);
  if (x > 0) return T(sign * (x == infinity ? Double(0) : scaled_zeta(n, x)));
  if (x == floor(x)) return T(sign * infinity);
  // The sum over k = 0, 1 ... is that over all whole k less that over the negative ones, and the
  // former is that of the distances below and above a whole number.
  const Double above = ceil(x) - x;
  return T(sign *
           (scaled_zeta(n, 1 - above) + sign * (scaled_zeta(n, above) - scaled_zeta(n, 1 - x))));
}

}  // namespace wick
