// What each dtype can hold, by arithmetic instead of bits: independent of wick/abi/numbers.h, which
// it is a test of.
#pragma once
#include <cfenv>
#include <cmath>
#include <limits>
#include <span>

#include "wick/abi/dtype.h"

namespace wick::reference {

/// Holds every element of every dtype exactly, i64 included, and 11 bits more than an f64.
using Real = long double;
static_assert(std::numeric_limits<Real>::digits >= 64);

/// Holds sums and products of two integers of any dtype exactly.
__extension__ using Wide = __int128;
/// a b modulo 2^128: of two u64 the product is just too large.
inline Wide multiply(Wide a, Wide b) {
  __extension__ using Unsigned = unsigned __int128;
  return Wide(Unsigned(a) * Unsigned(b));
}

/// A binary floating format: values are m · 2^e with |m| < 2, `precision` bits in m.
struct Format {
  int precision;         // with the hidden bit
  int lowest_exponent;   // of normal numbers: the smallest normal is 2^lowest_exponent
  int highest_exponent;  // of finite numbers
  bool has_infinity;     // else what is too large is NaN, and so is the largest mantissa of the
                         // highest exponent
  bool has_nan;          // else it saturates
};
Format format_of(DType floating);

Real largest(DType dtype);
Real lowest(DType dtype);
Real smallest_normal(DType floating);
Real smallest_subnormal(DType floating);
/// The distance of two neighbours at x; below the smallest normal that of subnormals.
Real ulp(DType floating, Real x);
/// Half an ulp of 1: the relative error of one rounding.
Real unit_roundoff(DType floating);

/// x rounded to the nearest value of a floating dtype, ties to even; too large: infinity, or NaN
/// where there is none.
Real round_to_format(DType floating, Real x);
/// An exact integer as the dtype holds it: the low bits.
Real wrap(DType integer, Wide x);
/// The conversion that `cast` promises. x is a value of `from`.
Real convert(DType from, DType to, Real x);

/// The value of one element's bytes, and the bytes of a value that the dtype holds.
Real decode(DType dtype, const void* bytes);
void encode(DType dtype, Real x, void* bytes);
/// The values of many elements' bytes, one after another, and their bytes.
void decode(DType dtype, const unsigned char* bytes, std::span<Real> values);
void encode(DType dtype, std::span<const Real> values, unsigned char* bytes);

/// f(), which is one operation on Reals, rounded to odd: towards zero, the last bit set if anything
/// was cut. Rounding that to a dtype of at least two bits less gives what rounding the exact result
/// once would.
template <class F>
Real rounded_to_odd(const F& f) {
  const int before = std::fegetround();
  std::fesetround(FE_TOWARDZERO);
  std::feclearexcept(FE_INEXACT);
  // volatile: neither hoisted above nor sunk below the calls that change the rounding.
  volatile Real result = f();
  const bool inexact = std::fetestexcept(FE_INEXACT) != 0;
  std::fesetround(before);
  const Real x = result;
  if (!inexact || !std::isfinite(x)) return x;
  int exponent = 0;
  const Real mantissa = std::ldexp(std::frexp(x, &exponent), std::numeric_limits<Real>::digits);
  if (std::fmod(mantissa, 2) != 0) return x;
  return std::ldexp(mantissa + std::copysign(Real(1), x),
                    exponent - std::numeric_limits<Real>::digits);
}

}  // namespace wick::reference
