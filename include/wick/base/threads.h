// How many threads of the host the CPU's kernels use.
#pragma once
#include "wick/base/export.h"

namespace wick {

/// Returns how many threads an operation on the CPU uses at most: what set_num_threads said last,
/// else WICK_THREADS, else the cores that the process may use by its affinity and its cgroup.
/// Operations that a thread other than the main one calls run in that thread alone.
WICK_API int num_threads();

/// Sets how many threads an operation on the CPU uses at most, for the whole process from the next
/// operation on, in libraries that wick calls too. A result has the same bits on any number of
/// threads. Errors: kInvalidArgument unless `threads` is 1 to 4096.
WICK_API void set_num_threads(int threads);

}  // namespace wick
