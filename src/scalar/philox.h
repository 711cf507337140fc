// Philox4x32-10: random bits from a counter and a key, identical on every device.
// Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", SC11.
// Freestanding: device compilers read this file too.
#pragma once
#include "wick/abi/marks.h"

namespace wick {

struct PhiloxWords {
  uint32 w[4];
  WICK_HD constexpr uint32 operator[](int i) const { return w[i]; }
};

/// Returns four words for a 128-bit counter and a 64-bit key.
WICK_HD constexpr PhiloxWords philox4x32(uint64 counter, uint64 counter_high, uint64 key) {
  PhiloxWords c{
      {uint32(counter), uint32(counter >> 32), uint32(counter_high), uint32(counter_high >> 32)}};
  uint32 k0 = uint32(key), k1 = uint32(key >> 32);
  for (int round = 0; round < 10; round++) {
    const uint64 a = uint64(0xD2511F53) * c.w[0], b = uint64(0xCD9E8D57) * c.w[2];
    c = {{uint32(b >> 32) ^ c.w[1] ^ k0, uint32(b), uint32(a >> 32) ^ c.w[3] ^ k1, uint32(a)}};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

/// The f32 in [0, 1) that counter `index` of a seed gives.
WICK_HD constexpr float philox_uniform(uint64 seed, uint64 index) {
  return float(philox4x32(index, 0, seed)[0] >> 8) * 0x1p-24f;
}

}  // namespace wick
