// Reductions: one set of loops for all of them. The order of combination depends on shape and
// strides, never on the number of threads.
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/reduce.h"

namespace wick::cpu {

/// The most elements of one call of Reduction::block.
inline constexpr int64 kBlock = 512;

/// The functions of a reduction kernel (Kernel::data).
struct Reduction {
  Access in;   // reads elements as the accumulator type
  Access out;  // writes them from it
  /// Reduces n values, n <= kBlock. n = 0 writes the identity.
  void (*block)(const void* x, int64 n, void* result);
  /// y[i] = combine(a[i], b[i]).
  Apply merge;
  bool of_nothing;  // defined for no elements, as a sum is (0)
};

Status run_reduction(const Kernel* kernel, const Call* call);
int64 reduction_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);

}  // namespace wick::cpu
