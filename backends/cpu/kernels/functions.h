// Elementary functions of vectors: SLEEF's, since Highway's are wrong outside of narrow ranges, and
// our own of f32, which take a few multiply-adds each. Uses Highway with static dispatch. Included
// by kernels/ only.
#pragma once
#define HWY_COMPILE_ONLY_STATIC
#include <hwy/highway.h>
#include <sleef.h>

#include "wick/abi/marks.h"

namespace wick::cpu::WICK_ISA {

namespace hn = hwy::HWY_NAMESPACE;

// Without -DHWY_DISABLE_PCLMUL_AES Highway selects a lower target than the flags allow.
#if defined(__AVX512F__)
static_assert(HWY_STATIC_TARGET == HWY_AVX3);
#elif defined(__AVX2__)
static_assert(HWY_STATIC_TARGET == HWY_AVX2);
#else
static_assert(HWY_STATIC_TARGET == HWY_SSE4);
#endif

// SLEEF's functions, overloaded by vector type. Max error: 1.0 ulp (erfc 1.5). SLEEF's names
// combine function, lane count, error bound and instruction set, which takes a macro to spell.
#if defined(__AVX512F__)
#define WICK_SLEEF(name, bound)                                                           \
  WICK_HD __m512 sleef_##name(__m512 x) { return Sleef_##name##f16_##bound##avx512f(x); } \
  WICK_HD __m512d sleef_##name(__m512d x) { return Sleef_##name##d8_##bound##avx512f(x); }
#define WICK_SLEEF_2(name, bound)                      \
  WICK_HD __m512 sleef_##name(__m512 x, __m512 y) {    \
    return Sleef_##name##f16_##bound##avx512f(x, y);   \
  }                                                    \
  WICK_HD __m512d sleef_##name(__m512d x, __m512d y) { \
    return Sleef_##name##d8_##bound##avx512f(x, y);    \
  }
#elif defined(__AVX2__)
#define WICK_SLEEF(name, bound)                                                       \
  WICK_HD __m256 sleef_##name(__m256 x) { return Sleef_##name##f8_##bound##avx2(x); } \
  WICK_HD __m256d sleef_##name(__m256d x) { return Sleef_##name##d4_##bound##avx2(x); }
#define WICK_SLEEF_2(name, bound)                                                                  \
  WICK_HD __m256 sleef_##name(__m256 x, __m256 y) { return Sleef_##name##f8_##bound##avx2(x, y); } \
  WICK_HD __m256d sleef_##name(__m256d x, __m256d y) {                                             \
    return Sleef_##name##d4_##bound##avx2(x, y);                                                   \
  }
#else
#define WICK_SLEEF(name, bound)                                                       \
  WICK_HD __m128 sleef_##name(__m128 x) { return Sleef_##name##f4_##bound##sse4(x); } \
  WICK_HD __m128d sleef_##name(__m128d x) { return Sleef_##name##d2_##bound##sse4(x); }
#define WICK_SLEEF_2(name, bound)                                                                  \
  WICK_HD __m128 sleef_##name(__m128 x, __m128 y) { return Sleef_##name##f4_##bound##sse4(x, y); } \
  WICK_HD __m128d sleef_##name(__m128d x, __m128d y) {                                             \
    return Sleef_##name##d2_##bound##sse4(x, y);                                                   \
  }
#endif
WICK_SLEEF(exp, u10)
WICK_SLEEF(exp2, u10)
WICK_SLEEF(expm1, u10)
WICK_SLEEF(log, u10)
WICK_SLEEF(log2, u10)
WICK_SLEEF(log10, u10)
WICK_SLEEF(log1p, u10)
WICK_SLEEF(sin, u10)
WICK_SLEEF(cos, u10)
WICK_SLEEF(tan, u10)
WICK_SLEEF(asin, u10)
WICK_SLEEF(acos, u10)
WICK_SLEEF(atan, u10)
WICK_SLEEF(sinh, u10)
WICK_SLEEF(cosh, u10)
WICK_SLEEF(tanh, u10)
WICK_SLEEF(asinh, u10)
WICK_SLEEF(acosh, u10)
WICK_SLEEF(atanh, u10)
WICK_SLEEF(erf, u10)
WICK_SLEEF(erfc, u15)
WICK_SLEEF(lgamma, u10)
WICK_SLEEF_2(pow, u10)
WICK_SLEEF_2(atan2, u10)
#undef WICK_SLEEF
#undef WICK_SLEEF_2

