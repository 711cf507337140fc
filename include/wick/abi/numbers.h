// Floating-point formats that C++20 lacks, stored as bits, and exact conversions between them.
// Freestanding.
//
//            sign, exponent, mantissa bits
//   bf16     1, 8, 7
//   f16      1, 5, 10   IEEE 754 binary16
//   f8e4m3   1, 4, 3    no infinity; largest 448, S.1111.111 is NaN
//   f8e5m2   1, 5, 2    the upper byte of an f16
//   f8e8m0   0, 8, 0    2^(bits - 127); 255 is NaN
//   f6e2m3   1, 2, 3    no infinity or NaN; largest 7.5
//   f6e3m2   1, 3, 2    no infinity or NaN; largest 28
//   f4       1, 2, 1    no infinity or NaN; largest 6 (e2m1)
//
// Conversions round once, to nearest, ties to even, and preserve subnormals, infinities and NaN.
// Values that are too large become infinity; in f8e4m3 they become NaN (OCP "OFP8", non-saturating
// mode); in f6 and f4 they, and NaN, become the largest value (OCP "MX"). f8e8m0 has only powers of
// two: ties round up, values below 2^-127 become 2^-127, negative values and values above 2^127
// become NaN.
#pragma once
#include "wick/abi/marks.h"

namespace wick {

struct f16 {
  uint16 bits;
};
struct bf16 {
  uint16 bits;
};
struct f8e4m3 {
  uint8 bits;
};
struct f8e5m2 {
  uint8 bits;
};
struct f8e8m0 {
  uint8 bits;
};
struct f6e2m3 {
  uint8 bits;  // in the low six bits
};
struct f6e3m2 {
  uint8 bits;
};
struct f4 {
  uint8 bits;  // in the low four bits
};

namespace numbers {

/// Rounds a positive finite or infinite double, given as its bits, to a format of `mantissa`
/// explicit mantissa bits and `exponent` exponent bits. Returns the format's bits without the sign;
/// `limit` is the bits of the largest finite value, and larger results return `overflow`.
template <int exponent, int mantissa>
WICK_HD constexpr uint32 round_magnitude(uint64 bits, uint32 limit, uint32 overflow) {
  constexpr int kBias = (1 << (exponent - 1)) - 1;
  const int e = int(bits >> 52) - 1023;
  if (e < -kBias - mantissa) return 0;  // below half the smallest subnormal
  const uint64 significand = (bits & ((uint64(1) << 52) - 1)) | uint64(1) << 52;
  // Bits to drop; subnormals drop more.
  const int drop = 52 - mantissa + (e < 1 - kBias ? 1 - kBias - e : 0);
  uint64 kept = significand >> drop;
  const uint64 rest = significand & ((uint64(1) << drop) - 1), half = uint64(1) << (drop - 1);
  if (rest > half || (rest == half && (kept & 1))) kept++;
  // For a normal number, `kept` includes the hidden bit, which adds one to the exponent field, so
  // the field starts one lower.
  const int64 field = e < 1 - kBias ? 0 : e + kBias - 1;
  const uint64 result = (uint64(field) << mantissa) + kept;
  return result > limit ? overflow : uint32(result);
}

template <int exponent, int mantissa>
WICK_HD constexpr uint32 round_from(double x, uint32 limit, uint32 overflow, uint32 nan) {
  const uint64 bits = __builtin_bit_cast(uint64, x);
  const uint32 sign = uint32(bits >> 63) << (exponent + mantissa);
  const uint64 size = bits & ~(uint64(1) << 63);
  if (size > uint64(0x7ff) << 52) return sign | nan;
  return sign | round_magnitude<exponent, mantissa>(size, limit, overflow);
}

/// Decodes the bits of a format, ignoring its special values.
template <int exponent, int mantissa>
WICK_HD constexpr float value_of(uint32 bits) {
  constexpr int kBias = (1 << (exponent - 1)) - 1;
  const uint32 sign = (bits >> (exponent + mantissa)) << 31;
  const uint32 e = bits >> mantissa & ((1u << exponent) - 1), f = bits & ((1u << mantissa) - 1);
  if (e == 0) {  // f · 2^(1 - bias - mantissa)
    const float unit = __builtin_bit_cast(float, uint32(127 + 1 - kBias - mantissa) << 23);
    return __builtin_bit_cast(float, __builtin_bit_cast(uint32, float(f) * unit) | sign);
  }
  return __builtin_bit_cast(float, sign | (e + 127 - kBias) << 23 | f << (23 - mantissa));
}

/// Rounds to the nearest power of two; ties round up.
WICK_HD constexpr f8e8m0 round_to_power(double x) {
  if (!(x >= 0)) return {255};  // also true for NaN
  const uint64 bits = __builtin_bit_cast(uint64, x);
  const int exponent = int(bits >> 52 & 0x7ff) - 1023 + int(bits >> 51 & 1);
  return {uint8(exponent < -127 ? 0 : exponent > 127 ? 255 : exponent + 127)};
}

}  // namespace numbers

WICK_HD constexpr float to_float(bf16 x) { return __builtin_bit_cast(float, uint32(x.bits) << 16); }
WICK_HD constexpr float to_float(f16 x) {
#if defined(__HIP_DEVICE_COMPILE__)  // a single instruction here and in round_to
  return float(__builtin_bit_cast(_Float16, x));
#elif defined(__CUDA_ARCH__)
  float y = 0;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
#else
#if defined(__F16C__) && defined(__GNUC__)
  using Halves = short __attribute__((vector_size(16)));
  if (!__builtin_is_constant_evaluated()) return __builtin_ia32_vcvtph2ps(Halves{short(x.bits)})[0];
#endif
  if ((x.bits & 0x7c00) == 0x7c00)
    return __builtin_bit_cast(
        float, uint32(x.bits & 0x8000) << 16 | 0x7f800000u | uint32(x.bits & 0x3ff) << 13);
  return numbers::value_of<5, 10>(x.bits);
#endif
}
WICK_HD constexpr float to_float(f8e5m2 x) { return to_float(f16{uint16(x.bits << 8)}); }
WICK_HD constexpr float to_float(f8e4m3 x) {
  if ((x.bits & 0x7f) == 0x7f)
    return __builtin_bit_cast(float, uint32(x.bits & 0x80) << 24 | 0x7fc00000u);
  return numbers::value_of<4, 3>(x.bits);
}
WICK_HD constexpr float to_float(f8e8m0 x) {
  return __builtin_bit_cast(float, x.bits == 255 ? 0x7fc00000u
                                   : x.bits      ? uint32(x.bits) << 23
                                                 : 0x00400000u);
}
WICK_HD constexpr float to_float(f6e2m3 x) { return numbers::value_of<2, 3>(x.bits & 0x3f); }
WICK_HD constexpr float to_float(f6e3m2 x) { return numbers::value_of<3, 2>(x.bits & 0x3f); }
WICK_HD constexpr float to_float(f4 x) { return numbers::value_of<2, 1>(x.bits & 0xf); }
WICK_HD constexpr float to_float(float x) { return x; }

/// Rounds once, directly from double; f64 to bf16 through f32 would round twice.
template <class T>
WICK_HD constexpr T round_to(double x) {
  using namespace numbers;
  if constexpr (kSame<T, double>)
    return x;
  else if constexpr (kSame<T, float>)
    return float(x);
  else if constexpr (kSame<T, f16>)
    return {uint16(round_from<5, 10>(x, 0x7bff, 0x7c00, 0x7e00))};
  else if constexpr (kSame<T, bf16>)
    return {uint16(round_from<8, 7>(x, 0x7f7f, 0x7f80, 0x7fc0))};
  else if constexpr (kSame<T, f8e5m2>)
    return {uint8(round_from<5, 2>(x, 0x7b, 0x7c, 0x7e))};
  else if constexpr (kSame<T, f6e2m3>)
    return {uint8(round_from<2, 3>(x, 0x1f, 0x1f, 0x1f))};
  else if constexpr (kSame<T, f6e3m2>)
    return {uint8(round_from<3, 2>(x, 0x1f, 0x1f, 0x1f))};
  else if constexpr (kSame<T, f4>)
    return {uint8(round_from<2, 1>(x, 0x7, 0x7, 0x7))};
  else if constexpr (kSame<T, f8e8m0>)
    return round_to_power(x);
  else
    return T{uint8(round_from<4, 3>(x, 0x7e, 0x7f, 0x7f))};
}

/// Rounds once from float, with fewer instructions than from double where possible.
template <class T>
WICK_HD constexpr T round_to(float x) {
  [[maybe_unused]] const uint32 u = __builtin_bit_cast(uint32, x);
  if constexpr (kSame<T, float>)
    return x;
  else if constexpr (kSame<T, double>)
    return double(x);
  else if constexpr (kSame<T, bf16>) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    bf16 y{};
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
#else
    return {uint16(x != x ? (u >> 16 & 0x8000) | 0x7fc0 : (u + 0x7fff + (u >> 16 & 1)) >> 16)};
#endif
  } else if constexpr (kSame<T, f16>) {
#if defined(__HIP_DEVICE_COMPILE__)
    // Keeps clang 19 from fusing a product and its rounding into v_fma_mixlo_f16 a, b, +0, which
    // turns -0 into 0.
    asm("" : "+v"(x));
    return __builtin_bit_cast(f16, _Float16(x));
#elif defined(__CUDA_ARCH__)
    // In 32 bits: of an f16 in 16, ptxas 13.0 stores the value as an integer where the low byte of
    // its bits is asked for.
    uint32 pair = 0;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(0.0f), "f"(x));
#else
    asm("{.reg .b16 y; cvt.rn.f16.f32 y, %1; mov.b32 %0, {y, y};}" : "=r"(pair) : "f"(x));
#endif
    return {uint16(pair)};
#else
    const uint32 sign = u >> 16 & 0x8000, size = u & 0x7fffffff;
    if (size > 0x7f800000) return {uint16(sign | 0x7e00)};
    if (size >= 0x47800000) return {uint16(sign | 0x7c00)};
    if (size >= 0x38800000)
      return {uint16(sign | (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13)};
    // Subnormal: adding 0.5 leaves the rounded multiple of 2^-24 in the low bits.
    return {uint16(
        sign | (__builtin_bit_cast(uint32, __builtin_bit_cast(float, size) + 0.5f) - 0x3f000000))};
#endif
  } else
    return round_to<T>(double(x));
}

}  // namespace wick
