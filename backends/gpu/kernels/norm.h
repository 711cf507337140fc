// rms_norm and its gradient over the rows of [N, D]: a group of lanes or a block a row,
// which is read twice, the second time mostly from cache.
#pragma once
#include "kernels/row_groups.h"
#include "wick/abi/ops/norm.h"

namespace wick::gpu {

// r = 1 / sqrt(mean(x^2) + eps), y = x r weight
template <class T>
struct RmsNorm {
  using C = Compute<T>;
  struct Args {
    T* y;
    C* r;
    const T *x, *weight;
    int64 y_stride, x_stride;  // of rows
    RowGroups groups;
    uint32 columns;
    C eps;
    bool aligned;
  };
  static constexpr Signature signature{kRmsNorm, kDTypeOf<T>};
  static constexpr int kPack = kFloatPack<T>;
  static constexpr int threads(int) { return RowGroups::kThreads; }
  static Grid grid(int, const Args& a) { return a.groups.grid(); }
  template <class Ctx>
  struct Shared {
    C partial[Ctx::kWaves];
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const int row = a.groups.row(ctx.block().x, ctx.thread());
    const bool is_row = row < a.groups.rows;
    const int lane = a.groups.lane(ctx.thread()), lanes = a.groups.lanes();
    const T* const x = a.x + (is_row ? row * a.x_stride : 0);
    C squares = 0;
    for (uint32 i = lane * kPack; is_row && i < a.columns; i += lanes * kPack) {
      C v[kPack];
      load_part(x, i, a.columns, a.aligned, C(0), v);
      for (int e = 0; e < kPack; e++) squares = fma(v[e], v[e], squares);
    }
    squares = combine_lanes<Sum>(ctx, a.groups, shared.partial, squares);
    if (!is_row) return;
    const C r = C(1) / sqrt(squares / C(a.columns) + a.eps);
    if (lane == 0) a.r[row] = r;
    for (uint32 i = lane * kPack; i < a.columns; i += lanes * kPack) {
      C v[kPack], w[kPack];
      load_part(x, i, a.columns, a.aligned, C(0), v);
      load_part(a.weight, i, a.columns, a.aligned, C(0), w);
      for (int e = 0; e < kPack; e++) v[e] = v[e] * r * w[e];
      store_part(a.y + row * a.y_stride, i, a.columns, a.aligned, v);
    }
  }

  static const char* accepts(const Call& call, const DeviceInfo&) {
    const View& x = call.in[0];
    if (x.rank != 2) return "x is not [N, D]";
    if (const char* why = check_rows(x, x.shape[0], x.shape[1])) return why;
    if (const char* why = check_rows(call.out[0], x.shape[0], x.shape[1])) return why;
    if (const char* why = check_vector(call.in[1], x.shape[1])) return why;
    return check_vector(call.out[1], x.shape[0]);
  }
  static Status run(const Call& call) {
    const View &x = call.in[0], &weight = call.in[1], &y = call.out[0];
    if (x.numel() == 0) return {};
    return launch<RmsNorm>(
        {y.as<T>(), call.out[1].as<C>(), x.as<T>(), weight.as<T>(), y.strides[0], x.strides[0],
         RowGroups::of(x.shape[0], ceil_div<int64>(x.shape[1], kPack), wave_of(call.device)),
         uint32(x.shape[1]), C(static_cast<const RmsNormAttributes*>(call.attributes)->eps),
         rows_are_aligned(x) && rows_are_aligned(y) && is_aligned(weight.data)},
        call);
  }
};

// gx = r (gy weight - x r^2 mean(gy weight x))
template <class T>
struct RmsNormGradient {
  using C = Compute<T>;
  struct Args {
    T* gx;
    const T *gy, *x, *weight;
    const C* r;
    int64 gx_stride, gy_stride, x_stride;  // of rows
    RowGroups groups;
    uint32 columns;
    bool aligned;
  };
  static constexpr Signature signature{kRmsNormGradient, kDTypeOf<T>};
  static constexpr int kPack = kFloatPack<T>;
  static constexpr int threads(int) { return RowGroups::kThreads; }
  static Grid grid(int, const Args& a) { return a.groups.grid(); }
  template <class Ctx>
  struct Shared {
    C partial[Ctx::kWaves];
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const int row = a.groups.row(ctx.block().x, ctx.thread());
    const bool is_row = row < a.groups.rows;
    const int lane = a.groups.lane(ctx.thread()), lanes = a.groups.lanes();
    const T* const x = a.x + (is_row ? row * a.x_stride : 0);
    const T* const gy = a.gy + (is_row ? row * a.gy_stride : 0);
    C v[kPack], g[kPack], w[kPack];
    const auto load = [&](uint32 i) {
      load_part(x, i, a.columns, a.aligned, C(0), v);
      load_part(gy, i, a.columns, a.aligned, C(0), g);
      load_part(a.weight, i, a.columns, a.aligned, C(0), w);
    };
    C dot = 0;
    for (uint32 i = lane * kPack; is_row && i < a.columns; i += lanes * kPack) {
      load(i);
      for (int e = 0; e < kPack; e++) dot = fma(g[e] * w[e], v[e], dot);
    }
    dot = combine_lanes<Sum>(ctx, a.groups, shared.partial, dot);
    if (!is_row) return;
    const C r = a.r[row], back = r * r * (dot / C(a.columns));
    for (uint32 i = lane * kPack; i < a.columns; i += lanes * kPack) {
      load(i);
      for (int e = 0; e < kPack; e++) v[e] = r * (g[e] * w[e] - v[e] * back);
      store_part(a.gx + row * a.gx_stride, i, a.columns, a.aligned, v);
    }
  }

  static const char* accepts(const Call& call, const DeviceInfo&) {
    const View& x = call.in[1];
    if (x.rank != 2) return "x is not [N, D]";
    const View* const all_rows[] = {&x, &call.in[0], &call.out[0]};
    for (const View* rows : all_rows)
      if (const char* why = check_rows(*rows, x.shape[0], x.shape[1])) return why;
    if (const char* why = check_vector(call.in[2], x.shape[1])) return why;
    return check_vector(call.in[3], x.shape[0]);
  }
  static Status run(const Call& call) {
    const View &gy = call.in[0], &x = call.in[1], &weight = call.in[2], &gx = call.out[0];
    if (x.numel() == 0) return {};
    return launch<RmsNormGradient>(
        {gx.as<T>(), gy.as<T>(), x.as<T>(), weight.as<T>(), call.in[3].as<C>(), gx.strides[0],
         gy.strides[0], x.strides[0],
         RowGroups::of(x.shape[0], ceil_div<int64>(x.shape[1], kPack), wave_of(call.device)),
         uint32(x.shape[1]),
         rows_are_aligned(x) && rows_are_aligned(gy) && rows_are_aligned(gx) &&
             is_aligned(weight.data)},
        call);
  }
};

}  // namespace wick::gpu
