// softmax over the rows of [N, D]: a group of lanes or a block a row, which is read twice, the second
// time mostly from cache.
#pragma once
#include "kernels/row_groups.h"
#include "wick/abi/ops/softmax.h"

namespace wick::gpu {

// y = exp(x - max) / sum of exp(x - max)
template <class T>
struct Softmax : RowKernel {
  using C = Compute<T>;
  struct Args {
    T* y;
    const T* x;
    int64 y_stride, x_stride;  // of rows
    RowGroups groups;
  };
  static constexpr Signature signature{kSoftmax, kDTypeOf<T>};
  static constexpr int kPack = kFloatPack<T>;
  template <class Ctx>
  using Shared = Partials<Ctx, MaxSum<C>>;

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const RowPart part = a.groups.template part<kPack>(ctx);
    const bool aligned = a.groups.aligned;
    const T* const x = a.x + part.row * a.x_stride;
    MaxSum<C> all = max_sum_of<C, kPack>(part, x, aligned);
    all = combine_lanes<typename MaxSum<C>::Step>(ctx, a.groups, shared.partial, all);
    for (uint32 i = part.first; i < part.columns; i += part.step) {
      C v[kPack];
      load_part(x, i, part.columns, aligned, all.max, v);
      for (int e = 0; e < kPack; e++) v[e] = exp(v[e] - all.max) / all.sum;
      store_part(a.y + part.row * a.y_stride, i, part.columns, aligned, v);
    }
  }

  static const char* accepts(const Call& call, const DeviceInfo&) {
    return check_rows(call.in[0], call.out[0]);
  }
  static Status run(const Call& call) {
    const View &x = call.in[0], &y = call.out[0];
    if (x.numel() == 0) return {};
    return launch<Softmax>({y.as<T>(), x.as<T>(), y.strides[0], x.strides[0],
                            RowGroups::of<kPack>(call, x, rows_are_aligned(x, y))},
                           call);
  }
};

}  // namespace wick::gpu
