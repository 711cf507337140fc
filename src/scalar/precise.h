// Functions for which a vendor's version has an error above 2 ulp, in double-word arithmetic
// (double_word.h), with the same bits on every device. f32 and f64 unless stated otherwise. Error:
// 1 ulp, or 1.5 where stated.
#pragma once
#include "scalar/double_word.h"

namespace wick::precise {

/// a^b with C99 semantics.
template <class T>
WICK_HD T pow(T a, T b) {
  if (a == T(1) || b == T(0)) return T(1);
  if (a != a || b != b) return a + b;
  const T size = abs(a), half = T(0.5) * b;
  const bool is_whole = abs(b) == infinity<T>() || b == trunc(b);
  const bool turns = is_negative(a) && is_whole && half != trunc(half);  // odd
  T y;
  if (abs(b) == infinity<T>())
    y = size == T(1) ? T(1) : (size > T(1)) == (b > T(0)) ? infinity<T>() : T(0);
  else if (size == T(0) || size == infinity<T>())
    y = (size == T(0)) == (b < T(0)) ? infinity<T>() : T(0);
  else if (a < T(0) && !is_whole)
    return infinity<T>() - infinity<T>();
  else {
    const Two<T> log = logarithm(Two<T>{size, T(0)});
    const T power = log.hi * b;  // an overflowing product has no double word
    if (abs(power) > kFarExponent<T>)
      y = power > T(0) ? infinity<T>() : T(0);
    else
      y = exponential(log * Two<T>{b, T(0)});
  }
  return turns ? -y : y;
}

template <class T>
WICK_HD T sinh(T x) {
  const T size = abs(x);
  if (!(size < infinity<T>())) return x + x;
  if (size < T(1)) {
    constexpr int kTerms = kSame<T, float> ? 5 : 9;
    T tail = T(1);
    const T square = x * x;
    for (int k = kTerms; k > 1; k--) tail = fma(tail, square / T(2 * k * (2 * k + 1)), T(1));
    return fma(x * square, tail * (T(1) / T(6)), x);
  }
  if (size > kFarExponent<T>) return x * infinity<T>();
  const Exponential<T> e = Exponential<T>::of(Two<T>{size, T(0)});
  T y;
  if (e.n > Format<T>::kMantissa) {
    y = scaled(e.m, e.n - 1);
  } else {
    const T up = power_of_two<T>(e.n - 1);
    const Two<T> large = {e.m.hi * up, e.m.lo * up};
    const Two<T> y_two = large - Two<T>{T(0.25), T(0)} / large;
    y = y_two.hi + y_two.lo;
  }
  return x < T(0) ? -y : y;
}

template <class T>
WICK_HD T cosh(T x) {
  const T size = abs(x);
  if (!(size < infinity<T>())) return size + size;
  if (size > kFarExponent<T>) return infinity<T>();
  const Exponential<T> e = Exponential<T>::of(Two<T>{size, T(0)});
  if (e.n > Format<T>::kMantissa) return scaled(e.m, e.n - 1);
  const T up = power_of_two<T>(e.n - 1);
  const Two<T> large = {e.m.hi * up, e.m.lo * up}, y = large + Two<T>{T(0.25), T(0)} / large;
  return y.hi + y.lo;
}

/// f32 only. Error: 1.5 ulp.
template <class T>
requires(kSame<T, float>) WICK_HD T tanh(T x) {
  const T size = abs(x);
  if (x != x || x == 0) return x;
  if (size < 0.55f) {
    constexpr float c[] = {0.002526109195f, -0.008526140804f, 0.02181840371f,
                           -0.05396469613f, 0.1333332419f,    -0.3333333329f};
    const T square = x * x;
    return fma(x * square, polynomial(c, square), x);
  }
  const T y = size > 10 ? T(1) : 1 - 2 / (exponential(Two<T>{2 * size, 0.f}) + 1);
  return x < 0 ? -y : y;
}

template <class T>
WICK_HD T asinh(T x) {
  const T size = abs(x);
  if (!(size < infinity<T>()) || x == T(0)) return x + x;
  if (size < T(1) / T(256)) {
    const T square = x * x;
    const T tail = fma(square, fma(square, T(-15. / 336), T(3. / 40)), T(-1. / 6));
    return fma(x * square, tail, x);
  }
  Two<T> y;
  if (size > power_of_two<T>(Format<T>::kMantissa / 2 + 4)) {
    y = logarithm(Two<T>{size, T(0)}) +
        constant<T>(0.69314718055994530942, 2.319046813846299558e-17);
  } else {
    const Two<T> root = square_root(product(size, size) + Two<T>{T(1), T(0)});
    y = logarithm(root + Two<T>{size, T(0)});
  }
  return x < T(0) ? -(y.hi + y.lo) : y.hi + y.lo;
}

template <class T>
WICK_HD T acosh(T x) {
  if (!(x > T(1))) return x == T(1) ? T(0) : infinity<T>() - infinity<T>();
  if (x == infinity<T>()) return x;
  Two<T> y;
  if (x > power_of_two<T>(Format<T>::kMantissa / 2 + 4)) {
    y = logarithm(Two<T>{x, T(0)}) + constant<T>(0.69314718055994530942, 2.319046813846299558e-17);
  } else {
    const Two<T> root = square_root(sum(x, T(-1)) * sum(x, T(1)));
    y = logarithm(root + Two<T>{x, T(0)});
  }
  return y.hi + y.lo;
}

template <class T>
WICK_HD T atanh(T x) {
  const T size = abs(x);
  if (!(size < T(1))) return size == T(1) ? x * infinity<T>() : infinity<T>() - infinity<T>();
  if (size < power_of_two<T>(-Format<T>::kMantissa / 2)) return fma(x * x, x * (T(1) / T(3)), x);
  if (size < T(0.2)) {
    const Two<T> y = atanh_series(Two<T>{x, T(0)});
    return y.hi + y.lo;
  }
  const Two<T> y = logarithm(sum(T(1), size) / sum(T(1), -size));
  return T(x < T(0) ? -0.5 : 0.5) * (y.hi + y.lo);
}

/// atan(t) for |t| <= 1, f32 only.
template <class T>
requires(kSame<T, float>) WICK_HD Two<T> arc_of_tangent(Two<T> t) {
  constexpr float c[] = {0.001488691939f, -0.009144629761f, 0.02630500111f, -0.04896051403f,
                         0.0703191425f,   -0.08931826777f,  0.1108826163f,  -0.1428400379f,
                         0.1999994932f,   -0.3333333308f};
  const T square = t.hi * t.hi;
  return quick_sum(t.hi, fma(t.hi * square, polynomial(c, square), t.lo / (1 + square)));
}
template <class T>
WICK_HD Two<T> half_pi() {
  return constant<T>(1.5707963267948966192, 6.123233995736766036e-17);
}

template <class T>
requires(kSame<T, float>) WICK_HD T atan2(T y, T x) {
  if (x != x || y != y) return x + y;
  const T rise = abs(y), run = abs(x);
  float low = rise < run ? rise : run, high = rise < run ? run : rise;
  Two<T> arc = {0.f, 0.f};  // for low == 0 and infinite high
  if (low == high) {
    if (low != 0) arc = arc_of_tangent(Two<T>{1.f, 0.f});
  } else if (high != infinity<T>()) {
    // Scaled so that products in the quotient neither overflow nor become subnormal where that
    // matters.
    const T scale = high > 0x1p60f ? 0x1p-60f : high < 0x1p-60f ? 0x1p60f : 1.f;
    arc = arc_of_tangent(Two<T>{low * scale, 0.f} / Two<T>{high * scale, 0.f});
  }
  if (rise > run) arc = half_pi<T>() - arc;
  if (is_negative(x)) arc = constant<T>(3.1415926535897932385, 0) - arc;
  const T result = arc.hi + arc.lo;
  return is_negative(y) ? -result : result;
}

template <class T>
requires(kSame<T, float>) WICK_HD T asin(T x) {
  constexpr float c[] = {0.0336908472f,  0.01714923836f, 0.03110066274f,
                         0.04459940153f, 0.07500094543f, 0.1666666634f};
  const T size = abs(x);
  if (!(size <= 1)) return infinity<T>() - infinity<T>();
  if (size <= 0.5f) return fma(x * (x * x), polynomial(c, x * x), x);
  const T square = 0.5f * (1 - size);  // exact
  if (square == 0) return x * half_pi<T>().hi;
  const Two<T> root = square_root(Two<T>{square, 0.f});
  const T rest = fma(root.hi * square, polynomial(c, square), root.lo);
  const Two<T> arc = half_pi<T>() - Two<T>{2 * root.hi, 2 * rest};
  return x < 0 ? -(arc.hi + arc.lo) : arc.hi + arc.lo;
}

/// Argument reduction x = (quadrant + r) pi / 2 with |r| <= 1/2: gives r pi / 2 and the quadrant
/// mod 4. For large x, multiplies by those bits of 2 / pi that determine quadrant and remainder
/// (Payne and Hanek 1983, doi:10.1145/1057600.1057602).
template <class T>
requires(kSame<T, float>) struct Quadrant {
  Two<T> angle;
  uint32 number;

  static WICK_HD Quadrant of(T x) {
    if (abs(x) < 0x1p16f) {
      const T n = round_even(x * 0.63661977236758134308f);
      // pi / 2 as three parts; the first product and the difference are exact.
      const Two<T> r = {fma(-n, 1.57079637050628662109f, x), 0.f};
      const Two<T> second = product(-n, -4.371138828673793e-8f);
      return {(r + second) + Two<T>{n * 1.71512451000158e-15f, 0.f}, uint32(int32(n))};
    }
    constexpr uint32 two_by_pi[] = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                    0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};
    const uint32 bits = bits_of(x), mantissa = (bits & 0x7fffff) | 0x800000;
    const int exponent = int(bits >> 23 & 255) - 150,
              first = exponent + 30;  // x = mantissa 2^exponent
    const int word = first / 32, shift = first % 32;
    const auto window = [&](int i) {
      const uint64 both = uint64(two_by_pi[word + i]) << 32 | two_by_pi[word + i + 1];
      return uint32(both << shift >> 32);
    };
    const uint64 low = uint64(mantissa) * window(2);
    const uint64 middle = uint64(mantissa) * window(1) + (low >> 32);
    const uint64 high = uint64(mantissa) * window(0) + (middle >> 32);
    // Quadrant: the two bits before the binary point.
    uint32 number = uint32(high) >> 30;
    const uint64 fraction = (high << 34) | (middle & 0xffffffff) << 2 | (uint32(low) >> 30);
    number += uint32(fraction >> 63);
    const int64 rest = int64(fraction) >> 2;
    const T top = float(rest);
    Two<T> r = {top, T(rest - int64(top))};
    r = Two<T>{r.hi * 0x1p-62f, r.lo * 0x1p-62f} * half_pi<T>();
    if (x < 0) return {-r, 0 - number};
    return {r, number};
  }
};

