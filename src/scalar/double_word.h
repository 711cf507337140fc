// Double-word arithmetic: a number as an unevaluated sum of two, with twice the digits. Uses only
// additions, products and fma, so that every device computes the same bits.
// Source: Dekker 1971, doi:10.1007/BF01397083; Joldes, Muller, Popescu 2017, doi:10.1145/3121432.
#pragma once
#include "scalar/math_basic.h"

namespace wick::precise {

/// The value hi + lo, where hi is the nearest T. T is f32 or f64.
template <class T>
struct Two {
  T hi, lo;
};

/// Bit layout of T.
template <class T>
struct Format;
template <>
struct Format<float> {
  using Bits = uint32;
  static constexpr int kMantissa = 23, kBias = 127;
};
template <>
struct Format<double> {
  using Bits = uint64;
  static constexpr int kMantissa = 52, kBias = 1023;
};
template <class T>
WICK_HD typename Format<T>::Bits bits_of(T x) {
  return __builtin_bit_cast(typename Format<T>::Bits, x);
}
template <class T>
WICK_HD bool is_negative(T x) {  // true for -0
  return bits_of(x) >> (8 * sizeof(T) - 1) != 0;
}
/// 2^n, which must be a normal number.
template <class T>
WICK_HD T power_of_two(int n) {
  using F = Format<T>;
  return __builtin_bit_cast(T, typename F::Bits(n + F::kBias) << F::kMantissa);
}
template <class T>
WICK_HD T infinity() {
  return power_of_two<T>(Format<T>::kBias + 1);
}

/// A constant: for f64 as given, for f32 from the digits of hi.
template <class T>
WICK_HD constexpr Two<T> constant(double hi, double lo) {
  if constexpr (kSame<T, double>)
    return {hi, lo};
  else
    return {T(hi), T(hi - double(T(hi)))};
}

/// a + b, exact; requires |a| >= |b| or a == 0.
template <class T>
WICK_HD Two<T> quick_sum(T a, T b) {
  const T sum = a + b;
  return {sum, b - (sum - a)};
}
/// a + b, exact.
template <class T>
WICK_HD Two<T> sum(T a, T b) {
  const T sum = a + b, added = sum - a;
  return {sum, (a - (sum - added)) + (b - added)};
}
/// a b, exact.
template <class T>
WICK_HD Two<T> product(T a, T b) {
  const T p = a * b;
  return {p, fma(a, b, -p)};
}

template <class T>
WICK_HD Two<T> operator-(Two<T> x) {
  return {-x.hi, -x.lo};
}
template <class T>
WICK_HD Two<T> operator+(Two<T> a, Two<T> b) {
  const Two<T> s = sum(a.hi, b.hi);
  return quick_sum(s.hi, s.lo + (a.lo + b.lo));
}
template <class T>
WICK_HD Two<T> operator-(Two<T> a, Two<T> b) {
  return a + -b;
}
template <class T>
WICK_HD Two<T> operator*(Two<T> a, Two<T> b) {
  const Two<T> p = product(a.hi, b.hi);
  return quick_sum(p.hi, p.lo + fma(a.hi, b.lo, a.lo * b.hi));
}
template <class T>
WICK_HD Two<T> operator/(Two<T> a, Two<T> b) {
  const T q = a.hi / b.hi;
  const T rest = fma(-q, b.hi, a.hi) + (a.lo - q * b.lo);
  return quick_sum(q, rest / b.hi);
}
/// Square root; requires x > 0.
template <class T>
WICK_HD Two<T> square_root(Two<T> x) {
  const T root = sqrt(x.hi);
  return quick_sum(root, (fma(-root, root, x.hi) + x.lo) / (T(2) * root));
}
/// x 2^n rounded to one number; requires |n| <= 2 kBias - 2.
template <class T>
WICK_HD T scaled(Two<T> x, int n) {
  const int half = n / 2;
  return (x.hi + x.lo) * power_of_two<T>(half) * power_of_two<T>(n - half);
}

/// c[0] x^(n - 1) + ... + c[n - 1].
template <class T, int n>
WICK_HD T polynomial(const T (&c)[n], T x) {
  T y = c[0];
  for (int i = 1; i < n; i++) y = fma(y, x, c[i]);
  return y;
}

/// atanh(x) as x + x^3 / 3 + x^5 / 5 ...; requires |x| <= 1/5.
template <class T>
WICK_HD Two<T> atanh_series(Two<T> x) {
  constexpr int kTerms = kSame<T, float> ? 7 : 13;
  const Two<T> square = x * x, cube = square * x;
  T tail = 0;
  for (int k = kTerms; k > 1; k--) tail = fma(tail, square.hi, T(1) / T(2 * k + 1));
  const Two<T> third = cube * constant<T>(0.33333333333333331483, 1.850371707708594e-17);
  return x + (third + Two<T>{cube.hi * square.hi * tail, T(0)});
}

/// log(x); requires x > 0 and finite. Error: 2^-36 (f64: 2^-63) of the larger of |log(x)|
/// and |x - 1|.
template <class T>
WICK_HD Two<T> logarithm(Two<T> x) {
  using F = Format<T>;
  int exponent = 0;
  if (x.hi < power_of_two<T>(1 - F::kBias + 2 * F::kMantissa)) {  // x.lo may be subnormal
    constexpr int kUp = 3 * F::kMantissa;
    x = {x.hi * power_of_two<T>(kUp), x.lo * power_of_two<T>(kUp)};
    exponent = -kUp;
  }
  // x = 2^e m, m in [3/4, 3/2).
  const int64 above = int64(bits_of(x.hi)) - int64(bits_of(T(0.75)));
  const int e = int(above >> F::kMantissa), half = e / 2;
  const T down = power_of_two<T>(-half), rest = power_of_two<T>(half - e);
  const Two<T> m = {x.hi * down * rest, x.lo * down * rest}, one = {T(1), T(0)};
  exponent += e;
  const Two<T> series = atanh_series((m - one) / (m + one));
  const Two<T> log_2 = constant<T>(0.69314718055994530942, 2.319046813846299558e-17);
  return Two<T>{T(exponent), T(0)} * log_2 + Two<T>{T(2) * series.hi, T(2) * series.lo};
}

/// exp(x) = m 2^n, m in [0.7, 1.5]; |n| < 2^22. Error: 2^-26 m (f64: 2^-55).
template <class T>
struct Exponential {
  Two<T> m;
  int n;

