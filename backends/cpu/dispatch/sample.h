// sample: draws ids from logits.
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/sample.h"

namespace wick::cpu {

/// The functions of a sample kernel (Kernel::data).
struct Sampling {
  Access in;  // reads logits as the compute type
  /// w = exp((x - largest) / temperature).
  void (*weights)(const void* x, double largest, double temperature, void* w, int64 n);
};

Status run_sample(const Kernel* kernel, const Call* call);
Status run_append_tokens(const Kernel* kernel, const Call* call);
int64 sample_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);

}  // namespace wick::cpu
