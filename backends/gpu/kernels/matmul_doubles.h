// c = a b of f64 on matrix units.
#pragma once
#include "kernels/matmul_split.h"

namespace wick::gpu {

struct DoubleTile {
  int m, n;
  int waves_m, waves_n;  // of a block
  int resident;          // blocks per multiprocessor
  bool splits;           // k, where there are few blocks
};
inline constexpr int kDoubleDepth = 16;  // the k of a stage of shared memory

/// A block's part of an operand, `rows` x kDoubleDepth elements, in packs of 2: all packs are
/// aligned, and k is even if it is the inner dim. They are copied into shared memory asynchronously
/// where the device can, else through registers.
///
/// Shared memory has the same inner dim as global memory. With k inner, a row's 8 packs fill all
/// banks, so that a pack's place among them depends on the row: lanes that load one pack of 8
/// neighbouring rows, or 4 neighbours of every other row, use all banks. With rows inner, lanes
/// load 2 neighbouring packs of 4 neighbouring k, which the padding spreads over the banks.
template <class Ctx, Inner inner, int rows>
struct DoubleTileOperand {
  static constexpr bool kAsync = Ctx::kCopiesAsync, kByRows = inner == Inner::kAlongK;
  static constexpr int kStride = kByRows ? kDoubleDepth : rows + 4;
  static constexpr int kElements = kByRows ? rows * kStride : kDoubleDepth * kStride;
  static constexpr int kPacks = rows * kDoubleDepth / 2 / Ctx::kThreads;
  // From one pack of a thread to its next.
  static constexpr int kRowStep = kByRows ? Ctx::kThreads / (kDoubleDepth / 2) : 0;
  static constexpr int kStepK = kByRows ? 0 : Ctx::kThreads / (rows / 2);
  static_assert(kPacks * 2 * Ctx::kThreads == rows * kDoubleDepth && rows % 8 == 0);
  static_assert(kRowStep % 8 == 0 && Ctx::kThreads % (rows / 2) == 0);

  const double* from;
  const double* first_of_all;
  int64 pack_step, stage_step;
  int place;              // of the thread's first pack, in a stage
  int rows_left, k_left;  // from the first pack's row, and from its k in the next fetch
  Pack<double, 2> pack[kAsync ? 1 : kPacks];

  static WICK_DEVICE int place_of(int row, int k) {
    if constexpr (kByRows) {
      return row * kStride + (k ^ row % 8 * 2);
    } else {
      return k * kStride + row;
    }
  }
  /// first: the block's first row.
  WICK_DEVICE void begin(const Ctx& ctx, const double* x, const Steps& steps, int first,
                         int all_rows, int all_k) {
    const int t = ctx.thread();
    const int row = kByRows ? t / (kDoubleDepth / 2) : t % (rows / 2) * 2;
    const int k = kByRows ? t % (kDoubleDepth / 2) * 2 : t / (rows / 2);
    first_of_all = x;
    from = x + int64(first + row) * steps.row + int64(k) * steps.k;
    pack_step = kRowStep * steps.row + kStepK * steps.k;
    stage_step = kDoubleDepth * steps.k;
    place = place_of(row, k);
    rows_left = all_rows - first - row, k_left = all_k - k;
  }
  /// Starts loading the next kDoubleDepth of k; asynchronous loads go to a stage of shared memory.
  WICK_DEVICE void fetch(const Ctx& ctx, double* stage) {
    WICK_UNROLL
    for (int p = 0; p < kPacks; p++) {
      const bool inside = p * kRowStep < rows_left && p * kStepK < k_left;
      if constexpr (kAsync)
        ctx.copy_async(stage + place + p * kPlaceStep, from + p * pack_step, inside);
      else
        pack[p] = load_pack<2>(inside ? from + p * pack_step : first_of_all);
    }
    from += stage_step;
    k_left -= kDoubleDepth;
  }
  /// Stores the packs, where that is not asynchronous; zeros beyond the last k. The results of rows
  /// beyond the last are not stored.
  WICK_DEVICE void deliver(double* stage) {
    if constexpr (!kAsync) {
      WICK_UNROLL
      for (int p = 0; p < kPacks; p++) {
        if (p * kStepK >= k_left + kDoubleDepth) pack[p] = {};
        store_pack(stage + place + p * kPlaceStep, pack[p]);
      }
    }
  }
  /// Rows row ... row + 15 of the tile, k ... k + 7.
  static WICK_DEVICE DoubleOperand<Ctx> load(const Ctx& ctx, const double* stage, int row, int k) {
    return load_doubles<inner>(ctx, [&](int fragment_row, int fragment_k) {
      if constexpr (kByRows)  // place_of, of which the rows of a fragment are the same everywhere
        return stage + row * kStride + (place_of(fragment_row, fragment_k) ^ k);
      else
        return stage + place_of(row + fragment_row, k + fragment_k);
    });
  }

