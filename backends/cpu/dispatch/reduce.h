// Reductions: one walk for all of them, in an order that depends on shape and strides but never on
// the number of threads.
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/reduce.h"

namespace wick::cpu {

/// Elements that one call of Reduction::block takes at most.
inline constexpr int64 kBlock = 512;

/// What a kernel of a reduction is made of (Kernel::data).
struct Reduction {
  Access in;   // as the accumulator's type
  Access out;  // from it
  /// The reduction of n values, n <= kBlock; of none, where it begins.
  void (*block)(const void* x, int64 n, void* result);
  /// y[i] = a[i] combined with b[i].
  Apply merge;
  bool of_nothing;  // has a value for no elements: 0 for a sum
};

Status run_reduction(const Kernel* kernel, const Call* call);
int64 reduction_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);

}  // namespace wick::cpu
