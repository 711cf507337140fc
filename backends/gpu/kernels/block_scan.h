// What stands before each thread's value, in the order of threads: the scan that scans, sorts and
// compactions are made of. The order of Step's operands is that of the threads, and how they are put
// together depends on the wave alone.
#pragma once
#include "kernels/common.h"

namespace wick::gpu {

/// Lane source's value. Plain ones of 4 or 8 bytes; a family adds its own beside them.
template <class Ctx, class V>
WICK_DEVICE V value_of_lane(const Ctx& ctx, const V& v, int source) {
  return ctx.shuffle(v, source);
}

template <class V>
struct Scanned {
  V before;  // of the threads before this one
  V total;   // of all
};

/// Scans v by Step, an associative operation, in groups of `threads` neighbours: a power of two, at
/// most the block's. none: what changes nothing. All threads of the block call it. partial is the
/// block's, and free when this is called again.
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

/// A long row in pieces, each a block's, of whole tiles.
struct RowPieces {
  int32 count;
  int64 length;  // of each but the last

  /// So many that `rows` rows keep every card busy, none below `least` tiles.
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

/// What the first `count` of some totals come to, in every thread of the block.
template <class Step, class Ctx, class V>
WICK_DEVICE V total_of(const Ctx& ctx, V (&partial)[Ctx::kWaves], const V* totals, int count,
                       V none) {
  const int share = (count + Ctx::kThreads - 1) / Ctx::kThreads;
  V mine = none;
  for (int i = ctx.thread() * share; i < (ctx.thread() + 1) * share && i < count; i++)
    mine = Step()(mine, totals[i]);
  return scan_threads<Step>(ctx, partial, mine, none).total;
}

}  // namespace wick::gpu
