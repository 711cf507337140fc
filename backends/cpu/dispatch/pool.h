// Windows over the last two dims: max_pool, avg_pool, fold. A row of the output is one thread's, so
// its number changes no bit.
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/pool.h"

namespace wick::cpu {

/// A row of the input beside a row of places: place o has x[o stride + k dilation - padding].
struct WindowRow {
  const void* x;  // as what is computed in
  int64 width, places;
  int64 kernel, stride, dilation, padding;
};

// Kernel::data of each.

struct MaxPool {
  Access in;
  Store store;
  void (*fill_lowest)(void* best, int64 n);
  /// Puts into best and taps what the row has that beats them, the taps counted from first_tap.
  void (*row)(const WindowRow& row, int32 first_tap, void* best, int32* taps);
};

struct AvgPool {
  Access in;
  Store store;
  /// sums[o] += the row's elements in window o.
  void (*row)(const WindowRow& row, void* sums);
  /// sums[o] /= divisors[o]; what is divided by 0 is a sum of nothing and stays 0.
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
