// Lanes<float> and Lanes<double>: the SIMD types with which the kernels of one instruction set
// (WICK_ISA) compute formulas. Uses Highway with static dispatch, and SLEEF for elementary functions,
// since Highway's are wrong outside of narrow ranges. Included by kernels/ only.
#pragma once
#define HWY_COMPILE_ONLY_STATIC
#include <hwy/highway.h>
#include <sleef.h>

#include "scalar/gamma.h"
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

// SLEEF's functions, overloaded by vector type. Max error: 1.0 ulp (erfc 1.5). SLEEF's names combine
// function, lane count, error bound and instruction set, which takes a macro to spell.
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

/// A vector register of S that reads like an S.
template <class S>
struct Lanes {
  using Tag = hn::ScalableTag<S>;
  using Vector = hn::Vec<Tag>;
  using Mask = hn::Mask<Tag>;
  static constexpr int kCount = HWY_LANES(S);

  Vector v;

  Lanes() = default;
  WICK_HD Lanes(Vector vector) : v(vector) {}
  explicit WICK_HD Lanes(S value) : v(hn::Set(Tag(), value)) {}

  static WICK_HD Lanes load(const S* from) { return hn::LoadU(Tag(), from); }
  WICK_HD void store(S* to) const { hn::StoreU(v, Tag(), to); }

  friend WICK_HD Lanes operator+(Lanes a, Lanes b) { return hn::Add(a.v, b.v); }
  friend WICK_HD Lanes operator-(Lanes a, Lanes b) { return hn::Sub(a.v, b.v); }
  friend WICK_HD Lanes operator*(Lanes a, Lanes b) { return hn::Mul(a.v, b.v); }
  friend WICK_HD Lanes operator/(Lanes a, Lanes b) { return hn::Div(a.v, b.v); }
  friend WICK_HD Lanes operator-(Lanes a) { return hn::Neg(a.v); }

  friend WICK_HD Mask operator<(Lanes a, Lanes b) { return hn::Lt(a.v, b.v); }
  friend WICK_HD Mask operator<=(Lanes a, Lanes b) { return hn::Le(a.v, b.v); }
  friend WICK_HD Mask operator>(Lanes a, Lanes b) { return hn::Gt(a.v, b.v); }
  friend WICK_HD Mask operator>=(Lanes a, Lanes b) { return hn::Ge(a.v, b.v); }
  friend WICK_HD Mask operator==(Lanes a, Lanes b) { return hn::Eq(a.v, b.v); }
  // Highway's Ne is ordered on AVX2 and AVX-512: NaN != NaN would be false.
  friend WICK_HD Mask operator!=(Lanes a, Lanes b) { return hn::Not(hn::Eq(a.v, b.v)); }
  friend WICK_HD Lanes select(Mask condition, Lanes a, Lanes b) {
    return hn::IfThenElse(condition, a.v, b.v);
  }

