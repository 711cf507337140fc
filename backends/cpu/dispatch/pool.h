// Windows over the last two dims: max_pool, avg_pool, fold. One thread computes a whole row of the
// output, so the result does not depend on the number of threads.
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/pool.h"

namespace wick::cpu {

/// A row of the input under a row of windows: tap k of window o reads x[o stride + k dilation -
/// padding].
struct WindowRow {
  const void* x;  // in the compute type
  int64 width, places;
  int64 kernel, stride, dilation, padding;
};

// Kernel::data of each.

struct MaxPool {
  Access in;
  Store store;
  void (*fill_lowest)(void* best, int64 n);
  /// Updates best and taps with the row's larger elements; its taps are numbered from first_tap.
  void (*row)(const WindowRow& row, int32 first_tap, void* best, int32* taps);
};

struct AvgPool {
  Access in;
  Store store;
  /// Adds the row's elements in window o to sums[o].
  void (*row)(const WindowRow& row, void* sums);
  /// sums[o] /= divisors[o]. An empty window has divisor 0, and its sum stays 0.
  void (*divide)(void* sums, const int64* divisors, int64 n);
};

struct Fold {
  Access in;
  Store store;
  /// sums[i step] += x[i].
  void (*add)(const void* x, int64 n, void* sums, int64 step);
};

int64 max_pool_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);
Status run_max_pool(const Kernel* kernel, const Call* call);
int64 avg_pool_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);
Status run_avg_pool(const Kernel* kernel, const Call* call);
int64 fold_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);
Status run_fold(const Kernel* kernel, const Call* call);

}  // namespace wick::cpu
