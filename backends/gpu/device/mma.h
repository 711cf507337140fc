// Matrix fragments of one wave, 16 x 16 x 16, f16 or bf16 with f32 accumulators. All functions are
// wave operations; tile and stride must be uniform.
//
//   load_rows<side>(ctx, tile, stride)      operand[row, k] = tile[row * stride + k]
//   load_columns<side>(ctx, tile, stride)   operand[row, k] = tile[k * stride + row]
//   multiply(ctx, c, a, b)                  c[m, n] += sum over k of a[m, k] b[n, k]; a is a left
//                                           operand, b a right one
//   rounded_operand<T>(ctx, c)              operand[row, k] = c[m = k, n = row], rounded to T; a right
//                                           operand
//
//   direct_operand<side, T>(ctx, packs, product)   of the packs that a lane has loaded (mma_layout.h)
//
// tile is in shared memory, 16-byte aligned; stride is a multiple of 8. c.v[i] is
// c[Matrix::m(lane, i), Matrix::n(lane, i)], i < Matrix::kAccumulator, so elements i of two
// accumulators have the same position.
//
// The same of f64, 16 x 16 x 8, where Matrix::Doubles is a layout; sums are chains of fused multiply-adds:
//
//   load_doubles<inner>(ctx, at)            operand[row, k] = *at(row, k); neighbours along inner have
//                                           neighbouring addresses, and every other one is aligned to 16
//   multiply(ctx, c, a, b)                  c is a DoubleSums
#pragma once
#include "device/ctx.h"

namespace wick::gpu {

/// The side of a product that an operand is for. NVIDIA's instructions take the registers of a left one
/// in another order.
enum class Side { kLeft, kRight };

template <class T, class M, Side side = Side::kRight>
struct alignas(4) Operand {
  T v[M::kOperand];
};
template <class M>
struct Sums {
  float v[M::kAccumulator];
};
template <class C>
struct DoubleOperand {
  double v[C::Matrix::Doubles::kOperand];
};
template <class C>
struct DoubleSums {
  double v[C::Matrix::Doubles::kAccumulator];
};

struct alignas(16) DoublePair {
  double v[2];
};
template <Inner inner, class C, class At>
WICK_INLINE DoubleOperand<C> load_doubles(const C& ctx, const At& at) {
  using M = typename C::Matrix::Doubles;
  const int lane = ctx.lane();
  DoubleOperand<C> x;
  WICK_UNROLL
  for (int i = 0; i < M::kOperand; i += 2) {
    const double* const first = at(M::row(lane, i), M::k(lane, i));
    if constexpr (inner == M::kNeighbours) {
      const DoublePair pair = *reinterpret_cast<const DoublePair*>(first);
      x.v[i] = pair.v[0], x.v[i + 1] = pair.v[1];
    } else {
      x.v[i] = *first, x.v[i + 1] = *at(M::row(lane, i + 1), M::k(lane, i + 1));
    }
  }
  return x;
}

template <Side side, class T, class C>
WICK_INLINE auto direct_operand(const C&, const typename C::Words (&packs)[C::Matrix::kDirectPacks],
                                int product) {
  using M = typename C::Matrix;
  struct {
    uint32 v[4 * M::kDirectPacks];
  } words;
  static_assert(sizeof words == sizeof packs);
  __builtin_memcpy(&words, &packs, sizeof packs);
  struct alignas(4) {
    uint32 v[M::kOperand / 2];
  } x;
  WICK_UNROLL
  for (int w = 0; w < M::kOperand / 2; w++) {
#if defined(WICK_NVIDIA)  // a left operand's registers 1 and 2 are exchanged
    const int i = side == Side::kLeft && (w == 1 || w == 2) ? 2 * (3 - w) : 2 * w;
#else
    const int i = 2 * w;
#endif
    x.v[w] = words.v[M::direct_index(product, i) / 2];
  }
  return __builtin_bit_cast(Operand<T, M, side>, x);
}

#if !defined(WICK_NVIDIA)
/// Loads a lane's operand, in as few accesses as its layout allows.
template <Side side, class M, class T>
WICK_DEVICE Operand<T, M, side> rows_of_lane(int lane, const T* tile, int stride) {
  constexpr int run = M::kRun < 8 ? M::kRun : 8;
  struct alignas(2 * run) Run {
    T v[run];
  };
  Operand<T, M, side> x;
  for (int i = 0; i < M::kOperand; i += run) {
    const Run r = *reinterpret_cast<const Run*>(tile + M::row(lane, i) * stride + M::k(lane, i));
    for (int j = 0; j < run; j++) x.v[i + j] = r.v[j];
  }
  return x;
}
template <Side side, class M, class T>
WICK_DEVICE Operand<T, M, side> columns_of_lane(int lane, const T* tile, int stride) {
  Operand<T, M, side> x;
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

namespace wick::gpu {

#if !defined(WICK_NVIDIA)
template <class T, class C>
WICK_DEVICE auto rounded_operand(const C& ctx, const Sums<typename C::Matrix>& c) {
  using M = typename C::Matrix;
  Operand<T, M> x;
  if constexpr (accumulator_is_operand<M>()) {
    for (int i = 0; i < M::kOperand; i++) x.v[i] = round_to<T>(c.v[i]);
  } else {
    // Gfx11: a lane has every other k, and the lane 16 further on the rest.
    static_assert(M::kOperand == 2 * M::kAccumulator);
    const bool is_odd = ctx.lane() >= 16;
    for (int i = 0; i < M::kAccumulator; i += 2) {
      const T own[2] = {round_to<T>(c.v[i]), round_to<T>(c.v[i + 1])};
      const uint32 mine = uint32(__builtin_bit_cast(uint16, own[0])) |
                          uint32(__builtin_bit_cast(uint16, own[1])) << 16;
      const uint32 other = ctx.template shuffle_xor<16>(mine);
      const uint32 even = is_odd ? other : mine, odd = is_odd ? mine : other;
      x.v[2 * i] = __builtin_bit_cast(T, uint16(even));
      x.v[2 * i + 1] = __builtin_bit_cast(T, uint16(odd));
      x.v[2 * i + 2] = __builtin_bit_cast(T, uint16(even >> 16));
      x.v[2 * i + 3] = __builtin_bit_cast(T, uint16(odd >> 16));
    }
  }
  return x;
}
#endif

/// Combines a lane's value of each of its columns with those of the other lanes that hold a part of the
/// column. A wave operation.
template <class C, class F>
WICK_DEVICE void combine_columns(const C& ctx, float (&x)[C::Matrix::kColumns], const F& combine) {
  using M = typename C::Matrix;
  masks_up<M::kColumnLanes, M::kColumnLanesEnd>([&]<int mask>() {
    for (int i = 0; i < M::kColumns; i++)
      x[i] = combine(x[i], ctx.template shuffle_xor<mask>(x[i]));
  });
}

}  // namespace wick::gpu
