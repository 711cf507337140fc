// y = x wᵀ of a few rows on matrix units: f16 and bf16 x, weights in blocks, which are rounded to
// x's type. A lane reads whole runs of the weights and decodes them in its registers: k is in
// another order than in memory, the same for both operands. A launch before the product writes x in
// that order: read as it is, each lane of a load would have a cache line of its own, and these
// look-ups would take more time than the weights.
#pragma once
#include "device/byte_plus.h"
#include "device/mma.h"
#include "kernels/linear.h"
#include "kernels/weight_units.h"

namespace wick::gpu {

/// How x [m, k] lies for the product: for each span of k, which is the next piece of a wave, its
/// steps one after the other, of each the tiles of 16 rows, of each the packs of the lanes.
template <class F>
struct DirectOrder {
  using Unit = UnitOfWeights<F>;
  static constexpr int kUnit = blocks::kRun * Unit::kRuns;  // elements
  static constexpr int kSteps = kUnit / 8;                  // of a span
  template <class M>
  static constexpr int kSpan = 2 * M::kDirectProducts* kUnit;
  /// Spans of no device are shorter, and no device has more bytes of a step and a tile.
  static constexpr int kShortestSpan = 2 * kUnit, kMaxStepBytes = 64 * 16;

  /// Packs of a step and a tile.
  template <class Ctx>
  static constexpr int kStepPacks = Ctx::Matrix::kDirectPacks* Ctx::kWave;
  /// The first element of pack p of a lane.
  template <class M>
  static WICK_DEVICE int k_of(int span, int step, int lane, int p) {
    const int unit = (span + M::direct_k(lane, p) / 8 * kUnit) / kUnit;
    return Unit::run_of(unit, step / 4) * blocks::kRun + step % 4 * 8;
  }
  static int64 spans(int64 k) { return ceil_div<int64>(k, kShortestSpan); }
  static int64 bytes(int64 k, int64 tiles) { return spans(k) * kSteps * tiles * kMaxStepBytes; }
};

// to = x in the order of DirectOrder, with zeros for rows and elements that are not there. Block: a
// span.
template <class F, class T>
struct OrderRows {
  static constexpr bool kUsesMatrix = true;  // the order is of its operands
  using Order = DirectOrder<F>;
  struct Args {
    const T* x;
    int64 x_row;
    void* to;
    int32 m, k, tiles, spans;
  };
  static constexpr int kThreads = 256;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {a.spans}; }
  template <class Ctx>
  struct Shared {};

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    using M = typename Ctx::Matrix;
    using Words = typename Ctx::Words;
    constexpr int kStepPacks = Order::template kStepPacks<Ctx>;
    const int span = ctx.block().x * Order::template kSpan<M>;
    if (span >= a.k) return;
    const int count = Order::kSteps * a.tiles * kStepPacks;
    Words* const to = static_cast<Words*>(a.to) + int64(ctx.block().x) * count;
    for (int i = ctx.thread(); i < count; i += kThreads) {
      const int lane = i % Ctx::kWave, p = i / Ctx::kWave % M::kDirectPacks;
      const int tile = i / kStepPacks % a.tiles, step = i / kStepPacks / a.tiles;
      const int row = 16 * tile + M::direct_row(lane, p);
      const int k = Order::template k_of<M>(span, step, lane, p);
      Words pack{};
      if (row < a.m && k < a.k) pack = *reinterpret_cast<const Words*>(a.x + row * a.x_row + k);
      to[i] = pack;
    }
  }
};

