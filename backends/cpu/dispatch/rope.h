// Rotary position embedding: heads of [B, T] tokens, each rotated by the angles of its position.
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/rope.h"

namespace wick::cpu {

/// The functions of a rope kernel (Kernel::data).
struct Rope {
  static constexpr Op kOp = kRope;
  static Status run(const Kernel* kernel, const Call* call);
  /// Rotates `pairs` pairs of one head by the cos and sin of one position. sign: -1 rotates back.
  void (*apart)(const void* x, const void* cos, const void* sin, int sign, void* y, int64 pairs);
  void (*interleaved)(const void* x, const void* cos, const void* sin, int sign, void* y,
                      int64 pairs);
};

}  // namespace wick::cpu
