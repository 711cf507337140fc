// Products of a few rows with block weights in integers: x is rounded to 16 bits, each 32
// neighbours with a step of their own (decision 11). An instruction adds four products of bytes, of
// which an x has two.
#pragma once
#include "kernels/linear.h"
#include "scalar/activation_steps.h"

namespace wick::gpu {

/// Formats whose bytes hold the lower bits of two neighbouring runs.
template <class F>
inline constexpr bool kPairsRuns = __is_base_of(blocks::Large<F::kDType, F::kBits>, F);

/// The runs of a row that a lane reads at once: quants plus kBias as signed bytes.
template <class F>
struct UnitOfWeights {
  static constexpr int kRuns = kPairsRuns<F> ? 2 : 1, kScales = QuantRun<F>::kScales;
  static constexpr int kWords = blocks::kRun / 4;
  static constexpr int kBias = kQuantBias<F> == 128 ? 0 : kQuantBias<F>;
  uint32 words[kRuns][kWords];
  BlockScale scales[kRuns][kScales];

  /// Those from element k on, a multiple of 32 kRuns.
  static WICK_DEVICE UnitOfWeights load(const uint8* row, int k) {
    UnitOfWeights w;
    if constexpr (kPairsRuns<F>) {
      w.load_pair(row + int64(k / kBlockElements<F>) * kBlockBytes<F>,
                  k % kBlockElements<F> / blocks::kRun);
    } else {
      const QuantRun<F> run = load_run<F>(row, k);
      WICK_UNROLL
      for (int i = 0; i < kWords; i++)
        w.words[0][i] = kQuantBias<F> == 128 ? run.words[i] ^ 0x80808080u : run.words[i];
      WICK_UNROLL
      for (int g = 0; g < kScales; g++) w.scales[0][g] = run.scales[g];
    }
    return w;
  }

