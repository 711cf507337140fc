// Sort and topk. Elements become keys whose order as unsigned integers is the requested order, each
// beside its index. No two such records are equal, so every sorting algorithm is stable on them.
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/sort.h"

namespace wick::cpu {

/// A key and the element's index. Where both fit into 32 bits a record is key << 32 | place.
struct Keyed {
  uint64 key;
  uint64 place;
  friend bool operator<(const Keyed& a, const Keyed& b) {
    return a.key != b.key ? a.key < b.key : a.place < b.place;
  }
};

/// The functions of a sort kernel (Kernel::data).
struct SortFunctions {
  int64 size;     // bytes per element
  int key_bytes;  // bytes in which keys differ
  /// Writes the records of n elements, the first of which has index `first`.
  void (*narrow)(const void* x, int64 stride, int64 n, int64 first, int descending, uint64* to);
  void (*wide)(const void* x, int64 stride, int64 n, int64 first, int descending, Keyed* to);
};

Status run_sort(const Kernel* kernel, const Call* call);
int64 sort_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);
Status run_topk(const Kernel* kernel, const Call* call);
int64 topk_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);

}  // namespace wick::cpu