  static WICK_HD Exponential of(Two<T> x) {
    constexpr int kTerms = kSame<T, float> ? 9 : 16;
    const Two<T> log_2 = constant<T>(0.69314718055994530942, 2.319046813846299558e-17);
    const T n = round_even(x.hi * T(1.44269504088896340736));
    const Two<T> r = x - Two<T>{n, T(0)} * log_2;
    T tail = T(1);  // 1 + r/3 (1 + r/4 (...)); exp(r) = 1 + r + r^2/2 tail
    for (int k = kTerms; k > 2; k--) tail = fma(tail, r.hi * (T(1) / T(k)), T(1));
    const Two<T> linear = sum(T(1), r.hi);
    const T small = fma(r.hi * r.hi, T(0.5) * tail, fma(r.hi, r.lo, r.lo));
    return {quick_sum(linear.hi, linear.lo + small), int(n)};
  }
};
/// Above this exp(x) is infinite; below its negative exp(x) is 0.
template <class T>
inline constexpr T kFarExponent = kSame<T, float> ? 110 : 760;

/// exp(x), rounded once except where the result is subnormal.
template <class T>
WICK_HD T exponential(Two<T> x) {
  if (x.hi > kFarExponent<T>) return infinity<T>();
  if (x.hi < -kFarExponent<T>) return T(0);
  const Exponential<T> e = Exponential<T>::of(x);
  return scaled(e.m, e.n);
}

}  // namespace wick::precise
