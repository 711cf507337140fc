// y = x wᵀ of a few rows on matrix units: f16 and bf16 x, weights in blocks, which are rounded to
// x's type. A lane reads whole runs of the weights and decodes them in its registers: k is in
// another order than in memory, the same for both operands.
#pragma once
#include "device/mma.h"
#include "kernels/linear.h"
#include "kernels/weight_units.h"

namespace wick::gpu {

template <class F, class T>
struct LinearDirect {
  static constexpr bool kUsesMatrix = true, kSumsByLayout = true;
  static constexpr int kThreads = 256, kTiles = LinearCall::kMaxRows / 16;
  static constexpr int kResidentBlocks = 2;
  using Unit = UnitOfWeights<F>;
  static constexpr int kUnit = blocks::kRun * Unit::kRuns;  // elements
  struct Args : LinearArgs {
    int32 tiles;  // of 16 rows of x
    int32 waves;  // that share 16 columns: a power of two
  };
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {a.blocks_n}; }
  static WICK_HD int columns_of_block(int wave, int waves) {
    return 16 * (kThreads / wave / waves);
  }
  /// As LinearVector::waves_for.
  static int waves_for(int wave, int64 n, int64 k) {
    constexpr int64 kBusyBlocks = 256, kLeast = 4 * kUnit;  // of k, for a wave
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
    constexpr int kPacks = M::kDirectPacks, kGroups = 2 * M::kDirectProducts;
    constexpr int kSpan = kGroups * kUnit;  // a wave's next piece of k
    const int first_n = (ctx.block().x * Ctx::kWaves + ctx.wave()) / args.waves * 16;

    // Rows beyond the last repeat it; their results are not stored.
    const uint8* w[kPacks];
    const T* x[kTiles][kPacks];
    int from[kPacks];  // of a lane's units in a span
    WICK_UNROLL
    for (int p = 0; p < kPacks; p++) {
      const int row = M::direct_row(ctx.lane(), p), n = first_n + row;
      w[p] = args.row_of(n < args.n ? n : args.n - 1);
      from[p] = M::direct_k(ctx.lane(), p) / 8 * kUnit;
      WICK_UNROLL
      for (int i = 0; i < kTiles; i++) {
        const int m = 16 * i + row;
        x[i][p] = reinterpret_cast<const T*>(args.x_of(m < args.m ? m : args.m - 1));
      }
    }

    Sums<M> sums[kTiles] = {};
    struct Units {
      Unit of[kPacks];
    };
    const auto load = [&](Units& units, int span) {
      WICK_UNROLL
      for (int p = 0; p < kPacks; p++) {
        const int k = span + from[p];
        units.of[p] = Unit::load(w[p], k < args.k ? k / kUnit : 0);  // others meet zeros
      }
    };
    // Rows of x, loaded a product before they are multiplied.
    Words ahead[kPacks];
    const auto load_ahead = [&](int tile, int span, int step) {
      WICK_UNROLL
      for (int p = 0; p < kPacks; p++) {
        const int k =
            Unit::run_of((span + from[p]) / kUnit, step / 4) * blocks::kRun + step % 4 * 8;
        const T* const row = tile == 0 ? x[0][p] : x[kTiles - 1][p];
        ahead[p] = {};
        if (k < args.k) ahead[p] = *reinterpret_cast<const Words*>(row + k);
      }
    };
    static_assert(kTiles == 2);  // load_ahead
    const auto multiply_span = [&](const Units& units, int span, int following) {
      constexpr int kSteps = kUnit / 8;
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
          if (i >= args.tiles) break;
          Words packs[kPacks];
          WICK_UNROLL
          for (int p = 0; p < kPacks; p++) packs[p] = ahead[p];
          const bool is_last = i + 1 >= args.tiles || i + 1 == kTiles;
          load_ahead(is_last ? 0 : i + 1, is_last && step + 1 == kSteps ? following : span,
                     is_last ? (step + 1) % kSteps : step);
          WICK_UNROLL
          for (int product = 0; product < M::kDirectProducts; product++)
            multiply(ctx, sums[i], direct_operand<Side::kLeft, T>(ctx, packs, product),
                     right[product]);
        }
      }
    };
    int span = ctx.wave() % args.waves * kSpan;
    // Whether there is another span, on its way into `next` while `now` is multiplied.
    const auto advance = [&](const Units& now, Units& next) {
      const int following = span + args.waves * kSpan;
      const bool more = following < args.k;
      load(next, more ? following : span);
      ctx.keep_order();
      multiply_span(now, span, following);
      span = following;
      return more;
    };
    if (span < args.k) {
      Units a, b;
      load(a, span);
      load_ahead(0, span, 0);
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
    Pack<T, 8> pack;
    WICK_UNROLL
    for (int e = 0; e < 8; e++) {
      const uint32 word = unit.words[run][first + e / 4];
      const float quant =
          byte_minus(kQuantBias<F> == 128 ? word ^ 0x80808080u : word, e % 4, kQuantBias<F>);
      pack.v[e] = round_to<T>(fma(scale.scale, quant, F::kHasOffset ? scale.offset : 0.0f));
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
      if (i >= args.tiles) break;
      float* const to = shared.sums[ctx.wave()][i];
      WICK_UNROLL
      for (int e = 0; e < M::kAccumulator; e++)
        to[M::m(ctx.lane(), e) * 16 + M::n(ctx.lane(), e)] = sums[i].v[e];
    }
    ctx.sync_shared();
    const int groups = Ctx::kWaves / args.waves, of_group = args.tiles * 256;
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
  using K = LinearDirect<F, T>;
  static const char* accepts(const Call& call, const DeviceInfo&) {
    const LinearCall linear(call);
    if (const char* why = linear.check(true)) return why;
    if (const char* why = linear.check_rows()) return why;
    if (linear.m() < 2) return "there is one row";
    const View& x = call.in[0];
    return is_aligned(x.data) && x.strides[0] % 8 == 0 ? nullptr : "x is not in aligned packs";
  }
  static Status run(const Call& call) {
    const LinearCall linear(call);
    const int wave = wave_of(call.device);
    const int waves = K::waves_for(wave, linear.n(), linear.k());
    return launch<K>({linear.args(LinearCall::kMaxRows, K::columns_of_block(wave, waves)),
                      int32(ceil_div<int64>(linear.m(), 16)), waves},
                     call);
  }
};

}  // namespace wick::gpu
