// Bytes of a word: to floats, and as indices of a table. Whole accesses beside a branch that accesses elements.
#pragma once
#include "device/pass.h"

namespace wick::gpu {

/// Calls access, a branch that loads or stores elements one by one where the other branch has one access for all. Clang
/// would else let both branches share one element's access, and leave 12 of the other's 16 bytes.
template <class Access>
WICK_DEVICE void one_by_one(const Access& access) {
#if defined(WICK_AMD) && defined(WICK_DEVICE_PASS)
  asm volatile("" ::: "memory");
  access();
  asm volatile("" ::: "memory");
#else
  access();
#endif
}

/// Four words, in one access where the alignment of p, in bytes, suffices.
template <int alignment>
WICK_DEVICE void load_four(const uint32* p, uint32* words) {
#if defined(WICK_AMD) && defined(WICK_DEVICE_PASS)
  // Clang would take a load of four words apart, share a word with another load, and leave 12 bytes.
  unsigned __int128 all;
  __builtin_memcpy(&all, __builtin_assume_aligned(p, alignment), 16);
  for (int i = 0; i < 4; i++) words[i] = uint32(all >> 32 * i);
#else
  struct alignas(alignment) Four {
    uint32 words[4];
  };
  const Four four = *reinterpret_cast<const Four*>(p);
  for (int i = 0; i < 4; i++) words[i] = four.words[i];
#endif
}

/// Byte i of the word minus the bias: exact.
WICK_DEVICE inline float byte_minus(uint32 word, int i, int bias) {
#if defined(WICK_NVIDIA) && defined(WICK_DEVICE_PASS)
  // The byte as the last one of 2^23's significand: a permutation and an addition, which another unit
  // does, where a conversion takes a shift and a mask besides.
  uint32 bits;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bits) : "r"(word), "r"(0x4b000000u), "r"(0x7650u | i));
  return __builtin_bit_cast(float, bits) - float((1 << 23) + bias);
#else
  return float(word >> i * 8 & 255) - float(bias);  // one conversion on AMD's cards
#endif
}

/// sum + the products of a's and b's four signed bytes.
WICK_DEVICE inline int dot4(uint32 a, uint32 b, int sum) {
#if defined(WICK_NVIDIA) && defined(WICK_DEVICE_PASS)
  int result;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  return result;
#elif defined(WICK_DEVICE_PASS) && (defined(__GFX11__) || defined(__GFX12__))
  return __builtin_amdgcn_sudot4(true, int(a), true, int(b), sum, false);
#elif defined(WICK_DEVICE_PASS) &&                                                               \
    (defined(__gfx906__) || defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__) || \
     defined(__gfx950__) || defined(__gfx9_4_generic__) || defined(__gfx1030__) ||               \
     defined(__gfx10_3_generic__))
  return __builtin_amdgcn_sdot4(int(a), int(b), sum, false);
#else
  for (int i = 0; i < 4; i++) sum += int(int8(a >> 8 * i)) * int(int8(b >> 8 * i));
  return sum;
#endif
}

/// Four bytes of a table of 16, whose bytes are in order in `table`: those that the bytes of `at`, all below
/// 16, index.
WICK_DEVICE inline uint32 lookup_bytes(const uint32 (&table)[4], uint32 at) {
#if defined(WICK_NVIDIA) && defined(WICK_DEVICE_PASS)
  const auto permute = [](uint32 low, uint32 high, uint32 selector) {
    uint32 bytes;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(low), "r"(high), "r"(selector));
    return bytes;
  };
  // A selector's indices are its four lowest half bytes.
  const uint32 pairs = at | at >> 4, all = (pairs & 0xff) | (pairs >> 8 & 0xff00);
  const uint32 in_half = all & 0x7777;
  const uint32 low = permute(table[0], table[1], in_half),
               high = permute(table[2], table[3], in_half);
  return permute(low, high, 0x3210 | (all & 0x8888) >> 1);
#elif defined(WICK_AMD) && defined(WICK_DEVICE_PASS)
  const uint32 in_half = at & 0x07070707;
  const uint32 low = __builtin_amdgcn_perm(table[1], table[0], in_half),
               high = __builtin_amdgcn_perm(table[3], table[2], in_half);
  return __builtin_amdgcn_perm(high, low, 0x03020100 | (at & 0x08080808) >> 1);
#else
  uint32 bytes = 0;
  for (int i = 0; i < 4; i++) {
    const uint32 from = at >> i * 8 & 15;
    bytes |= (table[from / 4] >> from % 4 * 8 & 255) << i * 8;
  }
  return bytes;
#endif
}

}  // namespace wick::gpu
