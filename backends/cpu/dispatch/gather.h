// Gather, scatter and scatter_add: ids are checked before anything is read or written through them.
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/gather.h"

namespace wick::cpu {

/// What a kernel of scatter_add is made of (Kernel::data).
struct Adding {
  Access in;   // as the type that is added in
  Access out;  // from it
  Apply add;   // y[i] = a[i] + b[i]
  /// into[offsets[i]] += x[i], in order.
  void (*add_each)(void* into, const int64* offsets, const void* x, int64 n);
};

/// Returns an error for the first id outside of [0, limit), counted in row-major order.
Status check_ids(const View& ids, int64 limit, const char* op);

/// Kernel::data is an Access of the element's size.
Status run_gather(const Kernel* kernel, const Call* call);

/// Of equal ids run_scatter keeps the last one's value. Kernel::data as of run_gather.
Status run_scatter(const Kernel* kernel, const Call* call);

/// Adds in the order of src for every element of the output: threads never change a bit. Narrow
/// floats are added up in f32 and rounded once.
Status run_scatter_add(const Kernel* kernel, const Call* call);
int64 scatter_add_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);

}  // namespace wick::cpu
