// Matrix fragments of one wave, 16 x 16 x 16, f16 or bf16 with f32 accumulators. All functions are
// wave operations; tile and stride must be uniform.
//
//   load_rows(ctx, tile, stride)      operand[row, k] = tile[row * stride + k]
//   load_columns(ctx, tile, stride)   operand[row, k] = tile[k * stride + row]
//   multiply(ctx, c, a, b)            c[m, n] += sum over k of a[m, k] b[n, k]; an operand may be
//                                     on either side
//
// tile is in shared memory, 16-byte aligned; stride is a multiple of 8. c.v[i] is
// c[Matrix::m(lane, i), Matrix::n(lane, i)], i < Matrix::kAccumulator, so elements i of two
// accumulators have the same position.
#pragma once
#include "device/ctx.h"

namespace wick::gpu {

template <class T, class M>
struct alignas(4) Operand {
  T v[M::kOperand];
};
template <class M>
struct Sums {
  float v[M::kAccumulator];
};

#if !defined(WICK_NVIDIA)
/// Loads a lane's operand, in as few accesses as its layout allows.
template <class M, class T>
WICK_DEVICE Operand<T, M> rows_of_lane(int lane, const T* tile, int stride) {
  constexpr int run = M::kRun < 8 ? M::kRun : 8;
  struct alignas(2 * run) Run {
    T v[run];
  };
  Operand<T, M> x;
  for (int i = 0; i < M::kOperand; i += run) {
    const Run r = *reinterpret_cast<const Run*>(tile + M::row(lane, i) * stride + M::k(lane, i));
    for (int j = 0; j < run; j++) x.v[i + j] = r.v[j];
  }
  return x;
}
template <class M, class T>
WICK_DEVICE Operand<T, M> columns_of_lane(int lane, const T* tile, int stride) {
  Operand<T, M> x;
  for (int i = 0; i < M::kOperand; i++) x.v[i] = tile[M::k(lane, i) * stride + M::row(lane, i)];
  return x;
}
#endif

}  // namespace wick::gpu

#if defined(WICK_AMD)
#include "device/mma_amd.h"
#elif defined(WICK_NVIDIA)
#include "device/mma_nvidia.h"
#else
#include "device/mma_emulated.h"
#endif
