// Products of a few rows with block weights in integers: x is rounded to 16 bits, each 32
// neighbours with a step of their own (decision 11). An instruction adds four products of bytes, of
// which an x has two.
#pragma once
#include "device/join_bytes.h"
#include "kernels/linear.h"
#include "kernels/weight_units.h"
#include "scalar/activation_steps.h"

namespace wick::gpu {

/// x's integers for 32 neighbours: high * 256 + low, all signed bytes, and the sums of each 16.
struct RunOfX {
  static constexpr int kWords = blocks::kRun / 4;
  uint32 high[kWords], low[kWords];
  int32 sums[2];
  float step;
};

/// sum + the weights of run r times x.
template <class F>
WICK_INLINE float add_run(const UnitOfWeights<F>& w, int r, const RunOfX& x, float sum) {
  using W = UnitOfWeights<F>;
  constexpr int kWords = W::kWords / W::kScales;
  WICK_UNROLL
  for (int g = 0; g < W::kScales; g++) {
    int high = 0, low = 0;
    WICK_UNROLL
    for (int i = g * kWords; i < (g + 1) * kWords; i++) {
      high = dot4(w.words[r][i], x.high[i], high);
      low = dot4(w.words[r][i], x.low[i], low);
    }
    const int ones = W::kScales == 2 ? x.sums[g] : x.sums[0] + x.sums[1];
    const int product = high * 256 + low - W::kBias * ones;  // |product| < 2^28
    sum = fma(w.scales[r][g].scale * x.step, float(product), sum);
    if constexpr (F::kHasOffset) sum = fma(w.scales[r][g].offset * x.step, float(ones), sum);
  }
  return sum;
}

/// The rounded x of a block, and its sums: the same for all formats of weights.
template <class Ctx, int rows, int columns, int runs, int max_turns>
struct RoundedShared {
  VectorShared<Ctx, rows * columns> exact;
  float sums_of[max_turns][Ctx::kWaves][rows * columns];
  // High bytes of the runs' first and second halves, then low bytes; the units' first runs, then
  // the second ones: neighbouring lanes read neighbouring 16 bytes.
  alignas(16) uint32 bytes[rows][4][runs][4];
  int32 sums[rows][2][runs];
  float steps[rows][runs];
  int is_exact[Ctx::kWaves];   // whether a wave found a number that is not rounded
  float squares[Ctx::kWaves];  // of x, for its norm
};

/// The factor of rms_norm, from the sums of squares of a block's waves.
template <class Ctx>
WICK_INLINE float norm_factor(const LinearArgs& args, const float (&squares)[Ctx::kWaves]) {
  float sum = 0;
  WICK_UNROLL
  for (int i = 0; i < Ctx::kWaves; i++) sum += squares[i];
  return 1.0f / sqrt(sum / float(args.k) + args.eps);
}
/// Stores a wave's sum of its lanes' squares.
template <class Ctx>
WICK_INLINE void store_squares(const Ctx& ctx, float squares, float (&of_waves)[Ctx::kWaves]) {
  masks_down<Ctx::kWave / 2, 1>(
      [&]<int mask>() { squares += ctx.template shuffle_xor<mask>(squares); });
  if (ctx.lane() == 0) of_waves[ctx.wave()] = squares;
}
/// The factor of rms_norm of the row x, which the block reads.
template <class Ctx>
WICK_INLINE float norm_factor_of(const Ctx& ctx, float (&of_waves)[Ctx::kWaves],
                                 const LinearArgs& args, const uint8* x) {
  ctx.sync();  // earlier numbers of the waves are read
  float squares = 0;
  WICK_ROLL
  for (int k = ctx.thread() * kPart; k < args.k; k += Ctx::kThreads * kPart) {
    float v[kPart];
    load_floats(args.dtype, x, k, args.k, args.x_packs, v);
    for (int e = 0; e < kPart; e++) squares = fma(v[e], v[e], squares);
  }
  store_squares(ctx, squares, of_waves);
  ctx.sync();
  return norm_factor<Ctx>(args, of_waves);
}

// Each group of a block's waves computes kColumns columns of y, as in LinearVector, whose exact
// product the block computes instead if it finds a number that is not rounded. A block has the
// columns of `turns` blocks of LinearVector, one after the other: each block rounds all of x.
template <class F, int rows>
struct RoundedVector {
  using Exact = LinearVector<BlockWeightsBy8<F>, rows>;  // in few registers
  using Unit = UnitOfWeights<F>;
  struct Args : LinearArgs {
    int32 waves;  // as LinearVector's
    int32 turns;
  };
  static constexpr int kThreads = Exact::kThreads, kColumns = Exact::kColumns;
  static constexpr int kRuns = rows == 1 ? 256 : 64;  // of a part of x in shared memory
  static constexpr int kUnits = kRuns / Unit::kRuns;
  static constexpr int kHalf = blocks::kRun / 2;  // a thread rounds so many
  static constexpr int kResidentBlocks = 3;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {a.blocks_m * a.blocks_n}; }
  static constexpr int kMaxTurns = rows == 1 ? 32 : 8;
  static constexpr int64 kBusyBlocks = 384;  // three on each multiprocessor of a large card
  /// As LinearVector::waves_for.
  static int waves_for(int wave, int64 blocks_m, int64 n, int64 k) {
    int waves = 1;
    while (waves < kThreads / wave && waves * wave * Unit::kRuns * blocks::kRun < k &&
           blocks_m * ceil_div<int64>(n, Exact::columns_of_block(wave, waves)) <
               kBusyBlocks * 2 / 3)
      waves *= 2;
    return waves;
  }
  static int turns_for(int wave, int waves, int64 blocks_m, int64 n) {
    const int64 blocks = blocks_m * ceil_div<int64>(n, Exact::columns_of_block(wave, waves));
    const int64 turns = ceil_div(blocks, kBusyBlocks);
    return int(turns < kMaxTurns ? turns : kMaxTurns);
  }
  template <class Ctx>
  using Shared = RoundedShared<Ctx, rows, kColumns, kRuns, kMaxTurns>;

