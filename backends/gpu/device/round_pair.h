// Two floats rounded to 16 bits, in one word.
#pragma once
#include "device/pass.h"
#include "wick/abi/numbers.h"
#include "wick/abi/ops/quantize.h"

namespace wick::gpu {

/// low and high in T, f16 or bf16, in the halves of a word.
template <class T>
WICK_DEVICE inline uint32 round_pair(float low, float high) {
#if defined(WICK_NVIDIA) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  uint32 pair;
  if constexpr (kSame<T, f16>)
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return uint32(round_to<T>(low).bits) | uint32(round_to<T>(high).bits) << 16;
#endif
}

/// Two numbers of f8e4m3, the low half of a word, likewise.
template <class T>
WICK_DEVICE inline uint32 widen_f8_pair(uint32 pair) {
#if defined(WICK_NVIDIA) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  uint32 halves;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(uint16(pair)));
  if constexpr (kSame<T, f16>) return halves;
  return round_pair<T>(to_float(f16{uint16(halves)}), to_float(f16{uint16(halves >> 16)}));
#else
  return round_pair<T>(to_float(f8e4m3{uint8(pair)}), to_float(f8e4m3{uint8(pair >> 8)}));
#endif
}

/// The four numbers of i8 in a word times `scale`, likewise: the product is rounded once.
template <class T>
WICK_DEVICE inline void widen_i8_word(uint32 word, float scale, uint32 (&pairs)[2]) {
#if defined(WICK_NVIDIA) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  // Conversions of integers are slow. A byte x + 128 in the mantissa of 2^23, or of 1024 in f16, is
  // that number plus x + 128, exactly.
  const uint32 biased = word ^ 0x80808080u;
  if constexpr (kSame<T, f16>) {
    const uint32 factors = round_pair<f16>(scale, scale);
    const auto products = [=](uint32 selector) {
      uint32 x;
      asm("prmt.b32 %0, %1, %2, %3;" : "=r"(x) : "r"(biased), "r"(0x64646464u), "r"(selector));
      asm("sub.f16x2 %0, %1, %2;" : "=r"(x) : "r"(x), "r"(0x64806480u));
      asm("mul.f16x2 %0, %1, %2;" : "=r"(x) : "r"(x), "r"(factors));
      return x;
    };
    pairs[0] = products(0x4140), pairs[1] = products(0x4342);
  } else {
    const auto product = [=](uint32 selector) {
      uint32 x;
      asm("prmt.b32 %0, %1, %2, %3;" : "=r"(x) : "r"(biased), "r"(0x4b000000u), "r"(selector));
      return (__builtin_bit_cast(float, x) - 8388736.0f) * scale;
    };
    pairs[0] = round_pair<T>(product(0x7440), product(0x7441));
    pairs[1] = round_pair<T>(product(0x7442), product(0x7443));
  }
#else
  const auto product = [=](int e) { return float(int8(word >> 8 * e)) * scale; };
  pairs[0] = round_pair<T>(product(0), product(1));
  pairs[1] = round_pair<T>(product(2), product(3));
#endif
}

/// x in f8e4m3, its largest number in place of what is beyond it.
WICK_DEVICE inline f8e4m3 round_to_f8(float x) {
#if defined(WICK_NVIDIA) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  uint16 pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
  return {uint8(pair)};
#else
  return round_to<f8e4m3>(x > kMaxF8E4M3 ? kMaxF8E4M3 : x < -kMaxF8E4M3 ? -kMaxF8E4M3 : x);
#endif
}

}  // namespace wick::gpu