  /// The larger; where one is NaN either of them.
  friend WICK_HD Lanes larger(Lanes a, Lanes b) { return hn::Max(a.v, b.v); }
  friend WICK_HD Lanes abs(Lanes a) { return hn::Abs(a.v); }
  friend WICK_HD Lanes sqrt(Lanes a) { return hn::Sqrt(a.v); }
  /// a · b + c, rounded once where the instruction set has it (not on the baseline).
  friend WICK_HD Lanes fma(Lanes a, Lanes b, Lanes c) { return hn::MulAdd(a.v, b.v, c.v); }
  friend WICK_HD Lanes exp(Lanes a) { return Vector{sleef_exp(a.v.raw)}; }
  friend WICK_HD Lanes exp2(Lanes a) { return Vector{sleef_exp2(a.v.raw)}; }
  friend WICK_HD Lanes expm1(Lanes a) { return Vector{sleef_expm1(a.v.raw)}; }
  friend WICK_HD Lanes log(Lanes a) { return Vector{sleef_log(a.v.raw)}; }
  friend WICK_HD Lanes log2(Lanes a) { return Vector{sleef_log2(a.v.raw)}; }
  friend WICK_HD Lanes log10(Lanes a) { return Vector{sleef_log10(a.v.raw)}; }
  friend WICK_HD Lanes sin(Lanes a) { return Vector{sleef_sin(a.v.raw)}; }
  friend WICK_HD Lanes cos(Lanes a) { return Vector{sleef_cos(a.v.raw)}; }
  friend WICK_HD Lanes tan(Lanes a) { return Vector{sleef_tan(a.v.raw)}; }
  friend WICK_HD Lanes asin(Lanes a) { return Vector{sleef_asin(a.v.raw)}; }
  friend WICK_HD Lanes acos(Lanes a) { return Vector{sleef_acos(a.v.raw)}; }
  friend WICK_HD Lanes atan(Lanes a) { return Vector{sleef_atan(a.v.raw)}; }
  friend WICK_HD Lanes tanh(Lanes a) { return Vector{sleef_tanh(a.v.raw)}; }
  friend WICK_HD Lanes atanh(Lanes a) { return Vector{sleef_atanh(a.v.raw)}; }
  friend WICK_HD Lanes erf(Lanes a) { return Vector{sleef_erf(a.v.raw)}; }
  friend WICK_HD Lanes erfc(Lanes a) { return Vector{sleef_erfc(a.v.raw)}; }
  friend WICK_HD Lanes quick_erfc(Lanes a) { return erfc(a); }
  friend WICK_HD Lanes lgamma(Lanes a) { return Vector{sleef_lgamma(a.v.raw)}; }
  friend WICK_HD Lanes pow(Lanes a, Lanes b) { return Vector{sleef_pow(a.v.raw, b.v.raw)}; }
  friend WICK_HD Lanes atan2(Lanes a, Lanes b) { return Vector{sleef_atan2(a.v.raw, b.v.raw)}; }
  friend WICK_HD Lanes floor(Lanes a) { return hn::Floor(a.v); }
  friend WICK_HD Lanes ceil(Lanes a) { return hn::Ceil(a.v); }
  friend WICK_HD Lanes trunc(Lanes a) { return hn::Trunc(a.v); }
  friend WICK_HD Lanes round_even(Lanes a) { return hn::Round(a.v); }

  // SLEEF's are good in a range; beyond it they are put together from others.
  friend WICK_HD Lanes sinh(Lanes a) {
    const Lanes half = exp(abs(a) * Lanes(S(0.5))), far = half * (half * Lanes(S(0.5)));
    return select(abs(a) > Lanes(S(80)), select(a < Lanes(S(0)), -far, far),
                  Lanes(Vector{sleef_sinh(a.v.raw)}));
  }
  friend WICK_HD Lanes cosh(Lanes a) {
    const Lanes half = exp(abs(a) * Lanes(S(0.5)));
    return select(abs(a) > Lanes(S(80)), half * (half * Lanes(S(0.5))),
                  Lanes(Vector{sleef_cosh(a.v.raw)}));
  }
  friend WICK_HD Lanes asinh(Lanes a) {
    const Lanes far = log(abs(a)) + Lanes(S(0.69314718055994530942));
    return select(abs(a) > Lanes(S(1e9)), select(a < Lanes(S(0)), -far, far),
                  Lanes(Vector{sleef_asinh(a.v.raw)}));
  }
  friend WICK_HD Lanes acosh(Lanes a) {
    return select(a > Lanes(S(1e9)), log(a) + Lanes(S(0.69314718055994530942)),
                  Lanes(Vector{sleef_acosh(a.v.raw)}));
  }
  friend WICK_HD Lanes log1p(Lanes a) {
    return select(a > Lanes(S(1e30)), log(a), Lanes(Vector{sleef_log1p(a.v.raw)}));
  }

  /// f of every lane by itself.
  template <class F>
  static WICK_HD Lanes each(F f, Lanes a, Lanes b = Lanes(S(0))) {
    alignas(64) S x[kCount], y[kCount];
    a.store(x), b.store(y);
    for (int i = 0; i < kCount; i++) x[i] = f(x[i], y[i]);
    return load(x);
  }
  friend WICK_HD Lanes fmod(Lanes a, Lanes b) {
    return each([](S x, S y) { return std::fmod(x, y); }, a, b);
  }
  friend WICK_HD Lanes polygamma(Lanes order, Lanes a) {
    return each([](S n, S x) { return wick::polygamma(n, x); }, order, a);
  }
  friend WICK_HD Lanes digamma(Lanes a) {
    return each([](S x, S) { return wick::digamma(x); }, a);
  }
  friend WICK_HD Lanes trigamma(Lanes a) {
    return each([](S x, S) { return wick::trigamma(x); }, a);
  }
};

/// Computed in lanes; integers are loops over scalars, which the compiler vectorizes.
template <class S>
inline constexpr bool kHasLanes = kSame<S, float> || kSame<S, double>;

}  // namespace wick::cpu::WICK_ISA