  template <class Ctx>
  static WICK_DEVICE void prefetch(const Ctx& ctx, const Args& args) {
    const int columns = Exact::columns_of_block(Ctx::kWave, args.waves) * args.turns;
    args.prefetch(ctx, args.place(ctx.block().x).n * columns, columns);
  }

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& args) {
    const auto block = args.place(ctx.block().x);
    const int first_m = block.m * rows;
    const uint8* x[rows];
    for (int m = 0; m < rows; m++)
      x[m] = args.x_of(first_m + m < args.m ? first_m + m : args.m - 1);
    const int columns = Exact::columns_of_block(Ctx::kWave, args.waves) * args.turns;
    multiply(ctx, shared, args, args.waves, args.turns, x,
             [&](int column) { return args.row_of(column); }, first_m, {block.n * columns, args.n});
  }

  /// As LinearVector::multiply, in turns.
  template <class Ctx, class Weights>
  static WICK_INLINE void multiply(const Ctx& ctx, Shared<Ctx>& shared, const LinearArgs& args,
                                   int waves, int turns, const uint8* (&x)[rows],
                                   const Weights& weights_of, int first_m, const ColumnRange& to) {
    if (multiply_rounded(ctx, shared, args, waves, turns, x, weights_of, first_m, to)) return;
    float factor = 1;
    if constexpr (rows == 1)
      if (args.norm) factor = norm_factor_of(ctx, shared.squares, args, x[0]);
    const int of_turn = Exact::columns_of_block(Ctx::kWave, waves);
    WICK_ROLL
    for (int turn = 0; turn < turns; turn++) {
      ctx.sync();  // the sums of the turn before are read
      Exact::multiply(ctx, shared.exact, args, waves, x, weights_of, first_m,
                      {to.first + turn * of_turn, to.end}, factor);
    }
  }

  /// The same; false, with no result, for an x with a number that is not rounded.
  template <class Ctx, class Weights>
  static WICK_INLINE bool multiply_rounded(const Ctx& ctx, Shared<Ctx>& shared,
                                           const LinearArgs& args, int waves, int turns,
                                           const uint8* (&x)[rows], const Weights& weights_of,
                                           int first_m, const ColumnRange& to) {
    const int of_turn = Exact::columns_of_block(Ctx::kWave, waves);  // columns
    const int lane = ctx.wave() % waves * Ctx::kWave + ctx.lane(), lanes = waves * Ctx::kWave;
    constexpr int kOfUnit = blocks::kRun * Unit::kRuns;  // elements
    float squares = 0;

    for (int first = 0; first < args.k; first += kRuns * blocks::kRun) {
      ctx.sync();  // the part before is read
      round(ctx, shared, args, x, first, squares);
      ctx.sync();
      int is_exact = 0;
      WICK_UNROLL
      for (int i = 0; i < Ctx::kWaves; i++) is_exact |= shared.is_exact[i];
      if (is_exact != 0) return false;
      const int all = (args.k - first) / kOfUnit;
      const int units = all < kUnits ? all : kUnits;
      WICK_ROLL
      for (int turn = 0; turn < turns; turn++) {
        const int group_n = to.first + turn * of_turn + ctx.wave() / waves * kColumns;
        if (group_n >= to.end) break;
        const auto column = [&](int n) {
          return group_n + n < to.end ? group_n + n : to.end - 1;  // those beyond are not stored
        };
        const uint8* w[kColumns];
        if constexpr (!kHasParts<Weights>) WICK_UNROLL
        for (int n = 0; n < kColumns; n++) w[n] = weights_of(column(n));
        float sums[rows][kColumns] = {};
        for (int at = lane; at < units; at += lanes) {
          int unit = first / kOfUnit + at;
          float factor = 1;
          if constexpr (kHasParts<Weights>) {
            const int part = weights_of.part_of(unit * kOfUnit);
            unit -= part * (weights_of.size() / kOfUnit);
            factor = weights_of.factor(part);
            WICK_UNROLL
            for (int n = 0; n < kColumns; n++) w[n] = weights_of.row(part, column(n));
          }
          Unit weights[kColumns];
          WICK_UNROLL
          for (int n = 0; n < kColumns; n++) weights[n] = Unit::load(w[n], unit);
          WICK_UNROLL
          for (int m = 0; m < rows; m++) {
            if (m > 0) ctx.keep_order();  // several rows of x at once take too many registers
            WICK_UNROLL
            for (int r = 0; r < Unit::kRuns; r++) {
              RunOfX run = read(shared, m, r * kUnits + at);
              if constexpr (kHasParts<Weights>) run.step *= factor;
              WICK_UNROLL
              for (int n = 0; n < kColumns; n++)
                sums[m][n] = add_run<F>(weights[n], r, run, sums[m][n]);
            }
          }
        }
        WICK_UNROLL
        for (int m = 0; m < rows; m++) WICK_UNROLL
        for (int n = 0; n < kColumns; n++) {
          masks_down<Ctx::kWave / 2, 1>(
              [&]<int mask>() { sums[m][n] += ctx.template shuffle_xor<mask>(sums[m][n]); });
          float& sum = shared.sums_of[turn][ctx.wave()][m * kColumns + n];
          if (ctx.lane() == 0) sum = first == 0 ? sums[m][n] : sum + sums[m][n];
        }
      }
    }
    if constexpr (rows == 1)
      if (args.norm) store_squares(ctx, squares, shared.squares);
    ctx.sync();
    float factor = 1;
    if constexpr (rows == 1)
      if (args.norm) factor = norm_factor<Ctx>(args, shared.squares);
    const int per_turn = Ctx::kWaves / waves * rows * kColumns;
    for (int i = ctx.thread(); i < turns * per_turn; i += kThreads) {
      const int turn = i / per_turn, group = i % per_turn / (rows * kColumns),
                element = i % (rows * kColumns);
      const int m = first_m + element / kColumns;
      const int n = to.first + turn * of_turn + group * kColumns + element % kColumns;
      if (m >= args.m || n >= to.end) continue;
      Exact::store(args, waves, shared.sums_of[turn], group, element, m, n, factor);
    }
    return true;
  }

 private:
  /// Rounds x from element `first` on, or finds that it may not. Beside args.norm it rounds x times
  /// the norm's weight, and adds the squares of x: the norm's factor is the sums'.
  template <class Ctx>
  static WICK_INLINE void round(const Ctx& ctx, Shared<Ctx>& shared, const LinearArgs& args,
                                const uint8* (&x)[rows], int first, float& squares) {
    int is_exact = 0;
    // Whole waves: lanes beyond x round zeros, for their neighbours' sake.
    const int of_x = round_up((args.k - first) / kHalf, Ctx::kWave);
    const int halves = of_x < 2 * kRuns ? of_x : 2 * kRuns;
    for (int m = 0; m < rows; m++) {
      for (int at = ctx.thread(); at < halves; at += kThreads) {
        const int half = at % 2, of_part = at / 2;
        const int run = Unit::place_of(of_part) * kUnits + Unit::unit_of(of_part);
        float v[kHalf];
        load_floats(args.dtype, x[m], first + at * kHalf, args.k, args.x_packs, v);
        if constexpr (rows == 1) {
          if (args.norm) {
            float scale[kHalf];
            load_floats(args.dtype, static_cast<const uint8*>(args.norm), first + at * kHalf,
                        args.k, args.x_packs, scale);
            WICK_UNROLL
            for (int e = 0; e < kHalf; e++) {
              squares = fma(v[e], v[e], squares);
              v[e] *= scale[e];
            }
          }
        }
        uint32 most = 0;  // the bits of magnitudes are in the order of their values
        WICK_UNROLL
        for (int e = 0; e < kHalf; e++) {
          const uint32 size = __builtin_bit_cast(uint32, v[e]) & 0x7fffffff;
          most = size > most ? size : most;
        }
        const uint32 other = ctx.template shuffle_xor<1>(most);
        const ActivationStep step(__builtin_bit_cast(float, other > most ? other : most));
        is_exact |= step.is_valid() ? 0 : 1;
        int sum = 0;
        WICK_UNROLL
        for (int i = 0; i < kHalf / 4; i++) {
          int rounded[4], raised[4];
          WICK_UNROLL
          for (int e = 0; e < 4; e++) {
            rounded[e] = step.round(v[4 * i + e]);
            raised[e] =
                rounded[e] + 128;  // its second byte is the high one, beside a signed low one
            sum += rounded[e];
          }
          shared.bytes[m][half][run][i] = join_bytes<1>(raised);
          shared.bytes[m][2 + half][run][i] = join_bytes<0>(rounded);
        }
        shared.sums[m][half][run] = sum;
        if (half == 0) shared.steps[m][run] = step.step();
      }
    }
    masks_down<Ctx::kWave / 2, 1>(
        [&]<int mask>() { is_exact |= ctx.template shuffle_xor<mask>(is_exact); });
    if (ctx.lane() == 0) shared.is_exact[ctx.wave()] = is_exact;
  }

  template <class Ctx>
  static WICK_DEVICE RunOfX read(const Shared<Ctx>& shared, int m, int run) {
    RunOfX x;
    WICK_UNROLL
    for (int half = 0; half < 2; half++) {
      load_four<16>(shared.bytes[m][half][run], x.high + 4 * half);
      load_four<16>(shared.bytes[m][2 + half][run], x.low + 4 * half);
      x.sums[half] = shared.sums[m][half][run];
    }
    x.step = shared.steps[m][run];
    return x;
  }
};

