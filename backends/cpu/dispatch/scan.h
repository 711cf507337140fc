// Scans: one set of loops for all of them. Lines are split into segments by shape alone, and a
// segment's result is carried into the next one, so threads can share a long line without changing
// the result.
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/scan.h"

namespace wick::cpu {

/// The functions of a scan kernel (Kernel::data). The state of n adjacent lines is two arrays a and b
/// of at most 8 bytes per element. Sums: the total before this segment, and the total within it.
/// Extremes: the value and its index.
struct Scan {
  Access in;
  Access out;
  bool with_ids;
  bool splits;  // segments may run before the preceding ones are done, and join later
  void (*begin)(void* a, void* b, int64 n);
  /// Ends a segment of n lines: adds its total to the total before it.
  void (*fold)(void* a, void* b, int64 n);
  /// Scans the next n <= kChunk elements of one line, the first of which has index `at`.
  void (*along)(const void* x, int64 n, int64 at, void* a, void* b, void* y, int64* ids);
  /// Scans the element of index `at` of n <= kChunk lines.
  void (*across)(const void* x, int64 n, int64 at, void* a, void* b, void* y, int64* ids);
  /// Turns (a, b), begun at a segment's start and folded at its end, into the state it would have
  /// had if the segment had started from (before_a, before_b).
  void (*join)(const void* before_a, const void* before_b, void* a, void* b, int64 n);
};

Status run_scan(const Kernel* kernel, const Call* call);
int64 scan_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);

}  // namespace wick::cpu