 private:
  static constexpr int kPlaceStep = kByRows ? kRowStep * kStride : kStepK * kStride;
};

// One block per tile of c, and per part of k.
template <Inner a_inner, Inner b_inner, DoubleTile tile>
struct MatrixDoubleMatmul {
  static constexpr bool kUsesMatrix = true, kUsesDoubles = true;
  static constexpr int kResidentBlocks = tile.resident;
  using Args = SplitProductArgs<double>;
  static constexpr int threads(int wave) { return tile.waves_m * tile.waves_n * wave; }
  static Grid grid(int, const Args& a) { return {a.blocks, a.splits}; }

  static constexpr int kWaveM = tile.m / tile.waves_m, kWaveN = tile.n / tile.waves_n;
  static constexpr int kFragmentsM = kWaveM / 16, kFragmentsN = kWaveN / 16;
  static_assert(kWaveM % 16 == 0 && kWaveN % 16 == 0);
  template <class Ctx>
  using OperandA = DoubleTileOperand<Ctx, a_inner, tile.m>;
  template <class Ctx>
  using OperandB = DoubleTileOperand<Ctx, b_inner, tile.n>;
  // Without asynchronous copies one stage: more blocks fit onto a compute unit then.
  template <class Ctx>
  static constexpr int kStages = Ctx::kCopiesAsync ? 3 : 1;
  template <class Ctx>
  using Stage = double[OperandA<Ctx>::kElements + OperandB<Ctx>::kElements];
  template <class Ctx>
  struct Shared {
    alignas(16) Stage<Ctx> stage[kStages<Ctx>];
  };
  template <class Ctx>
  using Tile = DoubleSums<Ctx>[kFragmentsM][kFragmentsN];

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& args) {
    const auto block = args.place(ctx.block().x);
    const int first_m = block.m * tile.m, first_n = block.n * tile.n;
    const int first_k = tile.splits ? ctx.block().y * args.split_length : 0;
    const int k_left = args.k - first_k;
    const int k = tile.splits && args.split_length < k_left ? args.split_length : k_left;
    OperandA<Ctx> a;
    OperandB<Ctx> b;
    a.begin(ctx, block.a + first_k * args.a_steps.k, args.a_steps, first_m, args.m, k);
    b.begin(ctx, block.b + first_k * args.b_steps.k, args.b_steps, first_n, args.n, k);
    Tile<Ctx> sums = {};
    multiply_all(ctx, shared.stage, a, b, ceil_div(k, kDoubleDepth), sums);
    double* c = block.c;
    if constexpr (tile.splits)
      if (args.partials) c = args.partial(ctx.block().y, block.batch);
    store(ctx, c, first_m, first_n, args, sums);
  }

 private:
  template <class Ctx>
  static WICK_DEVICE int wave_m(const Ctx& ctx) {
    return ctx.wave() / tile.waves_n * kWaveM;
  }
  template <class Ctx>
  static WICK_DEVICE int wave_n(const Ctx& ctx) {
    return ctx.wave() % tile.waves_n * kWaveN;
  }
  /// The operands of a wave for 8 of k.
  template <class Ctx>
  struct Fragments {
    DoubleOperand<Ctx> x[kFragmentsM], y[kFragmentsN];

