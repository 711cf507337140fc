// The implementation of mma.h for the emulator: plain loops for every layout. It does not reproduce
// the rounding inside matrix units: it adds products in f32, in order of k.
#pragma once
#include "device/mma.h"

namespace wick::gpu {

template <class C, class T>
void require_tile(const C& ctx, const T* tile, int stride, emu::SourceLine at) {
  ctx.require(reinterpret_cast<uint64>(tile) % 16 == 0 && stride % 8 == 0,
              "brings a tile that is not aligned", at);
  ctx.require_uniform(tile + stride, at);
}

template <Side side = Side::kRight, class C, class T>
auto load_rows(const C& ctx, const T* tile, int stride,
               emu::SourceLine at = {__builtin_FILE(), __builtin_LINE()}) {
  require_tile(ctx, tile, stride, at);
  return rows_of_lane<side, typename C::Matrix>(ctx.lane(), tile, stride);
}
template <Side side = Side::kRight, class C, class T>
auto load_columns(const C& ctx, const T* tile, int stride,
                  emu::SourceLine at = {__builtin_FILE(), __builtin_LINE()}) {
  require_tile(ctx, tile, stride, at);
  return columns_of_lane<side, typename C::Matrix>(ctx.lane(), tile, stride);
}

template <class C, class T>
void multiply(const C& ctx, Sums<typename C::Matrix>& c,
              const Operand<T, typename C::Matrix, Side::kLeft>& a,
              const Operand<T, typename C::Matrix>& b,
              emu::SourceLine at = {__builtin_FILE(), __builtin_LINE()}) {
  using M = typename C::Matrix;
  struct Lane {
    const Operand<T, M, Side::kLeft>* a;
    const Operand<T, M>* b;
    Sums<M>* c;
  } mine{&a, &b, &c};
  const auto product = [](Lane** lanes) {
    float x[16][16], y[16][16];
    for (int l = 0; l < C::kWave; l++) {
      for (int i = 0; i < M::kOperand; i++) {
        x[M::row(l, i)][M::k(l, i)] = to_float(lanes[l]->a->v[i]);
        y[M::k(l, i)][M::row(l, i)] = to_float(lanes[l]->b->v[i]);
      }
    }
    float sums[16][16] = {};
    for (int m = 0; m < 16; m++)
      for (int k = 0; k < 16; k++)
        for (int n = 0; n < 16; n++) sums[m][n] += x[m][k] * y[k][n];
    for (int l = 0; l < C::kWave; l++)
      for (int i = 0; i < M::kAccumulator; i++) lanes[l]->c->v[i] += sums[M::m(l, i)][M::n(l, i)];
  };
  ctx.together(mine, product, at);
}

template <class C>
void multiply(const C& ctx, DoubleSums<C>& c, const DoubleOperand<C>& a, const DoubleOperand<C>& b,
              emu::SourceLine at = {__builtin_FILE(), __builtin_LINE()}) {
  using M = typename C::Matrix::Doubles;
  struct Lane {
    const DoubleOperand<C>*a, *b;
    DoubleSums<C>* c;
  } mine{&a, &b, &c};
  const auto product = [](Lane** lanes) {
    double x[16][8], y[8][16];
    for (int l = 0; l < C::kWave; l++) {
      for (int i = 0; i < M::kOperand; i++) {
        x[M::row(l, i)][M::k(l, i)] = lanes[l]->a->v[i];
        y[M::k(l, i)][M::row(l, i)] = lanes[l]->b->v[i];
      }
    }
    for (int l = 0; l < C::kWave; l++) {
      for (int i = 0; i < M::kAccumulator; i++) {
        double& sum = lanes[l]->c->v[i];
        for (int k = 0; k < 8; k++) sum = __builtin_fma(x[M::m(l, i)][k], y[k][M::n(l, i)], sum);
      }
    }
  };
  ctx.together(mine, product, at);
}

}  // namespace wick::gpu
