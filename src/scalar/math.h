// Scalar versions of the functions that formulas call, overloaded by argument type; the SIMD
// versions are in backends/cpu/kernels/lanes.h. Freestanding in device passes. Error: 2 ulp, except
// quick_erfc.
#pragma once
// Angle brackets keep these includes out of the text that users' formulas are compiled with
// (cmake/EmbedHeaders.cmake).
#if defined(__HIP__)
#include <scalar/math_amd.h>
#elif defined(__CUDACC__)
#include <scalar/math_nvidia.h>
#else
#include "scalar/math_host.h"
#endif

namespace wick {

/// Returns a or b; both are always evaluated, so it guards operands, not results.
template <class T>
WICK_HD constexpr T select(bool condition, T a, T b) {
  return condition ? a : b;
}

/// The type in which T is computed: f32 for the narrower floats, else T.
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

/// The type in which formula F computes T: Compute<T>, or an unsigned type for signed integers if F
/// is modular (F::kModular), so that overflow wraps.
template <class F, class T>
struct ComputeInOf {
  using type = Compute<T>;
};
template <class F>
requires(F::kModular) struct ComputeInOf<F, uint16> {
  using type = uint32;  // int cannot hold every product
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

/// Converts from storage type to compute type and back, rounding once.
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
