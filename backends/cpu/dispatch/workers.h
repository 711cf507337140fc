// Work split into pieces that do not depend on the number of threads, and workers that run them.
// Each worker has a buffer, in the call's scratch memory or, if small, on the stack.
#pragma once
#include <algorithm>

#include "base/parallel.h"
#include "scalar/round_up.h"
#include "wick/abi/call.h"

namespace wick::cpu {

inline constexpr int64 kLocalBytes = 64 << 10;

/// The number of threads that work at once.
struct Workers {
  /// worthwhile: the number of threads the work is large enough for. bytes: per worker's buffer.
  Workers(int64 pieces, int64 worthwhile, int64 bytes)
      : bytes(round_up(std::max<int64>(bytes, 1), kAlignment)),
        count(std::max<int64>(1, std::min({pieces, worthwhile, int64(num_threads())}))) {}
  int64 scratch() const { return count * bytes > kLocalBytes ? count * bytes : 0; }
  /// Reduces count to as many workers as fit into `room` bytes, or on the stack: the number of threads
  /// may have changed since the scratch memory was requested. Returns false if not even one fits.
  bool fit(int64 room) {
    if (scratch() > 0) count = std::min(count, std::max(room, kLocalBytes) / bytes);
    return count > 0;
  }
  /// Calls f(piece, buffer) for every piece. buffers: `bytes` bytes for each worker.
  template <class F>
  void run(int64 pieces, char* buffers, F&& f) const {
    parallel_for(count, 1, [&](int64 begin, int64 end) {
      for (int64 i = pieces * begin / count; i < pieces * end / count; i++)
        f(i, buffers + begin * bytes);
    });
  }

  static constexpr int64 kAlignment = 64;
  int64 bytes, count;
};

}  // namespace wick::cpu
