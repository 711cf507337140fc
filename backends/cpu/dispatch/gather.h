// Gather, scatter and scatter_add. All ids are checked before any is used.
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/gather.h"

namespace wick::cpu {

/// The functions of a scatter_add kernel (Kernel::data).
struct ScatterAddFunctions {
  Access in;   // reads elements as the accumulator type
  Access out;  // writes them from it
  Apply add;   // y[i] = a[i] + b[i]
  /// into[offsets[i]] += x[i], in order.
  void (*add_each)(void* into, const int64* offsets, const void* x, int64 n);
};

/// Returns an error for the first id, in row-major order, outside of [0, limit).
Status check_ids(const View& ids, int64 limit, const char* op);

/// Kernel::data is an Access of the element size.
Status run_gather(const Kernel* kernel, const Call* call);

/// For equal ids the last one's value stays. Kernel::data as for run_gather.
Status run_scatter(const Kernel* kernel, const Call* call);

/// Adds to every output element in the order of src, so the result does not depend on the number of
/// threads. Narrow floats accumulate in f32 and are rounded once.
Status run_scatter_add(const Kernel* kernel, const Call* call);
int64 scatter_add_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);

}  // namespace wick::cpu
