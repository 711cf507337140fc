// searchsorted, and where a mask is true.
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/search.h"

namespace wick::cpu {

/// What a kernel of searchsorted is made of (Kernel::data).
struct Searching {
  int64 size;  // bytes of an element
  /// Finds for each of m values the first place in x [n], ascending, before which it may stand;
  /// with `right` the last such place.
  void (*search)(const void* x, int64 stride, int64 n, const void* values, int64 values_stride,
                 int64 m, int right, int64* ids, int64 ids_stride);
};

Status run_search_sorted(const Kernel* kernel, const Call* call);
Status run_nonzero(const Kernel* kernel, const Call* call);
int64 nonzero_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);

}  // namespace wick::cpu
