// Fused ops over the rows of a matrix: softmax, rms_norm, cross_entropy and their gradients. Rows
// are shared out to threads; each is one thread's.
#pragma once
#include "chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/loss.h"
#include "wick/abi/ops/norm.h"
#include "wick/abi/ops/softmax.h"

namespace wick::cpu {

// Kernel::data of each: functions over one row. R is f32, of f64 f64.

struct Softmax {
  void (*row)(const void* x, void* y, int64 n);
};

struct RmsNorm {
  /// r: one R.
  void (*row)(const void* x, const void* weight, double eps, void* y, void* r, int64 n);
};

struct RmsNormGradient {
  void (*row)(const void* gy, const void* x, const void* weight, const void* r, void* gx, int64 n);
};

struct CrossEntropy {
  void (*row)(const void* logits, int64 target, void* loss, void* l, int64 n);
};

struct CrossEntropyGradient {
  void (*row)(const void* logits, int64 target, const void* l, const void* gloss, void* g, int64 n);
};

Status run_softmax(const Kernel* kernel, const Call* call);
Status run_rms_norm(const Kernel* kernel, const Call* call);
Status run_rms_norm_gradient(const Kernel* kernel, const Call* call);
Status run_cross_entropy(const Kernel* kernel, const Call* call);
Status run_cross_entropy_gradient(const Kernel* kernel, const Call* call);

}  // namespace wick::cpu
