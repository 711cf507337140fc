// cross_entropy and its gradient over the rows of [N, C].
#pragma once
#include "kernels/row_groups.h"
#include "wick/abi/ops/loss.h"

namespace wick::gpu {

// l = log of the sum of exp(x), loss = l - x[target]. A target outside of [0, C) fails and gives 0.
template <class T>
struct CrossEntropy : RowKernel {
  using C = Compute<T>;
  struct Args {
    C *loss, *l;
    const T* x;
    const int64* targets;
    int64 x_stride;  // of rows
    RowGroups groups;
  };
  static constexpr Signature signature{kCrossEntropy, kDTypeOf<T>};
  static constexpr int kPack = kFloatPack<T>;
  template <class Ctx>
  using Shared = Partials<Ctx, MaxSum<C>>;

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const RowPart part = a.groups.template part<kPack>(ctx);
    const T* const x = a.x + part.at(a.x_stride);
    const auto all = max_sum_of_row<kPack, C>(ctx, shared, a.groups, part, x);
    if (!part.is_row || !part.is_first) return;
    const int row = part.row;
    const int64 target = a.targets[row];
    const bool in_range = 0 <= target && target < part.columns;
    if (!in_range) ctx.fail(StatusCode::kIdOutOfRange, kCrossEntropy.id, row, target, part.columns);
    a.l[row] = all.log_sum();
    // Not l - x: near a loss of 0 only the rounding error of l would be left.
    a.loss[row] = in_range ? log(all.sum) - (widen<C>(x[target]) - all.max) : C(0);
  }

  static const char* accepts(const Call& call, const DeviceInfo&) {
    const View& x = call.in[0];
    if (const char* why = check_rows(x)) return why;
    return check_vectors(x.shape[0], call.in[1], call.out[0], call.out[1]);
  }
  static Status run(const Call& call) {
    const View& x = call.in[0];
    if (x.shape[0] == 0) return {};
    return launch<CrossEntropy>(
        {call.out[0].as<C>(), call.out[1].as<C>(), x.as<T>(), call.in[1].as<int64>(), x.strides[0],
         RowGroups::of<kPack>(call, x, rows_are_aligned(x))},
        call);
  }
};

// gx = gloss (exp(x - l) - [column == target])
template <class T>
struct CrossEntropyGradient {
  using C = Compute<T>;
  static constexpr int kThreads = 256, kPack = kFloatPack<T>;
  struct Args {
    T* gx;
    const T* x;
    const int64* targets;
    const C *l, *gloss;
    int64 gx_stride, x_stride;  // of rows
    RowSplit split;
    uint32 rows, columns;
    int64 first_row;  // of the launch
    bool aligned;
  };
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {a.split.blocks}; }
  template <class Ctx>
  struct Shared {};

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const RowSplit::Accesses place = a.split.place(ctx.block().x, ctx.thread());
    if (place.row >= a.rows) return;
    const int64 row = a.first_row + place.row, target = a.targets[row];
    if (place.first == 0 && (target < 0 || target >= a.columns))
      ctx.fail(StatusCode::kIdOutOfRange, kCrossEntropyGradient.id, row, target, a.columns);
    const C l = a.l[row], gloss = a.gloss[row];
    uint32 i = place.first * kPack;
    for (int s = 0; s < a.split.steps && i < a.columns; s++, i += place.step * kPack) {
      C v[kPack];
      load_part(a.x + row * a.x_stride, i, a.columns, a.aligned, l, v);
      for (int e = 0; e < kPack; e++) {
        const C p = exp(v[e] - l);
        v[e] = gloss * (int64(i + e) == target ? p - C(1) : p);
      }
      store_part(a.gx + row * a.gx_stride, i, a.columns, a.aligned, v);
    }
  }
};

template <class T>
struct CrossEntropyGradientLaunch {
  using C = Compute<T>;
  static constexpr Signature signature{kCrossEntropyGradient, kDTypeOf<T>};
  static const char* accepts(const Call& call, const DeviceInfo&) {
    const View& x = call.in[0];
    if (const char* why = check_rows(x, call.out[0])) return why;
    return check_vectors(x.shape[0], call.in[1], call.in[2], call.in[3]);
  }
  static Status run(const Call& call) {
    const View &x = call.in[0], &gx = call.out[0];
    if (x.numel() == 0) return {};
    Operands<1> rows;
    rows.data[0] = nullptr;
    rows.element_bytes[0] = 0;
    rows.add_dim(x.shape[0], {1});
    return for_each_part(rows,
                         [&](const Operands<1>& part) {
                           using K = CrossEntropyGradient<T>;
                           typename K::Args args{};
                           args.gx = gx.as<T>();
                           args.x = x.as<T>();
                           args.targets = call.in[1].as<int64>();
                           args.l = call.in[2].as<C>();
                           args.gloss = call.in[3].as<C>();
                           args.gx_stride = gx.strides[0];
                           args.x_stride = x.strides[0];
                           args.rows = uint32(part.numel());
                           args.columns = uint32(x.shape[1]);
                           args.split = RowSplit::of(
                               args.rows, ceil_div<int64>(args.columns, K::kPack), K::kThreads);
                           args.first_row = part.begin[0];
                           args.aligned = rows_are_aligned(x, gx);
                           return launch<K>(args, call);
                         },
                         {.numel = ceil_div(kLaunchLimit, x.shape[1])});
  }
};

}  // namespace wick::gpu
