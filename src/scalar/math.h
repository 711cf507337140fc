// The functions that formulas call, for scalars: found by argument type, as those of SIMD lanes are
// (backends/cpu/kernels/lanes.h). Freestanding in device passes, where each compiler's own expansion serves
// f32 and the vendor's library f64.
#pragma once
#include "wick/abi/dtype.h"
#if !defined(__HIP__) && !defined(__CUDACC__)
#include <cmath>
#endif

#if defined(__HIP__)  // f64 by ocml, linked as bitcode
extern "C" __attribute__((device)) double __ocml_exp_f64(double);
extern "C" __attribute__((device)) double __ocml_log_f64(double);
#endif

namespace wick {

#if defined(__HIP__)
#define WICK_SCALAR __attribute__((device)) inline
WICK_SCALAR float exp(float x) { return __builtin_expf(x); }
WICK_SCALAR float log(float x) { return __builtin_logf(x); }
WICK_SCALAR float sqrt(float x) { return __builtin_sqrtf(x); }
WICK_SCALAR double exp(double x) { return __ocml_exp_f64(x); }
WICK_SCALAR double log(double x) { return __ocml_log_f64(x); }
WICK_SCALAR double sqrt(double x) { return __builtin_sqrt(x); }
WICK_SCALAR float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
WICK_SCALAR double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
#elif defined(__CUDACC__)
#define WICK_SCALAR __attribute__((device)) inline
WICK_SCALAR float exp(float x) { return ::expf(x); }
WICK_SCALAR float log(float x) { return ::logf(x); }
WICK_SCALAR float sqrt(float x) { return ::sqrtf(x); }
WICK_SCALAR double exp(double x) { return ::exp(x); }
WICK_SCALAR double log(double x) { return ::log(x); }
WICK_SCALAR double sqrt(double x) { return ::sqrt(x); }
WICK_SCALAR float fma(float a, float b, float c) { return ::fmaf(a, b, c); }
WICK_SCALAR double fma(double a, double b, double c) { return ::fma(a, b, c); }
#else
#define WICK_SCALAR inline
using std::erf, std::erfc, std::lgamma, std::pow, std::fmod;
using std::exp, std::log, std::sqrt, std::fma;
using std::exp2, std::expm1, std::log2, std::log10, std::log1p;
using std::floor, std::ceil, std::trunc;
using std::sin, std::cos, std::tan, std::asin, std::acos, std::atan, std::atan2;
using std::sinh, std::cosh, std::tanh, std::asinh, std::acosh, std::atanh;
template <class T>
WICK_HD T round_even(T x) {
  return std::nearbyint(x);
}
#endif

WICK_HD constexpr float abs(float x) {
  return __builtin_bit_cast(float, __builtin_bit_cast(uint32, x) & 0x7fffffffu);
}
WICK_HD constexpr double abs(double x) {
  return __builtin_bit_cast(double, __builtin_bit_cast(uint64, x) & ~(uint64(1) << 63));
}
/// The magnitude of an integer; the lowest stays itself.
template <class T>
requires(kIsInteger<T>) WICK_HD constexpr T abs(T x) { return x < T(0) ? T(0 - uint64(x)) : x; }
/// Returns a or b, and evaluates both, in every form: it guards operands, not results.
template <class T>
WICK_HD constexpr T select(bool condition, T a, T b) {
  return condition ? a : b;
}

/// The type that T is computed in: f32 for the narrower floats, else the type itself.
template <class T>
struct ComputeOf {
  using type = T;
};
template <class T>
requires(is_floating(kDTypeOf<T>) && sizeof(T) < 4) struct ComputeOf<T> {
  using type = float;
};
template <class T>
using Compute = typename ComputeOf<T>::type;

/// The type that formula F computes T in: Compute<T>, but unsigned for signed integers where F is
/// modular (F::kModular), so that it wraps.
template <class F, class T>
struct ComputeInOf {
  using type = Compute<T>;
};
template <class F>
requires(F::kModular) struct ComputeInOf<F, uint16> {
  using type = uint32;  // int does not hold every product
};
template <class F>
requires(F::kModular) struct ComputeInOf<F, int32> {
  using type = uint32;
};
template <class F>
requires(F::kModular) struct ComputeInOf<F, int64> {
  using type = uint64;
};
template <class F>
struct ComputeInOf<F, bool> {
  using type = uint8;
};
template <class F, class T>
using ComputeIn = typename ComputeInOf<F, T>::type;

/// Storage type to compute type and back, rounding once.
template <class C, class T>
WICK_HD constexpr C widen(T x) {
  if constexpr (kSame<C, float> && !kSame<T, float>)
    return to_float(x);
  else
    return C(x);
}
template <class T, class C>
WICK_HD constexpr T narrow(C x) {
  if constexpr (kSame<C, float> && !kSame<T, float>)
    return round_to<T>(x);
  else
    return T(x);
}

}  // namespace wick