 private:
  /// Runs `run` and run + 1. One load has all scales.
  WICK_DEVICE void load_pair(const uint8* block, int run) {
    uint32 head[4], low[kWords];
    load_words<F>(block, head);
    load_words<F>(block + F::low(run).byte, low);
    WICK_UNROLL
    for (int i = 0; i < kWords; i++) {
      words[0][i] = low[i] & 0x0f0f0f0fu;
      words[1][i] = low[i] >> 4 & 0x0f0f0f0fu;
    }
    if constexpr (F::kHighBytes > 0) {
      uint32 high[kWords];
      load_words<F>(block + F::high(run).byte, high);
      WICK_UNROLL
      for (int i = 0; i < kWords; i++) {
        words[0][i] |= (high[i] >> run & 0x01010101u) << 4;
        words[1][i] |= (high[i] >> (run + 1) & 0x01010101u) << 4;
      }
    }
    const float scale = to_float(f16{uint16(head[0])}),
                offset = to_float(f16{uint16(head[0] >> 16)});
    WICK_UNROLL
    for (int i = 0; i < 2; i++) {
      const uint32 shift = (run + i) % 4 * 8, b0 = head[1] >> shift & 255,
                   b4 = head[2] >> shift & 255, b8 = head[3] >> shift & 255;
      const uint32 s = run < 4 ? b0 & 63 : (b8 & 15) | b0 >> 6 << 4;
      const uint32 o = run < 4 ? b4 & 63 : b8 >> 4 | b4 >> 6 << 4;
      scales[i][0] = {scale * float(int(s)), -(offset * float(int(o)))};
    }
  }
};

/// x's integers for 32 neighbours: high * 256 + low, all signed bytes, and the sums of each 16.
struct RunOfX {
  static constexpr int kWords = blocks::kRun / 4;
  uint32 high[kWords], low[kWords];
  int32 sums[2];
  float step;
};

/// sum + the weights of run r times x.
template <class F>
WICK_DEVICE float add_run(const UnitOfWeights<F>& w, int r, const RunOfX& x, float sum) {
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

// Each group of a block's waves computes kColumns columns of y, as in LinearVector, whose exact
// product the block computes instead if it finds a number that is not rounded.
template <class F, int rows>
struct RoundedVector {
  using Exact = LinearVector<BlockWeightsBy8<F>, rows>;  // in few registers
  using Unit = UnitOfWeights<F>;
  using Args = typename Exact::Args;
  static constexpr int kThreads = Exact::kThreads, kColumns = Exact::kColumns;
  static constexpr int kRuns = rows == 1 ? 128 : 64;  // of a part of x in shared memory
  static constexpr int kUnits = kRuns / Unit::kRuns;
  static constexpr int kHalf = blocks::kRun / 2;  // a thread rounds so many
  static constexpr int kResidentBlocks = 3;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int wave, const Args& a) { return Exact::grid(wave, a); }
  /// As LinearVector::waves_for. Fewer blocks: each of them rounds all of x.
  static int waves_for(int wave, int64 blocks_m, int64 n, int64 k) {
    constexpr int64 kBusyBlocks = 256;
    int waves = 1;
    while (waves < kThreads / wave && waves * wave * Unit::kRuns * blocks::kRun < k &&
           blocks_m * ceil_div<int64>(n, Exact::columns_of_block(wave, waves)) < kBusyBlocks)
      waves *= 2;
    return waves;
  }
  template <class Ctx>
  struct Shared {
    typename Exact::template Shared<Ctx> exact;
    // High bytes of the runs' first and second halves, then low bytes; the units' first runs, then
    // the second ones: neighbouring lanes read neighbouring 16 bytes.
    alignas(16) uint32 bytes[rows][4][kRuns][4];
    int32 sums[rows][2][kRuns];
    float steps[rows][kRuns];
    int is_exact[Ctx::kWaves];  // whether a wave found a number that is not rounded
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& args) {
    const auto block = args.place(ctx.block().x);
    const int first_m = block.m * rows;
    const uint8* x[rows];
    for (int m = 0; m < rows; m++)
      x[m] = args.x_of(first_m + m < args.m ? first_m + m : args.m - 1);
    multiply(ctx, shared, args, args.waves, x, args.w, first_m, block.n);
  }

  /// As LinearVector::multiply.
  template <class Ctx>
  static WICK_DEVICE void multiply(const Ctx& ctx, Shared<Ctx>& shared, const LinearArgs& args,
                                   int waves, const uint8* (&x)[rows],
                                   const WeightRows& weight_rows, int first_m, int block_n) {
    const int group_n = (block_n * Ctx::kWaves + ctx.wave()) / waves * kColumns;
    const int lane = ctx.wave() % waves * Ctx::kWave + ctx.lane(), lanes = waves * Ctx::kWave;
    const uint8* w[kColumns];
    for (int n = 0; n < kColumns; n++)
      w[n] = weight_rows.row(group_n + n < args.n ? group_n + n : args.n - 1);

    float sums[rows][kColumns] = {};
    for (int first = 0; first < args.k; first += kRuns * blocks::kRun) {
      ctx.sync();  // the part before is read
      round(ctx, shared, args, x, first);
      ctx.sync();
      int is_exact = 0;
      WICK_UNROLL
      for (int i = 0; i < Ctx::kWaves; i++) is_exact |= shared.is_exact[i];
      if (is_exact != 0)
        return Exact::multiply(ctx, shared.exact, args, waves, x, weight_rows, first_m, block_n);
      const int units = (args.k - first) / (blocks::kRun * Unit::kRuns);
      for (int at = lane; at < (units < kUnits ? units : kUnits); at += lanes) {
        Unit weights[kColumns];
        WICK_UNROLL
        for (int n = 0; n < kColumns; n++)
          weights[n] = Unit::load(w[n], first + at * blocks::kRun * Unit::kRuns);
        WICK_UNROLL
        for (int m = 0; m < rows; m++) WICK_UNROLL
        for (int r = 0; r < Unit::kRuns; r++) {
          const RunOfX run = read(shared, m, r * kUnits + at);
          WICK_UNROLL
          for (int n = 0; n < kColumns; n++)
            sums[m][n] = add_run<F>(weights[n], r, run, sums[m][n]);
        }
      }
    }
    Exact::finish(ctx, shared.exact, args, waves, sums, first_m, block_n);
  }

 private:
  /// Rounds x from element `first` on, or finds that it may not.
  template <class Ctx>
  static WICK_DEVICE void round(const Ctx& ctx, Shared<Ctx>& shared, const LinearArgs& args,
                                const uint8* (&x)[rows], int first) {
    int is_exact = 0;
    for (int m = 0; m < rows; m++) {
      for (int at = ctx.thread(); at < 2 * kRuns; at += kThreads) {
        const int half = at % 2, run = at / 2 % Unit::kRuns * kUnits + at / 2 / Unit::kRuns;
        float v[kHalf];
        load_floats(args.dtype, x[m], first + at * kHalf, args.k, args.x_packs, v);
        uint32 most = 0;  // the bits of magnitudes are in the order of their values
        WICK_UNROLL
        for (int e = 0; e < kHalf; e++) {
          const uint32 size = __builtin_bit_cast(uint32, v[e]) & 0x7fffffff;
          most = size > most ? size : most;
        }
        const uint32 other = ctx.template shuffle_xor<1>(most);
        const ActivationStep step(__builtin_bit_cast(float, other > most ? other : most));
        is_exact |= step.is_valid() ? 0 : 1;
        uint32 high[kHalf / 4] = {}, low[kHalf / 4] = {};
        int sum = 0;
        WICK_UNROLL
        for (int e = 0; e < kHalf; e++) {
          const int v16 = step.round(v[e]);
          sum += v16;
          high[e / 4] |= uint32((v16 + 128) >> 8 & 255) << e % 4 * 8;
          low[e / 4] |= uint32(v16 & 255) << e % 4 * 8;
        }
        WICK_UNROLL
        for (int i = 0; i < kHalf / 4; i++) {
          shared.bytes[m][half][run][i] = high[i];
          shared.bytes[m][2 + half][run][i] = low[i];
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
    return call.out[0].shape[0] > kRows ? "x has more than 8 rows" : nullptr;
  }
  static Status run(const Call& call) {
    const int64 m = call.out[0].shape[0];
    if (m == 1) return run_rows<1>(call);
    return m <= 4 ? run_rows<4>(call) : run_rows<kRows>(call);
  }

 private:
  template <int rows>
  static Status run_rows(const Call& call) {
    using K = RoundedVector<F, rows>;
    const int wave = wave_of(call.device);
    const int waves = K::waves_for(wave, ceil_div<int64>(call.out[0].shape[0], rows),
                                   call.out[0].shape[1], call.in[0].shape[1]);
    return launch<K>({LinearCall::args(call, rows, K::Exact::columns_of_block(wave, waves)), waves},
                     call);
  }
};

}  // namespace wick::gpu
