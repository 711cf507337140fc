// A word of bytes of four others.
#pragma once
#include "device/pass.h"

namespace wick::gpu {

/// Byte `byte` of each of four words, in their order.
template <int byte>
WICK_DEVICE inline uint32 join_bytes(const int (&v)[4]) {
#if defined(WICK_NVIDIA) && defined(WICK_DEVICE_PASS)
  const auto permute = [](uint32 low, uint32 high, uint32 selector) {
    uint32 bytes;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(low), "r"(high), "r"(selector));
    return bytes;
  };
  constexpr uint32 kPair = byte | (4 + byte) << 4;
  return permute(permute(v[0], v[1], kPair), permute(v[2], v[3], kPair), 0x5410);
#elif defined(WICK_AMD) && defined(WICK_DEVICE_PASS)
  constexpr uint32 kPair = byte | (4 + byte) << 8 | 0x0c0c0000;  // 0x0c: a byte of zeros
  return __builtin_amdgcn_perm(__builtin_amdgcn_perm(v[3], v[2], kPair),
                               __builtin_amdgcn_perm(v[1], v[0], kPair), 0x05040100);
#else
  uint32 bytes = 0;
  for (int i = 0; i < 4; i++) bytes |= (uint32(v[i]) >> 8 * byte & 255) << 8 * i;
  return bytes;
#endif
}

}  // namespace wick::gpu
