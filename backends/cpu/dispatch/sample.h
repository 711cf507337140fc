// Draws from logits.
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/sample.h"

namespace wick::cpu {

/// What a kernel of sample is made of (Kernel::data).
struct Sampling {
  Access in;  // as what is computed in
  /// w = exp((x - largest) / temperature).
  void (*weights)(const void* x, double largest, double temperature, void* w, int64 n);
};

Status run_sample(const Kernel* kernel, const Call* call);
int64 sample_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);

}  // namespace wick::cpu
