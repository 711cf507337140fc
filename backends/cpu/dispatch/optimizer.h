// Optimizers' steps: one pass over a parameter and what is kept with it.
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/optimizer.h"

namespace wick::cpu {

/// What a kernel of adamw is made of (Kernel::data).
struct AdamW {
  int64 size;  // of an element
  void (*step)(const AdamWAttributes&, const void* gradient, void* parameter, void* mean,
               void* square, int64 n);
};

Status run_adamw(const Kernel* kernel, const Call* call);

}  // namespace wick::cpu