/// tiles: of 16 rows of x.
template <class F, class T, int tiles>
struct LinearDirect {
  static constexpr bool kUsesMatrix = true, kSumsByLayout = true;
  static constexpr int kThreads = 256, kTiles = tiles;
  static constexpr int kResidentBlocks = 2;
  using Order = DirectOrder<F>;
  using Unit = UnitOfWeights<F>;
  static constexpr int kUnit = Order::kUnit, kSteps = Order::kSteps;
  struct Args : LinearArgs {
    const void* rows;  // x in the order of DirectOrder
    int32 waves;       // that share 16 columns: a power of two
  };
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {a.blocks_n}; }
  static WICK_HD int columns_of_block(int wave, int waves) {
    return 16 * (kThreads / wave / waves);
  }
  /// As LinearVector::waves_for.
  static int waves_for(int wave, int64 n, int64 k) {
    constexpr int64 kBusyBlocks = 200, kLeast = 4 * kUnit;  // of k, for a wave
    int waves = 1;
    while (waves < kThreads / wave && waves * kLeast < k &&
           ceil_div<int64>(n, columns_of_block(wave, waves)) < kBusyBlocks)
      waves *= 2;
    return waves;
  }

  template <class Ctx>
  struct Shared {
    alignas(16) float sums[Ctx::kWaves][kTiles][256];
  };

  template <class Ctx>
  static WICK_DEVICE void prefetch(const Ctx& ctx, const Args& args) {
    const int columns = columns_of_block(Ctx::kWave, args.waves);
    args.prefetch(ctx, ctx.block().x * columns, columns);
  }

  template <class Ctx>
  static WICK_INLINE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& args) {
    using M = typename Ctx::Matrix;
    using Words = typename Ctx::Words;
    constexpr int kPacks = M::kDirectPacks, kSpan = Order::template kSpan<M>;
    const int first_n = (ctx.block().x * Ctx::kWaves + ctx.wave()) / args.waves * 16;

    // Columns beyond the last repeat it; their results are not stored.
    const uint8* w[kPacks];
    int from[kPacks];  // of a lane's units in a span
    WICK_UNROLL
    for (int p = 0; p < kPacks; p++) {
      const int n = first_n + M::direct_row(ctx.lane(), p);
      w[p] = args.row_of(n < args.n ? n : args.n - 1);
      from[p] = M::direct_k(ctx.lane(), p) / 8 * kUnit;
    }

    Sums<M> sums[kTiles] = {};
    struct Units {
      Unit of[kPacks];
    };
    const auto load = [&](Units& units, int span) {
      WICK_UNROLL
      for (int p = 0; p < kPacks; p++) {
        const int k = span + from[p];
        units.of[p] = Unit::load_ahead(w[p], k < args.k ? k / kUnit : 0);  // others meet zeros
      }
    };
    // Rows of x, a tile of a step each, which are loaded one or two products before theirs.
    constexpr int kOfStep = Order::template kStepPacks<Ctx>, kCount = kSteps * kTiles;
    constexpr int kAhead = kTiles == 1 || !Ctx::kCopiesAsync ? 2 : 1, kHeld = 2 * kAhead;
    static_assert(kCount % kHeld == 0);
    const auto rows_of = [&](int span) {
      return static_cast<const Words*>(args.rows) + int64(span / kSpan) * (kCount * kOfStep) +
             ctx.lane();
    };
    Words held[kHeld][kPacks];
    const auto load_rows = [&](Words(&to)[kPacks], const Words* rows) {
      WICK_UNROLL
      for (int p = 0; p < kPacks; p++) to[p] = rows[p * Ctx::kWave];
    };
    const auto multiply_span = [&](Units& units, const Words* rows, const Words* following) {
      WICK_UNROLL
      for (int p = 0; p < kPacks; p++) units.of[p].end_load();
      WICK_UNROLL
      for (int step = 0; step < kSteps; step++) {
        Words weights[kPacks];
        WICK_UNROLL
        for (int p = 0; p < kPacks; p++) weights[p] = decoded<Words>(units.of[p], step);
        Operand<T, M> right[M::kDirectProducts];
        WICK_UNROLL
        for (int product = 0; product < M::kDirectProducts; product++)
          right[product] = direct_operand<Side::kRight, T>(ctx, weights, product);
        WICK_UNROLL
        for (int i = 0; i < kTiles; i++) {
          const int n = step * kTiles + i, next = n + kAhead;
          load_rows(held[next % kHeld],
                    next < kCount ? rows + next * kOfStep : following + (next - kCount) * kOfStep);
          WICK_UNROLL
          for (int product = 0; product < M::kDirectProducts; product++)
            multiply(ctx, sums[i], direct_operand<Side::kLeft, T>(ctx, held[n % kHeld], product),
                     right[product]);
        }
      }
    };
    int span = ctx.wave() % args.waves * kSpan;
    // Whether there is another span, on its way into `next` while `now` is multiplied.
    const auto advance = [&](Units& now, Units& next) {
      const int following = span + args.waves * kSpan;
      const bool more = following < args.k;
      load(next, more ? following : span);
      multiply_span(now, rows_of(span), rows_of(more ? following : span));
      span = following;
      return more;
    };
    if (span < args.k) {
      Units a, b;
      load(a, span);
      WICK_UNROLL
      for (int n = 0; n < kAhead; n++) load_rows(held[n], rows_of(span) + n * kOfStep);
      WICK_ROLL
      while (advance(a, b) && advance(b, a)) {
      }
    }
    finish(ctx, shared, args, sums);
  }

 private:
  /// The 8 neighbours of a step, in T.
  template <class Words>
  static WICK_DEVICE Words decoded(const Unit& unit, int step) {
    const int run = step / 4, first = step % 4 * 2;
    const BlockScale scale = unit.scales[run][step % 4 * 8 * Unit::kScales / blocks::kRun];
    constexpr int kLimit = kQuantBias<F> == 128 ? 256 : 128;
    // (bias + kByteOffset) scale is exact, but beside an offset of the format's own.
    const float offset = (F::kHasOffset ? scale.offset : 0.0f) -
                         float(kQuantBias<F> + kByteOffset<kLimit>) * scale.scale;
    Pack<T, 8> pack;
    WICK_UNROLL
    for (int e = 0; e < 8; e++) {
      const uint32 word = unit.words[run][first + e / 4] ^ (kLimit == 256 ? 0x80808080u : 0u);
      pack.v[e] = round_to<T>(fma(scale.scale, byte_plus<kLimit>(word, e % 4), offset));
    }
    static_assert(sizeof pack == sizeof(Words));
    return __builtin_bit_cast(Words, pack);
  }

  /// Adds up the sums of the waves that share columns, and stores them.
  template <class Ctx>
  static WICK_INLINE void finish(const Ctx& ctx, Shared<Ctx>& shared, const Args& args,
                                 const Sums<typename Ctx::Matrix> (&sums)[kTiles]) {
    using M = typename Ctx::Matrix;
    WICK_UNROLL
    for (int i = 0; i < kTiles; i++) {
      float* const to = shared.sums[ctx.wave()][i];
      WICK_UNROLL
      for (int e = 0; e < M::kAccumulator; e++)
        to[M::m(ctx.lane(), e) * 16 + M::n(ctx.lane(), e)] = sums[i].v[e];
    }
    ctx.sync_shared();
    const int groups = Ctx::kWaves / args.waves, of_group = kTiles * 256;
    WICK_ROLL
    for (int t = ctx.thread(); t < groups * of_group; t += Ctx::kThreads) {
      const int group = t / of_group, tile = t % of_group / 256, at = t % 256;
      const auto sum_of = [&](int of) {
        float sum = shared.sums[group * args.waves][tile][of];
        for (int i = 1; i < args.waves; i++) sum += shared.sums[group * args.waves + i][tile][of];
        return sum;
      };
      const int m = tile * 16 + at / 16;
      const int n = (ctx.block().x * groups + group) * 16 + at % 16;
      if (m >= args.m || n >= args.n) continue;
      if (!args.is_gated)
        args.store(m, n, sum_of(at));
      else if (n % 2 == 0)
        args.store_gated(m, n / 2, sum_of(at), sum_of(at + 1));
    }
  }
};

