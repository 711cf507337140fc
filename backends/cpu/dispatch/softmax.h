// softmax and logsumexp over the rows of a matrix, which run in parallel.
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/softmax.h"

namespace wick::cpu {

/// Kernel::data: softmax of one row.
struct Softmax {
  static constexpr Op kOp = kSoftmax;
  static Status run(const Kernel* kernel, const Call* call);
  void (*row)(const void* x, void* y, int64 n);
};
/// The same for logsumexp: y is one element.
struct LogSumExp {
  static constexpr Op kOp = kLogSumExp;
  static const char* accepts(const Kernel* kernel, const Call* call, const DeviceInfo* device);
  static Status run(const Kernel* kernel, const Call* call);
  void (*row)(const void* x, void* y, int64 n);
};

}  // namespace wick::cpu
