// Many random words at once; scalar/philox.h has the generator.
#pragma once
#include <cstdint>

#include "scalar/philox.h"

namespace wick {

/// Computes the words of counters first ... first + blocks - 1, four each, faster than one at a
/// time. The upper half of each counter is 0.
void philox_words(uint64_t first, uint64_t key, uint32_t* words, int64_t blocks);

}  // namespace wick
