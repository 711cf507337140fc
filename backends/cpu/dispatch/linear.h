// Products with weights of another dtype than x, blocks among them: y[m, n] = sum of x[m, k] w[n, k]. And
// products whose rows select their weights (expert_linear).
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/linear_epilogue.h"

namespace wick::cpu {

/// A part of y: rows of x, in f32 or as pack_x wrote them, times some rows of the weights.
struct LinearTile {
  const char* x;
  const void* w;
  float* y;
  int64 m, n, k;
  int64 y_m;       // stride in elements
  int64 x_m, w_n;  // in bytes
  void* buffer;    // of LinearParts::buffer_bytes bytes
};

/// The functions of a kernel (Kernel::data), for one dtype of weights.
struct LinearParts {
  /// Bytes of a row of x: of f32 with zeros after k elements, or as pack_x writes it.
  int64 (*x_bytes)(int64 k);
  /// Packs n elements of a row, from `first` on, which is a multiple of kChunk. Returns false if it
  /// cannot: the kernel then declines the call. nullptr: rows are f32.
  bool (*pack_x)(const float* x, int64 first, int64 n, int64 k, void* row);
  /// The same, for `few`.
  bool (*pack_few_x)(const float* x, int64 first, int64 n, int64 k, void* row);
  /// The same, for `few` with one row of x.
  bool (*pack_one_x)(const float* x, int64 first, int64 n, int64 k, void* row);
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
  /// y[i] = f(y[i]) for n sums.
  void (*activate)(EpilogueActivation f, float* y, int64 n);
};

Status run_linear(const Kernel* kernel, const Call* call);
int64 linear_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);
const char* accepts_linear(const Kernel* kernel, const Call* call, const DeviceInfo* device);

/// linear_mixed_epilogue, linear_parts and gated_linear, of a few rows. Kernel::data as for
/// run_linear.
Status run_linear_group(const Kernel* kernel, const Call* call);
int64 linear_group_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);
const char* accepts_linear_group(const Kernel* kernel, const Call* call, const DeviceInfo* device);

/// expert_linear. Kernel::data as for run_linear.
Status run_expert_linear(const Kernel* kernel, const Call* call);
int64 expert_linear_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);
const char* accepts_expert_linear(const Kernel* kernel, const Call* call, const DeviceInfo* device);

}  // namespace wick::cpu
