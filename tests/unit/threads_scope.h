// A number of threads for a part of a test.
#pragma once
#include "wick/base/threads.h"

namespace wick::test {

/// While it lives, the CPU has n threads; then as many as before.
class ThreadsScope {
 public:
  explicit ThreadsScope(int n) { set_num_threads(n); }
  ~ThreadsScope() { set_num_threads(before_); }
  ThreadsScope(const ThreadsScope&) = delete;
  ThreadsScope& operator=(const ThreadsScope&) = delete;

 private:
  int before_ = num_threads();
};

}  // namespace wick::test
