// searchsorted and nonzero.
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/search.h"

namespace wick::cpu {

/// The functions of a searchsorted kernel (Kernel::data).
struct SearchFunctions {
  int64 size;  // bytes per element
  /// Finds for each of m values its first insertion point in the ascending x [n]; the last one with
  /// `right`.
  void (*search)(const void* x, int64 stride, int64 n, const void* values, int64 values_stride,
                 int64 m, int right, int64* ids, int64 ids_stride);
};

Status run_search_sorted(const Kernel* kernel, const Call* call);
Status run_nonzero(const Kernel* kernel, const Call* call);
int64 nonzero_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);

}  // namespace wick::cpu
