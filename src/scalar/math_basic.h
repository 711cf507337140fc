// Functions that compilers expand inline: exact, or rounded once.
#pragma once
#include "wick/abi/dtype.h"
#if !defined(__HIP__) && !defined(__CUDACC__)
#include <cmath>
#endif

namespace wick {

#if defined(__HIP__)
#define WICK_SCALAR __attribute__((device)) inline
WICK_SCALAR float sqrt(float x) { return __builtin_sqrtf(x); }
WICK_SCALAR float floor(float x) { return __builtin_floorf(x); }
WICK_SCALAR float ceil(float x) { return __builtin_ceilf(x); }
WICK_SCALAR float trunc(float x) { return __builtin_truncf(x); }
WICK_SCALAR float round_even(float x) { return __builtin_rintf(x); }
WICK_SCALAR float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
WICK_SCALAR double sqrt(double x) { return __builtin_sqrt(x); }
WICK_SCALAR double floor(double x) { return __builtin_floor(x); }
WICK_SCALAR double ceil(double x) { return __builtin_ceil(x); }
WICK_SCALAR double trunc(double x) { return __builtin_trunc(x); }
WICK_SCALAR double round_even(double x) { return __builtin_rint(x); }
WICK_SCALAR double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
#elif defined(__CUDACC__)
#define WICK_SCALAR __attribute__((device)) inline
WICK_SCALAR float sqrt(float x) { return ::sqrtf(x); }
WICK_SCALAR float floor(float x) { return ::floorf(x); }
WICK_SCALAR float ceil(float x) { return ::ceilf(x); }
WICK_SCALAR float trunc(float x) { return ::truncf(x); }
WICK_SCALAR float round_even(float x) { return ::rintf(x); }
WICK_SCALAR float fma(float a, float b, float c) { return ::fmaf(a, b, c); }
WICK_SCALAR double sqrt(double x) { return ::sqrt(x); }
WICK_SCALAR double floor(double x) { return ::floor(x); }
WICK_SCALAR double ceil(double x) { return ::ceil(x); }
WICK_SCALAR double trunc(double x) { return ::trunc(x); }
WICK_SCALAR double round_even(double x) { return ::rint(x); }
WICK_SCALAR double fma(double a, double b, double c) { return ::fma(a, b, c); }
#else
#define WICK_SCALAR inline
using std::sqrt, std::fma, std::floor, std::ceil, std::trunc;
WICK_SCALAR float round_even(float x) { return std::nearbyint(x); }
WICK_SCALAR double round_even(double x) { return std::nearbyint(x); }
#endif

WICK_HD constexpr float abs(float x) {
  return __builtin_bit_cast(float, __builtin_bit_cast(uint32, x) & 0x7fffffffu);
}
WICK_HD constexpr double abs(double x) {
  return __builtin_bit_cast(double, __builtin_bit_cast(uint64, x) & ~(uint64(1) << 63));
}
/// The absolute value of an integer; the lowest value is unchanged.
template <class T>
requires(kIsInteger<T>) WICK_HD constexpr T abs(T x) { return x < T(0) ? T(0 - uint64(x)) : x; }

}  // namespace wick
