// The shuffles as hipRTC's own header has them since ROCm 6.2: those with a mask take 64 bits of it.
#pragma once
#include "../hip_words/hip/hip_runtime.h"

inline __device__ int lane_of_thread() {
  return int(__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)));
}
template <class T>
__device__ T read_lane(T value, int lane) {
  static_assert(sizeof(T) == 4);
  return __builtin_bit_cast(T,
                            __builtin_amdgcn_ds_bpermute(4 * lane, __builtin_bit_cast(int, value)));
}

#define WICK_SHUFFLE(name, argument, from)                                                 \
  template <class T>                                                                       \
  __device__ T name(T value, argument by, int width = 64) {                                \
    const int self = lane_of_thread(), first = self & -width, within = self & (width - 1); \
    const int lane = from;                                                                 \
    return read_lane(value, lane >= 0 && lane < width ? first + lane : self);              \
  }                                                                                        \
  template <class Mask, class T>                                                           \
  __device__ T name##_sync(Mask, T value, argument by, int width = 64) {                   \
    static_assert(sizeof(Mask) == 8, "The mask must be a 64-bit integer");                 \
    return name(value, by, width);                                                         \
  }
WICK_SHUFFLE(__shfl, int, by)
WICK_SHUFFLE(__shfl_up, unsigned, within - int(by))
WICK_SHUFFLE(__shfl_down, unsigned, within + int(by))
WICK_SHUFFLE(__shfl_xor, int, within ^ by)