template <class T>
requires(kSame<T, float>) WICK_HD T tan(T x) {
  if (!(abs(x) < infinity<T>())) return x - x;
  constexpr float c[] = {0.00384347528f, 0.001184756221f, 0.009962500955f, 0.02162102647f,
                         0.05399447754f, 0.1333323089f,   0.3333333398f};
  const Quadrant<T> q = Quadrant<T>::of(x);
  const T r = q.angle.hi, square = r * r, rest = r * square * polynomial(c, square);
  if (q.number % 2 == 0 && r == 0) return x;
  const T slope = 1 + (r + rest) * (r + rest);
  const Two<T> tangent = quick_sum(r, fma(q.angle.lo, slope, rest));
  if (q.number % 2 == 0) return tangent.hi + tangent.lo;
  const Two<T> y = Two<T>{-1.f, 0.f} / tangent;
  return y.hi + y.lo;
}

/// (1 + 2 x) exp(x^2) erfc(x) is a polynomial in (x - a) / (x + a).
template <class T>
WICK_HD T erfc(T x) {
  if (x != x) return x;
  const T size = abs(x);
  Two<T> y = {T(0), T(0)};
  if (size < T(kSame<T, float> ? 11 : 28)) {
    constexpr T a = kSame<T, float> ? 3 : 4;
    const Two<T> t = sum(size, -a) / sum(size, a);
    Two<T> p;
    if constexpr (kSame<T, float>) {
      constexpr float c[] = {3.891751557e-6f, 7.720413938e-5f, -0.0001042211771f, -0.0007261608012f,
                             0.001888215701f, 0.002498822611f, -0.02377038871f,   0.06831669729f,
                             -0.1192736784f,  0.129644091f};
      p = Two<T>{polynomial(c, t.hi), 0.f} * t + constant<T>(-0.04756229382771762859, 0);
      p = p * t + constant<T>(-0.1356210682206941599, 0);
      p = p * t + constant<T>(1.253008058269729653, 0);
    } else {
      constexpr double c[] = {
          -1.431131847092816147e-10,  -2.655726616312574828e-10, 1.825695118953906964e-9,
          3.167261111936169536e-9,    -1.480698814692579431e-8,  -2.055453136985930005e-8,
          1.102527199900015267e-7,    7.746068635681979271e-8,   -8.25078338681245044e-7,
          2.919821908454825835e-7,    5.70931411353249177e-6,    -0.00001122129261531427355,
          -0.00002439899445576209981, 0.0001506214923783733477,  -0.0001992567602641045669,
          -0.0007577732620309150263,  0.005031969989524251713,   -0.01619773405968329171,
          0.03716751553632398848,     -0.06633036581219904478,   0.09373283499841049139,
          -0.1010390660362999052,     0.06809705425469129802};
      p = Two<T>{polynomial(c, t.hi), 0.} * t +
          constant<T>(0.0153796521026195903, -2.068457252e-19);
      p = p * t + constant<T>(-0.1396211168405625052, -7.149051662e-18);
      p = p * t + constant<T>(1.23299511862555251, -4.491170301e-17);
    }
    const Exponential<T> e = Exponential<T>::of(-product(size, size));
    y = e.m * (p / sum(T(1), T(2) * size));
    if (!(x < T(0))) return scaled(y, e.n);
    const T down = e.n < -64 ? T(0) : power_of_two<T>(e.n);
    y = {y.hi * down, y.lo * down};
  }
  if (!(x < T(0))) return T(0);
  y = Two<T>{T(2), T(0)} - y;
  return y.hi + y.lo;
}

