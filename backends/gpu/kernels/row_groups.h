// Shared by the kernels over the rows of [N, D]: the assignment of threads to rows, a row's packs,
// and reductions over its threads in an order that depends on D and the wave width alone.
#pragma once
#include "kernels/common.h"
#include "scalar/reduce.h"

namespace wick::gpu {

/// Elements per access of kernels that compute in floats. Fewer for f8: converting takes longer
/// than loading, and clang puts larger arrays of them into memory.
template <class T>
inline constexpr int kFloatPack = sizeof(T) == 1 ? 4 : kPackSize<T>;

/// A thread's part of a row: the packs at elements first, first + step ... below columns.
struct RowPart {
  int row;
  bool is_row, is_first;  // a thread without a row has no columns
  uint32 first, step, columns;

  /// The row's offset; 0 without a row.
  WICK_DEVICE int64 at(int64 stride) const { return is_row ? row * stride : 0; }
};

/// 2^log_lanes lanes of a wave work on a row, or a whole block does.
struct RowGroups {
  static constexpr int kThreads = 256, kLogThreads = 8;
  int32 rows;
  int32 log_lanes;
  uint32 columns;
  bool aligned;  // all packs of all operands are aligned

  /// For the rows of x in packs of n elements.
  template <int n>
  static RowGroups of(const Call& call, const View& x, bool aligned) {
    const int32 wave = wave_of(call.device);
    const int64 packs = ceil_div<int64>(x.shape[1], n);
    RowGroups groups{int32(x.shape[0]), 0, uint32(x.shape[1]), aligned};
    while (2 << groups.log_lanes <= wave && 2 << groups.log_lanes <= packs) groups.log_lanes++;
    if (packs > 4 * wave) groups.log_lanes = kLogThreads;
    return groups;
  }
  Grid grid() const { return {ceil_div(rows, kThreads >> log_lanes)}; }
  WICK_DEVICE int lanes() const { return 1 << log_lanes; }
  template <int n, class Ctx>
  WICK_DEVICE RowPart part(const Ctx& ctx) const {
    const int row = (ctx.block().x << (kLogThreads - log_lanes)) + (ctx.thread() >> log_lanes);
    const int lane = ctx.thread() & (lanes() - 1);
    const bool is_row = row < rows;
    return {row, is_row, lane == 0, uint32(lane * n), uint32(lanes() * n), is_row ? columns : 0};
  }
};

/// The base of kernels whose Args have a RowGroups `groups`.
struct RowKernel {
  static constexpr int threads(int) { return RowGroups::kThreads; }
  template <class Args>
  static Grid grid(int, const Args& a) {
    return a.groups.grid();
  }
};
/// Their Shared, for combine_lanes.
template <class Ctx, class V>
struct Partials {
  V partial[Ctx::kWaves];
};

/// Combines v, which is uniform within each wave, over the waves of a block by Step. All threads
/// must call it. partial: shared memory, which may be reused for the next call.
template <class Step, class Ctx, class V>
WICK_DEVICE V combine_waves(const Ctx& ctx, V (&partial)[Ctx::kWaves], V v) {
  if (ctx.lane() == 0) partial[ctx.wave()] = v;
  ctx.sync();
  v = partial[0];
  for (int w = 1; w < Ctx::kWaves; w++) v = Step()(v, partial[w]);
  ctx.sync();
  return v;
}
/// Combines v over all lanes of the row.
template <class Step, class Ctx, class V>
WICK_DEVICE V combine_lanes(const Ctx& ctx, const RowGroups& groups, V (&partial)[Ctx::kWaves],
                            V v) {
  const int lanes = groups.lanes();
  masks_down<Ctx::kWave / 2, 1>([&]<int mask>() {
    if (mask < lanes) v = Step()(v, exchange<mask>(ctx, v));
  });
  return lanes > Ctx::kWave ? combine_waves<Step>(ctx, partial, v) : v;
}
/// Combines v over all threads of the block.
template <class Step, class Ctx, class V>
WICK_DEVICE V combine_block(const Ctx& ctx, V (&partial)[Ctx::kWaves], V v) {
  masks_down<Ctx::kWave / 2, 1>([&]<int mask>() { v = Step()(v, exchange<mask>(ctx, v)); });
  return combine_waves<Step>(ctx, partial, v);
}

/// Loads elements i ... i + n - 1 of a row of `size`; `beyond` for those past its end. aligned:
/// whether the row's packs are aligned.
template <class C, int n, class T>
WICK_DEVICE void load_part(const T* row, uint32 i, uint32 size, bool aligned, C beyond, C (&x)[n]) {
  if (aligned && i + n <= size) {
    const auto pack = load_pack<n>(row + i);
    for (int e = 0; e < n; e++) x[e] = widen<C>(pack.v[e]);
  } else {
    one_by_one([&] {
      for (int e = 0; e < n; e++) x[e] = i + e < size ? widen<C>(row[i + e]) : beyond;
    });
  }
}
template <class C, int n, class T>
WICK_DEVICE void store_part(T* row, uint32 i, uint32 size, bool aligned, const C (&x)[n]) {
  if (aligned && i + n <= size) {
    Pack<T, n> pack;
    for (int e = 0; e < n; e++) pack.v[e] = narrow<T>(x[e]);
    store_pack(row + i, pack);
  } else {
    one_by_one([&] {
      for (int e = 0; e < n; e++)
        if (i + e < size) row[i + e] = narrow<T>(x[e]);
    });
  }
}

/// A thread's packs of a row that is read more than once. The first pack stays in registers, which
/// is the whole row if it has no more packs than threads.
template <class T, int n>
class HeldRow {
 public:
  using C = Compute<T>;
  WICK_DEVICE HeldRow(const T* row, const RowPart& part, bool aligned)
      : row_(row), part_(part), aligned_(aligned) {
    if (part.first >= part.columns) return;
    if (is_whole())
      first_ = load_pack<n>(row + part.first);
    else
      for (int e = 0; e < n; e++)
        if (part.first + e < part.columns) first_.v[e] = row[part.first + e];
  }
  /// Calls f(i, x) for every pack: elements i ... i + n - 1, `beyond` for those past the row's end.
  template <class F>
  WICK_DEVICE void each(C beyond, const F& f) const {
    if (part_.first >= part_.columns) return;
    C x[n];
    for (int e = 0; e < n; e++) x[e] = widen<C>(first_.v[e]);
    if (!is_whole())
      for (int e = 0; e < n; e++)
        if (part_.first + e >= part_.columns) x[e] = beyond;
    f(part_.first, x);
    for (uint32 i = part_.first + part_.step; i < part_.columns; i += part_.step) {
      load_part(row_, i, part_.columns, aligned_, beyond, x);
      f(i, x);
    }
  }

