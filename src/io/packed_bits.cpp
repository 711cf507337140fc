#include "io/packed_bits.h"

namespace wick {

void unpack_bits(const uint8_t* packed, int bits, int64_t n, uint8_t* elements) {
  const uint32_t mask = (1u << bits) - 1;
  uint32_t waiting = 0;  // bits read but not yet used: fewer than 8 before each read
  int count = 0;
  for (int64_t i = 0; i < n; i++) {
    if (count < bits) {
      waiting |= uint32_t(*packed++) << count;
      count += 8;
    }
    elements[i] = uint8_t(waiting & mask);
    waiting >>= bits;
    count -= bits;
  }
}

void pack_bits(const uint8_t* elements, int bits, int64_t n, uint8_t* packed) {
  const uint32_t mask = (1u << bits) - 1;
  uint32_t waiting = 0;
  int count = 0;
  for (int64_t i = 0; i < n; i++) {
    waiting |= (elements[i] & mask) << count;
    count += bits;
    if (count >= 8) {
      *packed++ = uint8_t(waiting);
      waiting >>= 8;
      count -= 8;
    }
  }
}

}  // namespace wick
