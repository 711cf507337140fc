// Compiles loops of integer or exact arithmetic for wide vectors as well. A WICK_WIDE function may
// run only if has_wide_vectors(), and calls WICK_INLINE functions. Results have the same bits
// either way, since the arithmetic is exact. Kernels of ops are in backends/cpu, compiled once per
// instruction set.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define WICK_WIDE \
  __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,prefer-vector-width=512")))
#else
#define WICK_WIDE
#endif
#define WICK_INLINE __attribute__((always_inline)) inline

namespace wick {

inline bool has_wide_vectors() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  return has;
#else
  return false;
#endif
}

}  // namespace wick
