// The implementation of mma.h for AMD: MFMA on gfx9, WMMA on gfx11 and gfx12.
#pragma once
#include "device/mma.h"

namespace wick::gpu {

template <Side side = Side::kRight, class C, class T>
WICK_DEVICE auto load_rows(const C& ctx, const T* tile, int stride) {
  return rows_of_lane<side, typename C::Matrix>(ctx.lane(), tile, stride);
}
template <Side side = Side::kRight, class C, class T>
WICK_DEVICE auto load_columns(const C& ctx, const T* tile, int stride) {
  return columns_of_lane<side, typename C::Matrix>(ctx.lane(), tile, stride);
}

template <class T, int n>
using Vector = T __attribute__((ext_vector_type(n)));

template <class C, class T>
WICK_DEVICE void multiply(const C&, Sums<typename C::Matrix>& c,
                          const Operand<T, typename C::Matrix, Side::kLeft>& a,
                          const Operand<T, typename C::Matrix>& b) {
  using M = typename C::Matrix;
  constexpr bool half = kSame<T, f16>;
  using Halves = Vector<_Float16, M::kOperand>;
  using Shorts = Vector<short, M::kOperand>;  // the builtins' type of bf16
  using Floats = Vector<float, M::kAccumulator>;
  Floats sums = __builtin_bit_cast(Floats, c);
  const Halves ah = __builtin_bit_cast(Halves, a), bh = __builtin_bit_cast(Halves, b);
  const Shorts as = __builtin_bit_cast(Shorts, a), bs = __builtin_bit_cast(Shorts, b);
  if constexpr (kSame<M, MatrixGfx9> && half)
    sums = __builtin_amdgcn_mfma_f32_16x16x16f16(ah, bh, sums, 0, 0, 0);
  else if constexpr (kSame<M, MatrixGfx9>)
    sums = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(as, bs, sums, 0, 0, 0);
  else if constexpr (kSame<M, MatrixGfx11> && half)
    sums = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(ah, bh, sums);
  else if constexpr (kSame<M, MatrixGfx11>)
    sums = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(as, bs, sums);
  else if constexpr (half)
    sums = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(ah, bh, sums);
  else
    sums = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(as, bs, sums);
  // Else clang 19 sinks products to where their sums are used, past waits and barriers, and needs the
  // registers of all their operands at once. gfx9 does without: its sums may be in other registers.
  if constexpr (!kSame<M, MatrixGfx9>) asm volatile("" : "+v"(sums));
  c = __builtin_bit_cast(Sums<M>, sums);
}

template <class C>
WICK_DEVICE void multiply(const C&, DoubleSums<C>& c, const DoubleOperand<C>& a,
                          const DoubleOperand<C>& b) {
  using Doubles = Vector<double, 4>;
  Doubles sums = __builtin_bit_cast(Doubles, c);
  for (int i = 0; i < 2; i++)
    sums = __builtin_amdgcn_mfma_f64_16x16x4f64(a.v[i], b.v[i], sums, 0, 0, 0);
  c = __builtin_bit_cast(DoubleSums<C>, sums);
}

}  // namespace wick::gpu
