// Scans: one walk for all of them. Lines are cut in segments, fixed by the shape; what a segment
// has come to is put before the next one, so that threads may share a long line out and never
// change a bit.
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/scan.h"

namespace wick::cpu {

/// What a kernel of a scan is made of (Kernel::data). The state of n lines that go side by side is
/// two arrays of at most 8 bytes an element: for sums what came before this segment and what came
/// in it, for extremes the value and its place.
struct Scan {
  Access in;
  Access out;
  bool with_ids;
  bool splits;  // segments may be worked on before what precedes them is known
  void (*begin)(void* a, void* b, int64 n);
  /// Ends a segment of n lines: what came in it joins what came before it.
  void (*fold)(void* a, void* b, int64 n);
  /// Goes on by n <= kChunk elements of one line, the first of number `at`.
  void (*along)(const void* x, int64 n, int64 at, void* a, void* b, void* y, int64* ids);
  /// Goes on by the element of number `at` of n <= kChunk lines.
  void (*across)(const void* x, int64 n, int64 at, void* a, void* b, void* y, int64* ids);
  /// (a, b), begun at a segment's start and folded at its end, as if (before_a, before_b) had been
  /// its beginning.
  void (*join)(const void* before_a, const void* before_b, void* a, void* b, int64 n);
};

Status run_scan(const Kernel* kernel, const Call* call);
int64 scan_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);

}  // namespace wick::cpu
