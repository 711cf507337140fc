// argmax and argmin: the same walk as of reductions, with the number of the winner beside its
// value.
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/reduce.h"

namespace wick::cpu {

/// What a kernel of argmax or argmin is made of (Kernel::data).
struct ArgReduction {
  Access in;  // as what is compared in
  /// The first winner of best and x[0, n), whose numbers begin at `first`; n <= kBlock.
  void (*along)(const void* x, int64 n, int64 first, void* best, int64* id);
  /// The winner of best[i] and x[i], whose number is `id` for every i.
  void (*across)(const void* x, int64 n, int64 id, void* best, int64* ids);
};

Status run_arg_reduction(const Kernel* kernel, const Call* call);
int64 arg_reduction_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);

}  // namespace wick::cpu
