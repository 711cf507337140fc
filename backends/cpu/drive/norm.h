// rms_norm and its gradient over the rows of a matrix, which are shared out to threads.
#pragma once
#include "drive/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/norm.h"

namespace wick::cpu {

// Kernel::data of each: functions over one row. r is one f32, of f64 one f64.

struct RmsNorm {
  static constexpr Op kOp = kRmsNorm;
  static Status run(const Kernel* kernel, const Call* call);
  void (*row)(const void* x, const void* weight, double eps, void* y, void* r, int64 n);
};

struct RmsNormGradient {
  static constexpr Op kOp = kRmsNormGradient;
  static Status run(const Kernel* kernel, const Call* call);
  void (*row)(const void* gy, const void* x, const void* weight, const void* r, void* gx, int64 n);
};

}  // namespace wick::cpu
