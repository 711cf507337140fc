// Normal numbers from uniform words by the Box-Muller method: sqrt(-2 log u) (cos, sin)(2 pi v).
// Source: Box & Muller 1958, Annals of Mathematical Statistics 29(2).
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numbers>

#include "base/wide.h"

namespace wick {

namespace detail {

/// The natural logarithm of a positive normal number, within 2 ulp. It is branch-free, so loops
/// over it vectorize, and gives the same bits on every machine. Source: Cephes 2.2, logf.
WICK_INLINE float log_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  // x = m 2^e, m in [sqrt(1/2), sqrt(2))
  constexpr uint32_t kRoot = 0x3f3504f3;  // sqrt(1/2)
  const uint32_t shifted = bits - kRoot;
  const auto e = float(int32_t(shifted) >> 23);
  const uint32_t mantissa = (shifted & 0x7fffff) + kRoot;
  float m;
  std::memcpy(&m, &mantissa, 4);
  const float t = m - 1, z = t * t;
  float p = 7.0376836292e-2f;  // unrolled by hand, so that the caller's loop vectorizes
  p = p * t - 1.1514610310e-1f;
  p = p * t + 1.1676998740e-1f;
  p = p * t - 1.2420140846e-1f;
  p = p * t + 1.4249322787e-1f;
  p = p * t - 1.6668057665e-1f;
  p = p * t + 2.0000714765e-1f;
  p = p * t - 2.4999993993e-1f;
  p = p * t + 3.3333331174e-1f;
  // log 2 is split into two parts; the first times e is exact
  return t + (p * t * z - 2.12194440e-4f * e - 0.5f * z) + 0.693359375f * e;
}

/// -x if the highest bit of sign is set, else x.
WICK_INLINE float with_sign(float x, uint32_t sign) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  bits ^= sign & 0x80000000u;
  std::memcpy(&x, &bits, 4);
  return x;
}

/// cos and sin of 2 pi (turn / 2^32), within 2 ulp of 1.
WICK_INLINE void cos_sin_of_turn(uint32_t turn, float* cosine, float* sine) {
  // The nearest quarter turn, and the remainder in [-1/8, 1/8) of a turn.
  const uint32_t quarter = (turn + 0x20000000u) >> 30;
  const float r = float(int32_t(turn - (quarter << 30))) * float(2 * std::numbers::pi / 0x1p32);
  const float z = r * r;
  const float s = r + r * z * (-1.6666654611e-1f + z * (8.3321608736e-3f - z * 1.9515295891e-4f));
  const float c =
      1 - 0.5f * z +
      z * z * (4.166664568298827e-2f + z * (-1.388731625493765e-3f + z * 2.443315711809948e-5f));
  const bool odd = (quarter & 1) != 0;
  *cosine = with_sign(odd ? s : c, (quarter + 1) << 30);
  *sine = with_sign(odd ? c : s, quarter << 30);
}

}  // namespace detail

/// Makes two numbers per pair from two words.
void normal_pairs(const uint32_t* words, float* out, int64_t pairs);
/// Makes two numbers per pair from four words.
void normal_pairs(const uint32_t* words, double* out, int64_t pairs);

}  // namespace wick
