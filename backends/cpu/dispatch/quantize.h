// Rows in codes of 8 bits with a scale for each group, over the rows of a matrix in parallel.
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/quantize.h"

namespace wick::cpu {

/// Kernel::data: a function of one row.
struct QuantizeI8 {
  static Status run(const Kernel* kernel, const Call* call);
  void (*row)(const void* x, int8* codes, void* scales, int64 n);
};

}  // namespace wick::cpu
