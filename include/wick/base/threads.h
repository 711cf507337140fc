// The number of host threads that the CPU backend uses.
#pragma once
#include "wick/base/export.h"

namespace wick {

/// Returns the maximum number of threads of a CPU operation: the last value passed to
/// set_num_threads, else WICK_THREADS, else the cores available to the process under its affinity
/// and cgroup. Threads that call operations at once take turns with these threads: an operation
/// that finds them taken runs in the thread that called it alone.
WICK_API int num_threads();

/// Sets the maximum number of threads of a CPU operation, for the whole process, starting with the
/// next operation; this includes libraries that wick calls. Results have the same bits for any
/// number of threads. Errors: kInvalidArgument unless `threads` is 1 to 4096.
WICK_API void set_num_threads(int threads);

}  // namespace wick