/// sin(pi x), 0 < x <= 1/2.
template <class T>
WICK_HD Two<T> sine_of_half_turns(T x) {
  const Two<T> pi = constant<T>(3.1415926535897932385, 1.224646799147353207e-16);
  const bool from_top = x > T(0.25);  // use the cosine of 1/2 - x
  const Two<T> angle = Two<T>{from_top ? T(0.5) - x : x, T(0)} * pi, square = angle * angle;
  Two<T> term = from_top ? Two<T>{T(1), T(0)} : angle, y = term;
  constexpr int kTerms = kSame<T, float> ? 7 : 12;
  for (int k = 1; k <= kTerms; k++) {
    const T divisor = T(from_top ? 2 * k * (2 * k - 1) : 2 * k * (2 * k + 1));
    term = -(term * square) / Two<T>{divisor, T(0)};
    y = y + term;
  }
  return y;
}

/// log(gamma(x)); requires 0 < x < 2^(digits of T).
template <class T>
WICK_HD Two<T> lgamma_above_0(Two<T> x) {
  const Two<T> from_1 = x - Two<T>{T(1), T(0)}, from_2 = x - Two<T>{T(2), T(0)};
  if (abs(from_1.hi) <= T(0.25)) {
    if constexpr (kSame<T, float>) {
      constexpr float c[] = {0.1143465366f, -0.1268620618f, 0.124708451f,  -0.1431769645f,
                             0.1695752864f, -0.2074052782f, 0.2705806661f, -0.4006854794f,
                             0.8224670336f, -0.5772156651f};
      return from_1 * Two<T>{polynomial(c, from_1.hi), 0.f};
    } else {
      constexpr double c[] = {
          0.06687207853187849766,  -0.07029484756388002518, 0.05319051602021362145,
          -0.05634832895039776518, 0.06267952792218532857,  -0.06685559490235757542,
          0.0714248883747204997,   -0.07692408371902586786, 0.08335406432754498664,
          -0.09095425132658987647, 0.1000994537419068815,   -0.111334261923551153,
          0.1255096695611593024,   -0.1440498968069531083,  0.1695571769972298871,
          -0.2073855510284874062,  0.2705808084277848861,   -0.4006856343865317823,
          0.8224670334241132181,   -0.5772156649015328605};
      return from_1 * Two<T>{polynomial(c, from_1.hi), 0.};
    }
  }
  if (abs(from_2.hi) <= T(0.25)) {
    if constexpr (kSame<T, float>) {
      constexpr float c[] = {0.00052232553f, -0.001221138465f, 0.002890013234f, -0.007384436296f,
                             0.02058081466f, -0.06735231502f,  0.3224670334f,   0.4227843351f};
      return from_2 * Two<T>{polynomial(c, from_2.hi), 0.f};
    } else {
      constexpr double c[] = {
          1.009976600282110675e-6,   -2.155353728488193356e-6,  4.369236257081077823e-6,
          -9.427563935608914001e-6,  0.00002050751212717038344, -0.00004492687068449750518,
          0.00009945750398530134424, -0.0002231547398252664228, 0.0005096695248832420375,
          -0.001192753912000157668,  0.002890510330740426783,   -0.00738555102867166325,
          0.02058080842778455114,    -0.06735230105319810205,   0.3224670334241132182,
          0.4227843350984671394};
      return from_2 * Two<T>{polynomial(c, from_2.hi), 0.};
    }
  }
  // Stirling's series is accurate from kGood on; below it, apply gamma(x) = gamma(x + 1) / x.
  constexpr T kGood = kSame<T, float> ? 6 : 14;
  Two<T> below = {T(1), T(0)};
  while (x.hi < kGood) {
    below = below * x;
    x = x + Two<T>{T(1), T(0)};
  }
  const T by_x = T(1) / x.hi, square = by_x * by_x;
  T series;
  if constexpr (kSame<T, float>) {
    constexpr float c[] = {-1.f / 1680, 1.f / 1260, -1.f / 360, 1.f / 12};
    series = by_x * polynomial(c, square);
  } else {
    constexpr double c[] = {43867. / 244188, -3617. / 122400, 1. / 156,  -691. / 360360, 1. / 1188,
                            -1. / 1680,      1. / 1260,       -1. / 360, 1. / 12};
    series = by_x * polynomial(c, square);
  }
  // (x - 1/2) (log x - 1) + (log 2 pi - 1) / 2 + series
  const Two<T> main = (x - Two<T>{T(0.5), T(0)}) * (logarithm(x) - Two<T>{T(1), T(0)});
  const Two<T> rest =
      constant<T>(0.41893853320467274178, 1.672820965058541e-17) + Two<T>{series, T(0)};
  return (main + rest) - logarithm(below);
}