    /// All of b and the first rows of a.
    WICK_INLINE void load_some(const Ctx& ctx, const double* stage, int k) {
      WICK_UNROLL
      for (int j = 0; j < kFragmentsN; j++)
        y[j] = OperandB<Ctx>::load(ctx, stage + OperandA<Ctx>::kElements, wave_n(ctx) + 16 * j, k);
      x[0] = OperandA<Ctx>::load(ctx, stage, wave_m(ctx), k);
    }
    WICK_INLINE void load_rest(const Ctx& ctx, const double* stage, int k) {
      WICK_UNROLL
      for (int i = 1; i < kFragmentsM; i++)
        x[i] = OperandA<Ctx>::load(ctx, stage, wave_m(ctx) + 16 * i, k);
    }
    WICK_INLINE void multiply_into(const Ctx& ctx, Tile<Ctx>& sums, int from, int to) const {
      WICK_UNROLL
      for (int i = from; i < to; i++) {
        WICK_UNROLL
        for (int j = 0; j < kFragmentsN; j++) multiply(ctx, sums[i][j], x[i], y[j]);
      }
    }
  };
  template <class Ctx>
  static WICK_INLINE void multiply_all(const Ctx& ctx, Stage<Ctx> (&stage)[kStages<Ctx>],
                                       OperandA<Ctx>& a, OperandB<Ctx>& b, int steps,
                                       Tile<Ctx>& sums) {
    constexpr int kB = OperandA<Ctx>::kElements;  // offset of b in a stage
    if constexpr (Ctx::kCopiesAsync) {
      // Two stages are on their way while the waves multiply the third.
      WICK_UNROLL
      for (int s = 0; s < 2; s++) {
        if (s < steps) a.fetch(ctx, stage[s]), b.fetch(ctx, stage[s] + kB);
        ctx.commit_copies();
      }
      ctx.template wait_copies<1>();
      ctx.sync_shared();
      // The first operands of the next stage are loaded before the last products of this one: else
      // all waves would wait for them after each barrier. More would not fit into the registers.
      Fragments<Ctx> first, second;
      first.load_some(ctx, stage[0], 0);
      int now = 0, far = 2;
      WICK_ROLL
      for (int step = 0; step < steps; step++) {
        const int next = now == 2 ? 0 : now + 1;
        first.load_rest(ctx, stage[now], 0);
        if (step + 2 < steps) a.fetch(ctx, stage[far]), b.fetch(ctx, stage[far] + kB);
        ctx.commit_copies();
        first.multiply_into(ctx, sums, 0, kFragmentsM);
        second.load_some(ctx, stage[now], 8);
        second.load_rest(ctx, stage[now], 8);
        second.multiply_into(ctx, sums, 0, kFragmentsM - 1);
        ctx.template wait_copies<1>();
        ctx.sync_shared();  // all have read this stage
        first.load_some(ctx, stage[next], 0);
        second.multiply_into(ctx, sums, kFragmentsM - 1, kFragmentsM);
        far = now, now = next;
      }
    } else {
      if (steps > 0) {
        a.fetch(ctx, nullptr), b.fetch(ctx, nullptr);
        a.deliver(stage[0]), b.deliver(stage[0] + kB);
        ctx.sync_shared();
      }
      WICK_ROLL
      for (int step = 0; step < steps; step++) {
        const bool more = step + 1 < steps;
        if (more) a.fetch(ctx, nullptr), b.fetch(ctx, nullptr);
        WICK_UNROLL
        for (int k = 0; k < kDoubleDepth; k += 8) {
          Fragments<Ctx> fragments;
          fragments.load_some(ctx, stage[0], k);
          fragments.load_rest(ctx, stage[0], k);
          fragments.multiply_into(ctx, sums, 0, kFragmentsM);
        }
        ctx.sync_shared();
        if (more) a.deliver(stage[0]), b.deliver(stage[0] + kB);
        ctx.sync_shared();
      }
    }
  }
  /// c: the batch's [m, n], contiguous.
  template <class Ctx>
  static WICK_INLINE void store(const Ctx& ctx, double* c, int first_m, int first_n,
                                const Args& args, const Tile<Ctx>& sums) {
    using M = typename Ctx::Matrix::Doubles;
    constexpr int run = M::kRun < 2 ? M::kRun : 2;
    WICK_UNROLL
    for (int i = 0; i < kFragmentsM; i++) {
      WICK_UNROLL
      for (int e = 0; e < M::kAccumulator; e += run) {
        const int m = first_m + wave_m(ctx) + 16 * i + M::m(ctx.lane(), e);
        double* const to = c + int64(m) * args.n;
        WICK_UNROLL
        for (int j = 0; j < kFragmentsN; j++) {
          const int n = first_n + wave_n(ctx) + 16 * j + M::n(ctx.lane(), e);
          if (m >= args.m || n >= args.n) continue;
          if (run == 2 && args.c_packs) {
            store_pack(to + n, Pack<double, 2>{sums[i][j].v[e], sums[i][j].v[e + run - 1]});
          } else {
            to[n] = sums[i][j].v[e];
            if (run == 2 && n + 1 < args.n) to[n + 1] = sums[i][j].v[e + run - 1];
          }
        }
      }
    }
  }
};

// With asynchronous copies. The registers of a multiprocessor hold one block.
inline constexpr DoubleTile kLargeAsyncDoubles{128, 128, 2, 4, 1, false};
inline constexpr DoubleTile kLargeDoubles{128, 64, 2, 2, 1, false};
inline constexpr DoubleTile kSmallDoubles{64, 64, 2, 2, 3, true};

template <DoubleTile tile>
struct DoubleMatmulLaunch : MatmulLaunch<double, DoubleMatmulLaunch<tile>> {
  static const char* accepts_product(const Product& p, const DeviceInfo& info) {
    if (!tile.splits) {
      const int64 units = info.compute_units, rounds = ceil_div(blocks_of(p), units);
      if (4 * blocks_of(p) < 3 * rounds * units)
        return "large tiles would leave compute units idle";
      if (p.m <= tile.m / 2 || p.n <= tile.n / 2) return "large tiles would be half empty";
    }
    if (!p.operand_in_packs(1, p.a, p.m, 2) || !p.operand_in_packs(2, p.b, p.n, 2))
      return "an operand is not in aligned packs";
    if ((p.a.k == 1 || p.b.k == 1) && p.k % 2 != 0) return "k is odd";
    return nullptr;
  }
  static int64 scratch_bytes(const Call& call, const DeviceInfo& info) {
    if (!tile.splits) return 0;
    const Product p(call);
    return split_scratch<double>(
        call, splits_of(p.k, blocks_of(p), int64(tile.resident) * info.compute_units));
  }
  static Status run_product(const Product& p, const Call& call) {
    return with_inner_dims(p, [&]<Inner a, Inner b>() {
      using K = MatrixDoubleMatmul<a, b, tile>;
      return run_split<K, double, 2>(p, {tile.m, tile.n, kDoubleDepth}, call);
    });
  }

 private:
  static int64 blocks_of(const Product& p) {
    return p.batch.numel() * ceil_div<int64>(p.m, tile.m) * ceil_div<int64>(p.n, tile.n);
  }
};

}  // namespace wick::gpu
