// Exclusive scan over the threads of a block, which scans, sorts and compactions use. Step's
// operands are in thread order, and their association depends on the wave width alone.
#pragma once
#include "kernels/common.h"

namespace wick::gpu {

/// Returns lane `source`'s value. For plain values of 4 or 8 bytes; families add overloads.
template <class Ctx, class V>
WICK_DEVICE V value_of_lane(const Ctx& ctx, const V& v, int source) {
  return ctx.shuffle(v, source);
}

template <class V>
struct Scanned {
  V before;  // over the threads before this one
  V total;   // over all threads
};

/// Scans v by Step, an associative operation with identity `none`, within groups of `threads`
/// neighbouring threads: a power of two, at most the block's. All threads of the block must call
/// it. partial: shared memory, which may be reused for the next call.
template <class Step, class Ctx, class V>
WICK_DEVICE Scanned<V> scan_threads(const Ctx& ctx, V (&partial)[Ctx::kWaves], V v, V none,
                                    int threads = Ctx::kThreads) {
  const int lanes = threads < Ctx::kWave ? threads : Ctx::kWave;
  const int lane = ctx.lane(), place = lane & (lanes - 1);
  V up_to = v;
  for (int step = 1; step < lanes; step *= 2) {
    const V lower = value_of_lane(ctx, up_to, place >= step ? lane - step : lane);
    if (place >= step) up_to = Step()(lower, up_to);
  }
  V before = value_of_lane(ctx, up_to, place > 0 ? lane - 1 : lane);
  if (place == 0) before = none;
  V total = value_of_lane(ctx, up_to, lane | (lanes - 1));
  if (threads > Ctx::kWave) {
    if (lane == 0) partial[ctx.wave()] = total;
    ctx.sync();
    const int waves = threads / Ctx::kWave, first = ctx.wave() & ~(waves - 1);
    V waves_before = none;
    total = none;
    for (int w = first; w < first + waves; w++) {
      if (w == ctx.wave()) waves_before = total;
      total = Step()(total, partial[w]);
    }
    before = Step()(waves_before, before);
    ctx.sync();
  }
  return {before, total};
}

struct Plus {
  template <class T>
  WICK_DEVICE T operator()(T a, T b) const {
    return a + b;
  }
};

/// A long row split into pieces of whole tiles, one block each.
struct RowPieces {
  int32 count;
  int64 length;  // of each but the last

  /// Enough pieces that `rows` rows occupy any card, each of at least `least` tiles.
  static RowPieces of(int64 rows, int64 row_length, int64 tile, int64 least = 4) {
    constexpr int64 kBlocks = 1024;
    int64 count = rows > 0 && rows < kBlocks ? kBlocks / rows : 1;
    const int64 most = row_length / (tile * least);
    if (count > most) count = most > 0 ? most : 1;
    int64 length = ceil_div(ceil_div(row_length, count), tile) * tile;
    if (length == 0) length = tile;
    return {row_length > 0 ? int32(ceil_div(row_length, length)) : 1, length};
  }
};

/// The combination of the first `count` totals, in every thread of the block.
template <class Step, class Ctx, class V>
WICK_DEVICE V total_of(const Ctx& ctx, V (&partial)[Ctx::kWaves], const V* totals, int count,
                       V none) {
  const int share = ceil_div(count, Ctx::kThreads);
  V mine = none;
  for (int i = ctx.thread() * share; i < (ctx.thread() + 1) * share && i < count; i++)
    mine = Step()(mine, totals[i]);
  return scan_threads<Step>(ctx, partial, mine, none).total;
}

}  // namespace wick::gpu
