// For bugs in wick itself: prints location and condition, then aborts. Failures caused by users,
// files and devices throw Error instead.
#pragma once
#include <cstdio>
#include <cstdlib>

#define WICK_ASSERT(condition)                                                               \
  do {                                                                                       \
    if (!(condition)) {                                                                      \
      std::fprintf(stderr, "%s:%d: assertion failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                          \
    }                                                                                        \
  } while (false)
