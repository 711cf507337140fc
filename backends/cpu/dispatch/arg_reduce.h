// argmax and argmin: the same loops as reductions, with the winner's index kept beside its value.
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/reduce.h"

namespace wick::cpu {

/// The functions of an argmax or argmin kernel (Kernel::data).
struct ArgReduction {
  Access in;  // reads elements as the type that is compared
  /// Updates *best and *id with the first winner of *best and x[0, n), whose indices start at
  /// `first`; n <= kBlock.
  void (*along)(const void* x, int64 n, int64 first, void* best, int64* id);
  /// Updates best[i] and ids[i] with the winner of best[i] and x[i]; every x[i] has index `id`.
  void (*across)(const void* x, int64 n, int64 id, void* best, int64* ids);
};

Status run_arg_reduction(const Kernel* kernel, const Call* call);
int64 arg_reduction_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);

}  // namespace wick::cpu
