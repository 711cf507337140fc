// Optimizer steps: one pass over a parameter and its state.
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/optimizer.h"

namespace wick::cpu {

/// The functions of an adamw kernel (Kernel::data).
struct AdamW {
  int64 size;  // bytes per element
  void (*step)(const AdamWAttributes&, const void* gradient, void* parameter, void* mean,
               void* square, int64 n);
};

Status run_adamw(const Kernel* kernel, const Call* call);

}  // namespace wick::cpu
