// Draws from logits.
#pragma once
#include "chunk.h"
#include "wick/abi/backend.h"

namespace wick::cpu {

/// What a row of sample is made of (KernelRow::data).
struct Sampling {
  Access in;  // as what is computed in
  /// w = exp((x - largest) / temperature).
  void (*weights)(const void* x, double largest, double temperature, void* w, int64 n);
};

Status run_sample(const KernelRow* row, const Call* call);
int64 sample_scratch(const KernelRow* row, const Call* call, const DeviceInfo* device);

}  // namespace wick::cpu
