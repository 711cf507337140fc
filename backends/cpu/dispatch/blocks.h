// Casts from and to block dtypes.
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"

namespace wick::cpu {

/// The functions of a cast (Kernel::data), in whole blocks.
struct BlockCast {
  int64 elements, bytes;  // of a block
  /// Decodes `count` blocks; encodes them. One of the two is there.
  void (*decode)(const void* blocks, int64 count, float* to);
  void (*encode)(const float* from, int64 count, void* blocks);
  Access other;  // writes what was decoded, or reads what is encoded
};

Status run_decode(const Kernel* kernel, const Call* call);
Status run_encode(const Kernel* kernel, const Call* call);

}  // namespace wick::cpu