/// Functions that have a form of our own.
namespace functions {

using Doubles = hn::Vec<hn::ScalableTag<double>>;
WICK_HD Doubles exp(Doubles x) { return Doubles{sleef_exp(x.raw)}; }
WICK_HD Doubles erf(Doubles x) { return Doubles{sleef_erf(x.raw)}; }
WICK_HD Doubles erfc(Doubles x) { return Doubles{sleef_erfc(x.raw)}; }
WICK_HD Doubles quick_erfc(Doubles x) { return erfc(x); }

using Tag = hn::ScalableTag<float>;
using V = hn::Vec<Tag>;

#if !HWY_NATIVE_FMA  // our own need it
WICK_HD V exp(V x) { return V{sleef_exp(x.raw)}; }
WICK_HD V erf(V x) { return V{sleef_erf(x.raw)}; }
WICK_HD V erfc(V x) { return V{sleef_erfc(x.raw)}; }
WICK_HD V quick_erfc(V x) { return erfc(x); }
#else

WICK_HD V set(float x) { return hn::Set(Tag(), x); }

/// c[0] + c[1] x + c[2] x^2 ...
template <size_t n>
WICK_HD V polynomial(V x, const float (&c)[n]) {
  V sum = set(c[n - 1]);
  for (size_t i = n - 1; i-- > 0;) sum = hn::MulAdd(sum, x, set(c[i]));
  return sum;
}

/// x 2^n, rounded once; n is a whole number in [-300, 300].
WICK_HD V scale(V x, V n) {
#if defined(__AVX512F__)
  // The unmasked form makes g++ warn of an uninitialized register.
  return V{_mm512_maskz_scalef_ps(0xffff, x.raw, n.raw)};
#else
  // By two factors: 2^n alone may be out of range. The first product is exact.
  const hn::Rebind<int32, Tag> i32;
  const auto power = [&](auto e) {
    return hn::BitCast(Tag(), hn::ShiftLeft<23>(hn::Add(e, hn::Set(i32, 127))));
  };
  const auto all = hn::ConvertTo(i32, n), half = hn::ShiftRight<1>(all);
  return hn::Mul(hn::Mul(x, power(half)), power(hn::Sub(all, half)));
#endif
}

/// e^x = (1 + rest) 2^whole.
struct Exponential {
  V rest, whole;

  /// x in [-105, 90] or NaN.
  explicit WICK_HD Exponential(V x) {
    whole = hn::Round(hn::Mul(x, set(0x1.715476p+0f)));
    V r = hn::NegMulAdd(whole, set(0x1.62e430p-1f), x);  // log(2) in two parts
    r = hn::NegMulAdd(whole, set(-0x1.05c610p-29f), r);
    const V q = polynomial(
        r, {0x1.fffffcp-2f, 0x1.555490p-3f, 0x1.5558f4p-5f, 0x1.123a6cp-7f, 0x1.6a234ap-10f});
    rest = hn::MulAdd(hn::Mul(r, r), q, r);
  }
};

/// x, but at least -105 and at most 90, beyond which e^x is 0 and infinite.
WICK_HD V clamped(V x) { return hn::Max(set(-105), hn::Min(set(90), x)); }

/// e^x. Max error: 1.1 ulp.
WICK_HD V exp(V x) {
  const Exponential e(clamped(x));
  return scale(hn::Add(e.rest, set(1)), e.whole);
}

/// erfc(x) for x >= 0 as e^-x^2 P(q) / (x + 2), q = (x - 2) / (x + 2). Source of the form:
/// Schonfelder 1978, "Chebyshev expansions for the error and related functions", Math. Comp. 32.
struct ErfcParts {
  V r, r_low;     // 1 / (a + 2), where a is x, but at most 11, where erfc is 0
  V q, slope;     // P(q) = kFirst + kFirstLow + q slope
  V square, low;  // a^2 = square - low
  static constexpr float kFirst = 0x1.058672p+0f, kFirstLow = -0x1.de503cp-27f;

