// The words of HIP's device language that the kernels of tests and examples use, on clang's
// builtins: HIP's own header needs a ROCm installation. With one, hipcc compiles the same kernels.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))

using size_t = decltype(sizeof 0);

#define WICK_COORDINATES(name, builtin)                                                 \
  struct name##_words {                                                                 \
    struct X {                                                                          \
      __device__ operator unsigned() const { return __builtin_amdgcn_##builtin##_x(); } \
    };                                                                                  \
    struct Y {                                                                          \
      __device__ operator unsigned() const { return __builtin_amdgcn_##builtin##_y(); } \
    };                                                                                  \
    struct Z {                                                                          \
      __device__ operator unsigned() const { return __builtin_amdgcn_##builtin##_z(); } \
    };                                                                                  \
    [[no_unique_address]] X x;                                                          \
    [[no_unique_address]] Y y;                                                          \
    [[no_unique_address]] Z z;                                                          \
  };                                                                                    \
  static __device__ constexpr name##_words name;
WICK_COORDINATES(threadIdx, workitem_id)
WICK_COORDINATES(blockIdx, workgroup_id)
WICK_COORDINATES(blockDim, workgroup_size)

inline __device__ void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
inline __device__ float sqrtf(float x) { return __builtin_sqrtf(x); }
