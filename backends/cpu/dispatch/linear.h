// Products with weights of another dtype than x, blocks among them: y[m, n] = sum of x[m, k] w[n, k]. And
// products whose rows select their weights (expert_linear).
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"

namespace wick::cpu {

/// A part of y: rows of x in f32 times some rows of the weights.
struct LinearTile {
  const float* x;
  const void* w;
  float* y;
  int64 m, n, k;
  int64 x_m, y_m;  // strides in elements
  int64 w_n;       // in bytes
  void* buffer;    // of LinearParts::buffer_bytes bytes
};

/// The functions of a kernel (Kernel::data), for one dtype of weights.
struct LinearParts {
  int64 x_pad;  // x's rows are read to a multiple of this many elements, zeros beyond k
  int64 few_m;  // the most rows of x for `few`
  int64 tile_m, tile_n;
  int64 (*buffer_bytes)(int64 k);
  /// Decodes each weight once, in registers.
  void (*few)(const LinearTile&);
  /// Decodes rows of weights into the buffer, which then serve many rows of x.
  void (*many)(const LinearTile&);
};
/// The functions on x and y.
struct LinearData {
  const LinearParts& parts;
  Access x, y;
};

Status run_linear(const Kernel* kernel, const Call* call);
int64 linear_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);
const char* accepts_linear(const Kernel* kernel, const Call* call, const DeviceInfo* device);

/// expert_linear. Kernel::data as for run_linear.
Status run_expert_linear(const Kernel* kernel, const Call* call);
int64 expert_linear_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);
const char* accepts_expert_linear(const Kernel* kernel, const Call* call, const DeviceInfo* device);

}  // namespace wick::cpu