  explicit WICK_HD ErfcParts(V x) {
    const V a = hn::Min(set(11), x), sum = hn::Add(a, set(2)),
            sum_low = hn::Sub(a, hn::Sub(sum, set(2)));
    r = hn::Div(set(1), sum);
    r_low = hn::Mul(hn::NegMulAdd(r, sum_low, hn::NegMulAdd(r, sum, set(1))), r);
    q = hn::NegMulAdd(set(4), r_low, hn::NegMulAdd(set(4), r, set(1)));
    slope = polynomial(
        q, {-0x1.5fd386p-1f, 0x1.1e2dd8p-2f, -0x1.2a8802p-5f, -0x1.60594cp-6f, 0x1.a86a76p-8f,
            0x1.91668cp-9f, -0x1.b4936ap-11f, -0x1.36afd2p-11f, 0x1.8fb8fap-15f, 0x1.250488p-14f});
    square = hn::Mul(a, a);
    low = hn::NegMulAdd(a, a, square);
  }
};

/// erfc(|x|). Max error: 4 ulp.
WICK_HD V quick_erfc_of_magnitude(V magnitude) {
  const ErfcParts p(magnitude);
  const Exponential e(hn::Neg(p.square));
  const V w = hn::MulAdd(p.q, p.slope, set(ErfcParts::kFirst));
  const V y = hn::MulAdd(w, p.r, hn::Mul(w, p.r_low));
  const V rest = hn::MulAdd(e.rest, p.low, hn::Add(e.rest, p.low));
  return scale(hn::MulAdd(y, rest, y), e.whole);
}

/// erfc(|x|). The parts' roundings are carried along.
WICK_HD V erfc_of_magnitude(V magnitude) {
  const ErfcParts p(magnitude);
  const Exponential e(hn::Neg(p.square));
  const V q_low = hn::NegMulAdd(set(4), p.r_low, hn::NegMulAdd(set(4), p.r, hn::Sub(set(1), p.q)));
  const V first = set(ErfcParts::kFirst), product = hn::Mul(p.q, p.slope);
  const V product_low = hn::MulAdd(q_low, p.slope, hn::MulSub(p.q, p.slope, product));
  const V w = hn::Add(first, product);  // |first| > |product|
  const V w_low =
      hn::Add(hn::Add(hn::Sub(product, hn::Sub(w, first)), product_low), set(ErfcParts::kFirstLow));
  // (w + w_low) (r + r_low) (1 + rest) (1 + low).
  const V y = hn::Mul(w, p.r);
  const V y_low = hn::MulAdd(w, p.r_low, hn::MulAdd(w_low, p.r, hn::MulSub(w, p.r, y)));
  const V s = hn::Add(set(1), e.rest), s_low = hn::Sub(e.rest, hn::Sub(s, set(1)));
  const V z = hn::Mul(y, s);
  const V z_low =
      hn::MulAdd(y, hn::MulAdd(s, p.low, s_low), hn::MulAdd(y_low, s, hn::MulSub(y, s, z)));
  return scale(hn::Add(z, z_low), e.whole);
}

/// 2 - y for negative x.
WICK_HD V reflected(V x, V y) { return hn::IfThenElse(hn::Lt(x, set(0)), hn::Sub(set(2), y), y); }

/// 1 - erf(x). Max error: 2 ulp.
WICK_HD V erfc(V x) { return reflected(x, erfc_of_magnitude(hn::Abs(x))); }
/// The same. Max error: 4 ulp.
WICK_HD V quick_erfc(V x) { return reflected(x, quick_erfc_of_magnitude(hn::Abs(x))); }

/// erf(x). Max error: 1.5 ulp.
WICK_HD V erf(V x) {
  const V a = hn::Abs(x), square = hn::Mul(x, x);
  const V slope = polynomial(square, {-0x1.81273ep-2f, 0x1.ce2cf8p-4f, -0x1.b7f90cp-6f,
                                      0x1.5405aep-8f, -0x1.a3f6e8p-11f, 0x1.4969f6p-14f});
  // x (1 + (P - 1)): the leading 1 keeps the rounding of P small.
  const V near = hn::MulAdd(x, hn::MulAdd(square, slope, set(0x1.06eba8p-3f)), x);
  const V far = hn::CopySign(hn::Sub(set(1), quick_erfc_of_magnitude(a)), x);
  return hn::IfThenElse(hn::Lt(a, set(1)), near, far);
}

#endif
}  // namespace functions

}  // namespace wick::cpu::WICK_ISA