template <class F, class T>
struct LinearDirectLaunch {
  using Order = DirectOrder<F>;
  static const char* accepts(const Call& call, const DeviceInfo&) {
    const LinearCall linear(call);
    if (const char* why = linear.check(true)) return why;
    if (const char* why = linear.check_rows()) return why;
    if (linear.m() < 2) return "there is one row";
    const View& x = call.in[0];
    return is_aligned(x.data) && x.strides[0] % 8 == 0 ? nullptr : "x is not in aligned packs";
  }
  static int64 scratch_bytes(const Call& call, const DeviceInfo&) {
    const LinearCall linear(call);
    return Order::bytes(linear.k(), tiles_of(linear));
  }
  static Status run(const Call& call) {
    static_assert(LinearCall::kMaxRows == 32);
    return tiles_of(LinearCall(call)) == 1 ? run_kernel<LinearDirect<F, T, 1>>(call)
                                           : run_kernel<LinearDirect<F, T, 2>>(call);
  }

 private:
  template <class K>
  static Status run_kernel(const Call& call) {
    const LinearCall linear(call);
    const int wave = wave_of(call.device);
    const int waves = K::waves_for(wave, linear.n(), linear.k());
    const typename K::Args args{linear.args(LinearCall::kMaxRows, K::columns_of_block(wave, waves)),
                                call.scratch, waves};
    if (args.n == 0) return {};
    const Status status =
        launch<OrderRows<F, T>>({call.in[0].as<T>(), args.x_row, call.scratch, args.m, args.k,
                                 K::kTiles, int32(Order::spans(args.k))},
                                call);
    return status.ok() ? launch<K>(args, call) : status;
  }
  static int64 tiles_of(const LinearCall& linear) { return ceil_div<int64>(linear.m(), 16); }
};

}  // namespace wick::gpu