 private:
  WICK_DEVICE bool is_whole() const { return aligned_ && part_.first + n <= part_.columns; }

  const T* const row_;
  const RowPart& part_;
  const bool aligned_;
  Pack<T, n> first_{};
};

/// The running maximum of some x, and the running sum of exp(x - max).
template <class C>
struct MaxSum {
  C max, sum;

  static WICK_DEVICE MaxSum none() { return {Max::identity<C>(), C(0)}; }
  /// The value to subtract in exp: max, or 0 if max is -inf, so that exp gives 0.
  static WICK_DEVICE C shift(C max) { return max == Max::identity<C>() ? C(0) : max; }
  template <int n>
  WICK_DEVICE void add(const C (&x)[n]) {
    C larger = max;
    for (int e = 0; e < n; e++) larger = Max()(larger, x[e]);
    const C down = shift(larger);
    if (!(larger == max)) sum *= exp(max - down);
    for (int e = 0; e < n; e++) sum += exp(x[e] - down);
    max = larger;
  }
  struct Step {
    WICK_DEVICE MaxSum operator()(const MaxSum& a, const MaxSum& b) const {
      const C max = Max()(a.max, b.max), down = shift(max);
      return {max, a.sum * exp(a.max - down) + b.sum * exp(b.max - down)};
    }
  };
  /// The log of the sum of exp(x).
  WICK_DEVICE C log_sum() const { return max + log(sum); }
};
template <int mask, class Ctx, class C>
WICK_DEVICE MaxSum<C> exchange(const Ctx& ctx, const MaxSum<C>& v) {
  return {exchange<mask>(ctx, v.max), exchange<mask>(ctx, v.sum)};
}

/// The MaxSum of the row x, which its threads read in packs of n.
template <int n, class C, class Ctx, class T>
WICK_DEVICE MaxSum<C> max_sum_of_row(const Ctx& ctx, Partials<Ctx, MaxSum<C>>& shared,
                                     const RowGroups& groups, const RowPart& part, const T* x) {
  auto all = MaxSum<C>::none();
  for (uint32 i = part.first; i < part.columns; i += part.step) {
    C v[n];
    load_part(x, i, part.columns, groups.aligned, Max::identity<C>(), v);
    all.add(v);
  }
  return combine_lanes<typename MaxSum<C>::Step>(ctx, groups, shared.partial, all);
}

// Checks of a call's operands, on the host.

/// Whether the packs of all these rows [N, D] are aligned.
template <class... Views>
bool rows_are_aligned(const Views&... rows) {
  return ((is_aligned(rows.data) && bytes_of(rows.dtype, rows.strides[0]) % 16 == 0) && ...);
}
/// nullptr, or the reason why these are not all [N, D] of the first one's shape with inner
/// strides of 1.
template <class... Views>
const char* check_rows(const View& x, const Views&... others) {
  const char* why = nullptr;
  const auto check = [&](const View& rows) {
    if (rows.rank != 2 || rows.shape[0] != x.shape[0] || rows.shape[1] != x.shape[1])
      why = "operands are not [N, D] of one shape";
    else if (rows.shape[1] > 1 && rows.strides[1] != 1)
      why = "the inner stride is not 1";
    else if (rows.shape[0] > kLaunchLimit || rows.shape[1] > kLaunchLimit)
      why = "there is more than a launch covers";
    return !why;
  };
  (void)(check(x) && (check(others) && ...));
  return why;
}
/// nullptr, or the reason why x is not contiguous with `size` elements.
inline const char* check_vector(const View& x, int64 size) {
  return x.numel() == size && x.contiguous() ? nullptr : "a vector is not contiguous";
}
/// The same for several views.
template <class... Views>
const char* check_vectors(int64 size, const Views&... vectors) {
  const char* why = nullptr;
  (void)((why = check_vector(vectors, size), !why) && ...);
  return why;
}

}  // namespace wick::gpu
