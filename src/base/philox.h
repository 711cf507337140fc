// Philox4x32-10: random bits from a counter and a key, identical on every device.
// Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", SC11.
#pragma once
#include <array>
#include <cstdint>

namespace wick {

/// Returns four words for a 128-bit counter and a 64-bit key.
constexpr std::array<uint32_t, 4> philox4x32(uint64_t counter, uint64_t counter_high,
                                             uint64_t key) {
  uint32_t c[4] = {uint32_t(counter), uint32_t(counter >> 32), uint32_t(counter_high),
                   uint32_t(counter_high >> 32)};
  uint32_t k[2] = {uint32_t(key), uint32_t(key >> 32)};
  for (int round = 0; round < 10; round++) {
    const uint64_t a = uint64_t(0xD2511F53) * c[0], b = uint64_t(0xCD9E8D57) * c[2];
    const uint32_t next[4] = {uint32_t(b >> 32) ^ c[1] ^ k[0], uint32_t(b),
                              uint32_t(a >> 32) ^ c[3] ^ k[1], uint32_t(a)};
    for (int i = 0; i < 4; i++) c[i] = next[i];
    k[0] += 0x9E3779B9;
    k[1] += 0xBB67AE85;
  }
  return {c[0], c[1], c[2], c[3]};
}

/// Computes the words of counters first ... first + blocks - 1, four each, faster than one at a
/// time. The upper half of each counter is 0.
void philox_words(uint64_t first, uint64_t key, uint32_t* words, int64_t blocks);

}  // namespace wick
