// Conversion between any two element types. Float to integer truncates and saturates, NaN becomes
// 0; conversion to bool tests for nonzero; conversion to float rounds once. Pairs are not
// enumerated: a value passes through the widest type of its kind.
#pragma once
#include "scalar/math.h"

namespace wick {

/// The widest type of T's kind, which holds every T: f32 for floats up to f32, f64, i64, u64 for
/// u64.
template <class T>
struct WideOf {
  using type = Compute<T>;
};
template <class T>
requires(!is_floating(kDTypeOf<T>)) struct WideOf<T> {
  using type = int64;
};
template <>
struct WideOf<uint64> {
  using type = uint64;
};
template <class T>
using Wide = typename WideOf<T>::type;

template <class T>
inline constexpr bool kIsFloat = is_floating(kDTypeOf<T>);

namespace detail {
/// Converts a float to an integer: truncated toward zero, saturated, 0 for NaN.
template <class To, class From>
WICK_HD constexpr To saturate(From x) {
  constexpr bool is_signed = To(-1) < To(0);
  constexpr int bits = 8 * sizeof(To);
  constexpr To lowest = is_signed ? To(uint64(1) << (bits - 1)) : To(0);
  constexpr To highest = To(~uint64(lowest));
  constexpr From bound =
      From(uint64(1) << (bits - 1)) * (is_signed ? From(1) : From(2));  // 2^n, exact
  if (x != x) return 0;
  if (x >= bound) return highest;
  if (x <= From(lowest)) return lowest;
  return To(x);
}

/// Converts an integer to double with round-to-odd: the last bit records lost bits, so that
/// rounding the result again equals rounding once.
WICK_HD constexpr double to_odd(uint64 size) {
  if (size >> 53)
    size = (size & ~uint64(0x7ff)) | (size & 0x7ff ? 0x800 : 0);  // the upper 53 bits stay exact
  return double(size);
}
WICK_HD constexpr double to_odd(int64 x) {
  return x < 0 ? -to_odd(0 - uint64(x)) : to_odd(uint64(x));
}
}  // namespace detail

/// Converts from a widest type (f32, f64, i64, u64) to any type.
template <class To, class From>
WICK_HD constexpr To from_wide(From x) {
  if constexpr (kSame<To, bool>)
    return x != From(0);
  else if constexpr (kIsInteger<From>) {
    if constexpr (kSame<To, float> || kSame<To, double>)
      return To(x);
    else if constexpr (kIsFloat<To>)
      return round_to<To>(detail::to_odd(x));
    else
      return To(x);  // integers wrap
  } else if constexpr (kIsFloat<To>)
    return round_to<To>(x);
  else
    return detail::saturate<To>(x);
}

template <class To, class From>
WICK_HD constexpr To convert(From x) {
  return from_wide<To>(widen<Wide<From>>(x));
}

}  // namespace wick
