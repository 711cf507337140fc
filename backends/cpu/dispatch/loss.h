// cross_entropy and its gradient over the rows of a matrix, which run in parallel.
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/loss.h"

namespace wick::cpu {

// Kernel::data of each: a function of one row. loss, l and gloss point to one f32 each (f64 for f64).

struct CrossEntropy {
  static constexpr Op kOp = kCrossEntropy;
  static Status run(const Kernel* kernel, const Call* call);
  void (*row)(const void* logits, int64 target, void* loss, void* l, int64 n);
};

struct CrossEntropyGradient {
  static constexpr Op kOp = kCrossEntropyGradient;
  static Status run(const Kernel* kernel, const Call* call);
  void (*row)(const void* logits, int64 target, const void* l, const void* gloss, void* g, int64 n);
};

}  // namespace wick::cpu
