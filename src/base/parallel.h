// Parallel loops on host threads. Only parallel.cpp starts threads.
#pragma once
#include <cstdint>
#include <type_traits>

#include "wick/base/threads.h"

namespace wick {

/// The number of threads that a parallel region opened now by the calling thread would have: 1
/// inside a region, while another thread has one open, and in a child forked after its parent
/// opened a region.
int threads_here();

/// While an instance lives, libraries with their own OpenMP regions run in the calling thread, both
/// here and inside a parallel_for called from here.
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

/// Calls f(begin, end) for ranges that partition [0, count), each of at least `grain` except the
/// last. Runs in the calling thread alone if count <= grain, if the call is nested, or if the
/// calling thread can open no region now (see threads_here). f must not throw.
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
