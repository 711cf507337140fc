// Lanes<float> and Lanes<double>: the SIMD types with which the kernels of one instruction set
// (WICK_ISA) compute formulas. Included by kernels/ only.
#pragma once
#include <limits>

#include "kernels/functions.h"
#include "scalar/gamma.h"
#include "wick/abi/marks.h"

namespace wick::cpu::WICK_ISA {

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
  friend WICK_HD Lanes exp(Lanes a) { return functions::exp(a.v); }
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
  friend WICK_HD Lanes erf(Lanes a) { return functions::erf(a.v); }
  friend WICK_HD Lanes erfc(Lanes a) { return functions::erfc(a.v); }
  friend WICK_HD Lanes quick_erfc(Lanes a) { return functions::quick_erfc(a.v); }
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
#if HWY_NATIVE_FMA
    // If the quotient is small and finite, its whole part is off by one at most, and the remainder
    // is exact with one rounding.
    constexpr S kExact = S(int64(1) << (sizeof(S) == 4 ? 24 : 53));
    const Lanes size = abs(a), divisor = abs(b);
    const Mask is_small = hn::And(size < divisor * Lanes(kExact),
                                  divisor < Lanes(std::numeric_limits<S>::infinity()));
    if (hn::AllTrue(Tag(), is_small)) {
      const Lanes rest = fma(-trunc(size / divisor), divisor, size);
      const Lanes cut = select(rest < Lanes(S(0)), rest + divisor, rest);
      return hn::CopySign(cut.v, a.v);
    }
#endif
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
