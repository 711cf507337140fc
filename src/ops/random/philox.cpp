#include "ops/random/philox.h"

#include <cstring>

#include "base/wide.h"

namespace wick {
namespace {

constexpr int kTogether = 16;  // blocks: enough to fill the widest vectors

WICK_INLINE void blocks_together(uint64_t first, uint64_t key, uint32_t* words) {
  uint32_t c0[kTogether], c1[kTogether], c2[kTogether] = {}, c3[kTogether] = {};
  for (int i = 0; i < kTogether; i++) {
    c0[i] = uint32_t(first + uint64_t(i));
    c1[i] = uint32_t((first + uint64_t(i)) >> 32);
  }
  uint32_t k0 = uint32_t(key), k1 = uint32_t(key >> 32);
  for (int round = 0; round < 10; round++) {
    for (int i = 0; i < kTogether; i++) {
      const uint64_t a = uint64_t(0xD2511F53) * c0[i], b = uint64_t(0xCD9E8D57) * c2[i];
      c0[i] = uint32_t(b >> 32) ^ c1[i] ^ k0;
      c2[i] = uint32_t(a >> 32) ^ c3[i] ^ k1;
      c1[i] = uint32_t(b);
      c3[i] = uint32_t(a);
    }
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  for (int i = 0; i < kTogether; i++) {
    words[4 * i] = c0[i];
    words[4 * i + 1] = c1[i];
    words[4 * i + 2] = c2[i];
    words[4 * i + 3] = c3[i];
  }
}

/// Computes whole groups of kTogether blocks; returns the number of blocks computed.
WICK_INLINE int64_t most_blocks(uint64_t first, uint64_t key, uint32_t* words, int64_t blocks) {
  int64_t i = 0;
  for (; i + kTogether <= blocks; i += kTogether)
    blocks_together(first + uint64_t(i), key, words + 4 * i);
  return i;
}
int64_t narrow(uint64_t first, uint64_t key, uint32_t* words, int64_t blocks) {
  return most_blocks(first, key, words, blocks);
}
WICK_WIDE int64_t wide(uint64_t first, uint64_t key, uint32_t* words, int64_t blocks) {
  return most_blocks(first, key, words, blocks);
}

}  // namespace

void philox_words(uint64_t first, uint64_t key, uint32_t* words, int64_t blocks) {
  for (int64_t i = has_wide_vectors() ? wide(first, key, words, blocks)
                                      : narrow(first, key, words, blocks);
       i < blocks; i++) {
    const auto block = philox4x32(first + uint64_t(i), 0, key);
    std::memcpy(words + 4 * i, block.w, sizeof block);
  }
}

}  // namespace wick
