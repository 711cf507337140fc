// Derivatives of lgamma: digamma, trigamma and polygamma. Recurrence moves x to where the
// asymptotic series is accurate. Source: Abramowitz & Stegun 1964, 6.3, 6.4 and 23.1.
#pragma once
#include "scalar/math.h"

namespace wick {

// Double is a template parameter so that device compilers look up its functions at instantiation.

/// Error: 4 u (1 + |digamma(x)|), u = 2^-53; for x < 0, of digamma(1 - x) and the cotangent.
template <class T, class Double = double>
WICK_HD T digamma(T at) {
  constexpr double pi = 3.14159265358979323846;
  constexpr double log_8 = 2.07944154167983592825, log_8_rest = 1.80593706877904643e-16;
  const double infinity = __builtin_bit_cast(double, uint64(0x7ff) << 52);
  Double x = Double(at), cotangent = 0;
  if (abs(x) < 1e-20) return T(-1 / x);  // the other terms are negligible
  if (x < 0) {  // 6.3.7; near 1/2 the rounding of the angle would be visible
    if (x == floor(x)) return T(infinity - infinity);
    const Double r = x - round_even(x), size = abs(r);
    cotangent = size > 0.25 ? Double(tan(pi * (0.5 - size))) : 1 / tan(pi * size);
    if (r < 0) cotangent = -cotangent;
    x = 1 - x;
  }
  // cut: the rounding errors of the additions to sum. Near digamma's zero, sum and logarithm nearly
  // cancel, and the errors are significant relative to the result.
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
  // log(x) = log(8) + log(x / 8): near the zero, x is below 12 here, and log(x / 8), the only
  // rounded part, is below 0.4.
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

/// n! times the Hurwitz zeta function: the sum of n! / (x + k)^(n + 1) over k = 0, 1 ..., x > 0, by
/// Euler-Maclaurin summation. Error: 2 (n + 4) ulp. Factoring out n! x^-(n + 1) keeps intermediate
/// results from overflowing or underflowing unless the sum does.
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
  Double term = power * s / x;  // s (s + 1) ... (s + 2 j - 2) x^(1 - 2 j), times power
  for (int j = 0; j < 8; j++) {
    sum += of_bernoulli[j] * term;
    term *= (s + (2 * j + 1)) * (s + (2 * j + 2)) * y;
  }
  return scale * sum;
}

/// The derivative of digamma of this order, an integer in [0, 170]; NaN for other orders. Error: 2
/// (order + 4) ulp where x > 0.
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
  // The sum over k = 0, 1 ... equals the sum over all integers k minus the sum over negative k. The
  // sum over all k splits into the distances from x to the integers below and above.
  const Double above = ceil(x) - x;
  return T(sign *
           (scaled_zeta(n, 1 - above) + sign * (scaled_zeta(n, above) - scaled_zeta(n, 1 - x))));
}

}  // namespace wick
