// softmax over the rows of [N, D]: a group of lanes or a block a row, which is read twice, the second
// time mostly from cache.
#pragma once
#include "kernels/row_groups.h"
#include "wick/abi/ops/softmax.h"

namespace wick::gpu {

// y = exp(x - max) / sum of exp(x - max)
template <class T>
struct Softmax {
  using C = Compute<T>;
  struct Args {
    T* y;
    const T* x;
    int64 y_stride, x_stride;  // of rows
    RowGroups groups;
    uint32 columns;
    bool aligned;
  };
  static constexpr Signature signature{kSoftmax, kDTypeOf<T>};
  static constexpr int kPack = kFloatPack<T>;
  static constexpr int threads(int) { return RowGroups::kThreads; }
  static Grid grid(int, const Args& a) { return a.groups.grid(); }
  template <class Ctx>
  struct Shared {
    MaxSum<C> partial[Ctx::kWaves];
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const int row = a.groups.row(ctx.block().x, ctx.thread());
    const bool is_row = row < a.groups.rows;
    const int lane = a.groups.lane(ctx.thread()), lanes = a.groups.lanes();
    const T* const x = a.x + (is_row ? row * a.x_stride : 0);
    MaxSum<C> all = MaxSum<C>::none();
    if (is_row) all = max_sum_of_lane<C, kPack>(x, a.columns, a.aligned, lane, lanes);
    all = combine_lanes<typename MaxSum<C>::Step>(ctx, a.groups, shared.partial, all);
    if (!is_row) return;
    for (uint32 i = lane * kPack; i < a.columns; i += lanes * kPack) {
      C v[kPack];
      load_part(x, i, a.columns, a.aligned, all.max, v);
      for (int e = 0; e < kPack; e++) v[e] = exp(v[e] - all.max) / all.sum;
      store_part(a.y + row * a.y_stride, i, a.columns, a.aligned, v);
    }
  }

  static const char* accepts(const Call& call, const DeviceInfo&) {
    const View& x = call.in[0];
    if (x.rank != 2) return "x is not [N, D]";
    if (const char* why = check_rows(x, x.shape[0], x.shape[1])) return why;
    return check_rows(call.out[0], x.shape[0], x.shape[1]);
  }
  static Status run(const Call& call) {
    const View &x = call.in[0], &y = call.out[0];
    if (x.numel() == 0) return {};
    return launch<Softmax>(
        {y.as<T>(), x.as<T>(), y.strides[0], x.strides[0],
         RowGroups::of(x.shape[0], ceil_div<int64>(x.shape[1], kPack), wave_of(call.device)),
         uint32(x.shape[1]), rows_are_aligned(x) && rows_are_aligned(y)},
        call);
  }
};

}  // namespace wick::gpu