template <class F>
struct RoundedVectorLaunch {
  static constexpr int kRows = 8;
  static const char* accepts(const Call& call, const DeviceInfo& info) {
    if (const char* why = LinearVectorLaunch<BlockWeights<F>>::accepts(call, info)) return why;
    // The rows of a block of rows are all rounded or all exact, and so must all of x's be.
    return LinearCall(call).m() > kRows ? "x has more than 8 rows" : nullptr;
  }
  static Status run(const Call& call) {
    const int64 m = LinearCall(call).m();
    if (m == 1) return run_rows<1>(call);
    return m <= 4 ? run_rows<4>(call) : run_rows<kRows>(call);
  }

 private:
  template <int rows>
  static Status run_rows(const Call& call) {
    using K = RoundedVector<F, rows>;
    const LinearCall linear(call);
    const int wave = wave_of(call.device);
    const int64 blocks_m = ceil_div<int64>(linear.m(), rows), n = linear.n();
    const int waves = K::waves_for(wave, blocks_m, n, linear.k());
    const int turns = K::turns_for(wave, waves, blocks_m, n);
    const int columns = K::Exact::columns_of_block(wave, waves) * turns;
    return launch<K>({linear.args(rows, columns), waves, turns}, call);
  }
};

}  // namespace wick::gpu
