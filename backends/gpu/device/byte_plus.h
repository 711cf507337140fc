// A byte of a word as a float, with an offset that depends on the device.
#pragma once
#include "device/pass.h"

namespace wick::gpu {

/// The offset of byte_plus: where there is no conversion of bytes, that of the significand which holds one.
template <int limit>
inline constexpr int kByteOffset =
#if defined(WICK_NVIDIA)
    limit <= 128 ? 128 : 32768;
#else
    0;
#endif
/// Byte i of the word, which is below `limit`, plus kByteOffset<limit>: exact, in one instruction.
template <int limit>
WICK_DEVICE float byte_plus(uint32 word, int i) {
#if defined(WICK_NVIDIA) && defined(WICK_DEVICE_PASS)
  constexpr bool kIsSmall = kByteOffset<limit> == 128;
  const uint32 places = kIsSmall ? 0x7044 | i << 8 : 0x7404 | i << 4;
  uint32 bits;
  asm("prmt.b32 %0, %1, %2, %3;"
      : "=r"(bits)
      : "r"(word), "r"(kIsSmall ? 0x43000000u : 0x47000000u), "r"(places));
  return __builtin_bit_cast(float, bits);
#else
  return float(word >> i * 8 & 255) + float(kByteOffset<limit>);
#endif
}

}  // namespace wick::gpu
