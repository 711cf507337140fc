// Work on several threads of the host. The only place that names the threading library.
#pragma once
#include <cstdint>
#include <type_traits>

#include "wick/base/threads.h"

namespace wick {

/// How many threads a region that the calling thread opened now would have: 1 within one, off the
/// main thread, and in a child that was forked after its parent had opened one.
int threads_here();

/// While it lives, a library that brings OpenMP regions of its own works in the thread that calls
/// it: here, and inside of a parallel_for called from here.
class SequentialLibraries {
 public:
  SequentialLibraries();
  ~SequentialLibraries();
  SequentialLibraries(const SequentialLibraries&) = delete;
  SequentialLibraries& operator=(const SequentialLibraries&) = delete;

 private:
  int before_ = 0;
};

namespace detail {
void parallel_run(int64_t count, int64_t grain,
                  void (*body)(void* self, int64_t begin, int64_t end), void* self);
}

/// Calls f(begin, end) for ranges that together make [0, count), each of at least grain (but the
/// last), in the calling thread alone if there is no more than grain, if the call is nested, or if
/// it does not come from the main thread of a process that may have threads (threads_here). f must
/// not throw.
template <class F>
void parallel_for(int64_t count, int64_t grain, F&& f) {
  if (count <= grain) {
    if (count > 0) f(int64_t{0}, count);
    return;
  }
  detail::parallel_run(
      count, grain,
      [](void* self, int64_t begin, int64_t end) {
        (*static_cast<std::remove_reference_t<F>*>(self))(begin, end);
      },
      const_cast<void*>(static_cast<const void*>(&f)));
}

}  // namespace wick
