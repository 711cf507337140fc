// For our own bugs: says where and what, and ends the program. Users, files and devices cause an
// Error instead.
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