/// log|gamma(x)|. Near the zeros below 0 the error is 2^-28 (f64: 2^-57).
template <class T>
WICK_HD T lgamma(T x) {
  const T size = abs(x);
  if (!(size < infinity<T>())) return x * x;
  if (size < power_of_two<T>(-2 * Format<T>::kMantissa)) {
    if (size == T(0)) return infinity<T>();
    const Two<T> y = logarithm(Two<T>{size, T(0)});
    return -y.hi - y.lo;
  }
  if (x >= power_of_two<T>(Format<T>::kMantissa)) {
    const Two<T> log = logarithm(Two<T>{x, T(0)}) - Two<T>{T(1), T(0)};
    return fma(x, log.hi, x * log.lo);
  }
  if (x > T(0)) {
    const Two<T> y = lgamma_above_0(Two<T>{x, T(0)});
    return y.hi + y.lo;
  }
  if (x == floor(x)) return infinity<T>();
  // Reflection: gamma(x) gamma(1 - x) = pi / sin(pi x).
  const Two<T> log_pi = constant<T>(1.1447298858494001741, 1.026595116270782638e-17);
  const Two<T> sine = logarithm(sine_of_half_turns(abs(x - round_even(x))));
  const Two<T> y = (log_pi - sine) - lgamma_above_0(sum(T(1), -x));
  return y.hi + y.lo;
}

}  // namespace wick::precise
