// Sort and topk: elements become keys whose order as unsigned integers is the order asked for, each
// with its place beside it. No two such records are equal, so any way to sort them is stable.
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/sort.h"

namespace wick::cpu {

/// A key and a place. Where both fit into 32 bits a record is one number: key << 32 | place.
struct Keyed {
  uint64 key;
  uint64 place;
  friend bool operator<(const Keyed& a, const Keyed& b) {
    return a.key != b.key ? a.key < b.key : a.place < b.place;
  }
};

/// What a kernel of a sort is made of (Kernel::data).
struct Sorting {
  int64 size;     // bytes of an element
  int key_bytes;  // that tell keys apart
  /// The records of n elements, the first of which has the number `first`.
  void (*narrow)(const void* x, int64 stride, int64 n, int64 first, int descending, uint64* to);
  void (*wide)(const void* x, int64 stride, int64 n, int64 first, int descending, Keyed* to);
};

Status run_sort(const Kernel* kernel, const Call* call);
int64 sort_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);
Status run_topk(const Kernel* kernel, const Call* call);
int64 topk_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);

}  // namespace wick::cpu
