// rms_norm, layer_norm and their gradients over the rows of a matrix, which run in parallel.
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/norm.h"

namespace wick::cpu {

// Kernel::data of each: a function of one row. mean and r point to one f32 each (f64 for f64).

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

struct LayerNorm {
  static constexpr Op kOp = kLayerNorm;
  static Status run(const Kernel* kernel, const Call* call);
  /// bias: nullptr for none.
  void (*row)(const void* x, const void* weight, const void* bias, double eps, void* y, void* mean,
              void* r, int64 n);
};

struct LayerNormGradient {
  static constexpr Op kOp = kLayerNormGradient;
  static Status run(const Kernel* kernel, const Call* call);
  void (*row)(const void* gy, const void* x, const void* weight, const void* mean, const void* r,
              void* gx, int64 n);
};

}  // namespace wick::cpu
