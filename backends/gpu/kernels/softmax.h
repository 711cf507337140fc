// softmax and logsumexp over the rows of [N, D]: a group of lanes or a block per row. softmax reads
// a row twice, the second time from registers and cache.
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
    const HeldRow<T, kPack> x(a.x + part.at(a.x_stride), part, aligned);
    auto all = MaxSum<C>::none();
    x.each(Max::identity<C>(), [&](uint32, const C(&v)[kPack]) { all.add(v); });
    all = combine_lanes<typename MaxSum<C>::Step>(ctx, a.groups, shared.partial, all);
    T* const y = a.y + part.at(a.y_stride);
    x.each(all.max, [&](uint32 i, C(&v)[kPack]) {
      for (int e = 0; e < kPack; e++) v[e] = exp(v[e] - all.max) / all.sum;
      store_part(y, i, part.columns, aligned, v);
    });
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

// y = log of the sum of exp(x)
template <class C>
struct LogSumExp : RowKernel {
  struct Args {
    C* y;
    const C* x;
    int64 x_stride;  // of rows
    RowGroups groups;
  };
  static constexpr Signature signature{kLogSumExp, kDTypeOf<C>};
  static constexpr int kPack = kFloatPack<C>;
  template <class Ctx>
  using Shared = Partials<Ctx, MaxSum<C>>;

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const RowPart part = a.groups.template part<kPack>(ctx);
    const C* const x = a.x + part.at(a.x_stride);
    const auto all = max_sum_of_row<kPack, C>(ctx, shared, a.groups, part, x);
    // The sum is NaN if the maximum is inf.
    if (part.is_row && part.is_first)
      a.y[part.row] = all.max == Min::identity<C>() ? all.max : all.log_sum();
  }

  static const char* accepts(const Call& call, const DeviceInfo&) {
    if (const char* why = check_rows(call.in[0])) return why;
    if (is_few_long_rows(call.in[0])) return "a few long rows, which the composite cuts";
    return check_vector(call.out[0], call.in[0].shape[0]);
  }
  static Status run(const Call& call) {
    const View &x = call.in[0], &y = call.out[0];
    if (x.shape[0] == 0) return {};
    return launch<LogSumExp>(
        {y.as<C>(), x.as<C>(), x.strides[0], RowGroups::of<kPack>(call, x, rows_are_aligned(x))},
        call);
  }
};

}  // namespace wick::gpu
