// c = a b on matrix units: f16 and bf16 with f32 accumulators.
#pragma once
#include "device/mma.h"
#include "kernels/matmul.h"

namespace wick::gpu {

struct MatrixTile {
  int m, n, k;
  int threads;
  int resident;  // blocks per multiprocessor
};
/// The dim of an operand with stride 1. kAlongK also accepts any strides, without packs.
enum class Inner { kAlongK, kAlongRows };

/// A block's part of an operand, `rows` x `depth` elements: loaded from global memory into registers,
/// stored into shared memory, and loaded from there as fragments.
///
/// Shared memory holds [row][k], or [k][row] if rows are innermost in memory and fragments load by
/// columns as fast as by rows. If rows are innermost and column loads are slow, a thread transposes
/// 2 x 8 elements in its registers. It stores its 8 rows `rows / 8` slots apart, so that neighbouring
/// threads, which have the next 8 rows, store to neighbouring slots and use all banks.
template <class Ctx, class T, Inner inner, int rows, int depth>
struct MatrixOperand {
  using Matrix = typename Ctx::Matrix;
  static constexpr bool kByColumns = inner == Inner::kAlongRows && Matrix::kLoadsColumns;
  static constexpr bool kTransposes = inner == Inner::kAlongRows && !Matrix::kLoadsColumns;
  static constexpr int kPad = 8;  // spreads rows over the banks; they stay 16-byte aligned
  static constexpr int kStride = (kByColumns ? rows : depth) + kPad;
  static constexpr int kElements = (kByColumns ? depth : rows) * kStride;
  static constexpr int kPacks = rows * depth / 8 / Ctx::kThreads;
  static_assert(kPacks * 8 * Ctx::kThreads == rows * depth);
  static_assert(inner == Inner::kAlongK || kPacks % 2 == 0);

  const T* from[kPacks];
  Steps steps;
  int rows_left, k_left;  // of the operand, from the block's position
  bool packs;
  Pack<T, 8> pack[kPacks];

  /// The row in a slot of shared memory, which is also its row of the product.
  static WICK_DEVICE int row_of(int slot) {
    if constexpr (kTransposes)
      return slot % (rows / 8) * 8 + slot / (rows / 8);
    else
      return slot;
  }

  /// first: the block's first row.
  WICK_DEVICE void begin(const Ctx& ctx, const T* x, const Steps& x_steps, int first, int all_rows,
                         int all_k, bool in_packs) {
    steps = x_steps, rows_left = all_rows - first, k_left = all_k, packs = in_packs;
    for (int p = 0; p < kPacks; p++) {
      int row = row_in_block(ctx.thread(), p);
      // Rows beyond the last load existing ones; their results are not stored.
      const int last = rows_left - (inner == Inner::kAlongRows ? 8 : 1);
      if (packs && row > last) row = last;
      from[p] = x + int64(first + row) * steps.row + int64(k_in_block(ctx.thread(), p)) * steps.k;
    }
  }
  /// Starts loading the next `depth` of k.
  WICK_DEVICE void fetch() {
    if (whole())
      for (int p = 0; p < kPacks; p++) pack[p] = load_pack<8>(from[p]);
  }
  /// Stores them into shared memory, with zeros beyond the last k.
  WICK_DEVICE void store(const Ctx& ctx, T* shared) {
    // Elements that do not form packs are loaded here, one by one: early, they would take too
    // many registers.
    const bool ready = whole();
    for (int p = 0; p < kPacks; p += kTogether) {
      const int row = row_in_block(ctx.thread(), p), k = k_in_block(ctx.thread(), p);
      if (!ready)
        for (int q = p; q < p + kTogether; q++) pack[q] = elements(from[q], row, k + q - p);
      if constexpr (kTransposes) {
        for (int e = 0; e < 8; e++)
          store_pack(shared + (e * (rows / 8) + row / 8) * kStride + k,
                     Pack<T, 2>{pack[p].v[e], pack[p + 1].v[e]});
      } else {
        store_pack(shared + (kByColumns ? k * kStride + row : row * kStride + k), pack[p]);
      }
    }
    for (int p = 0; p < kPacks; p++) from[p] += depth * steps.k;
    k_left -= depth;
  }
  /// Slots 16 i ... of the product, k ... k + 15.
  static WICK_DEVICE Operand<T, Matrix> load(const Ctx& ctx, const T* shared, int slot, int k) {
    if constexpr (kByColumns)
      return load_columns(ctx, shared + k * kStride + slot, kStride);
    else
      return load_rows(ctx, shared + slot * kStride + k, kStride);
  }

 private:
  static constexpr int kTogether =
      kTransposes ? 2 : 1;  // packs that are transposed with each other

  WICK_DEVICE bool whole() const { return packs && k_left >= depth; }
  WICK_DEVICE Pack<T, 8> elements(const T* x, int row, int k) const {
    Pack<T, 8> y;
    for (int e = 0; e < 8; e++) {
      const bool inside = inner == Inner::kAlongK ? k + e < k_left && (packs || row < rows_left)
                                                  : k < k_left && (packs || row + e < rows_left);
      y.v[e] = inside ? x[e * (inner == Inner::kAlongK ? steps.k : steps.row)] : T{};
    }
    return y;
  }
  static WICK_DEVICE int row_in_block(int thread, int p) {
    if constexpr (inner == Inner::kAlongK)
      return (p * Ctx::kThreads + thread) / (depth / 8);
    else
      return (p / 2 * Ctx::kThreads + thread) % (rows / 8) * 8;
  }
  static WICK_DEVICE int k_in_block(int thread, int p) {
    if constexpr (inner == Inner::kAlongK)
      return (p * Ctx::kThreads + thread) % (depth / 8) * 8;
    else
      return (p / 2 * Ctx::kThreads + thread) / (rows / 8) * 2 + p % 2;
  }
};

/// A block's product of two operands. An operand has the interface of MatrixOperand: fetch, store,
/// load, row_of and kElements.
template <class Ctx, class T, class OperandA, class OperandB, MatrixTile tile>
struct MatrixProduct {
  using A = OperandA;
  using B = OperandB;
  using Matrix = typename Ctx::Matrix;
  // Two stages save a barrier per step. Cards with waves of 64 have 64 KiB for all blocks of a compute
  // unit, where more resident blocks gain more.
  static constexpr int kStages = Ctx::kWave == 64 ? 1 : 2;
  static constexpr int kWavesM = Ctx::kWaves >= 4 ? 2 : 1, kWavesN = Ctx::kWaves / kWavesM;
  static constexpr int kWaveM = tile.m / kWavesM, kWaveN = tile.n / kWavesN;
  static constexpr int kFragmentsM = kWaveM / 16, kFragmentsN = kWaveN / 16;
  // The tile is written through shared memory, in whole rows; half of it at a time, since the rest of
  // the memory is in use.
  static constexpr int kOutRows = tile.m / 2, kOutStride = tile.n + 8;
  static_assert(kWavesM * kWavesN == Ctx::kWaves && kWaveM % 16 == 0 && kWaveN % 16 == 0);
  static_assert(kOutRows * kOutStride <= kStages * (A::kElements + B::kElements));

  using Stages = T[kStages][A::kElements + B::kElements];
  using Tile = Sums<Matrix>[kFragmentsM][kFragmentsN];

  static WICK_DEVICE int wave_m(const Ctx& ctx) { return ctx.wave() / kWavesN * kWaveM; }
  static WICK_DEVICE int wave_n(const Ctx& ctx) { return ctx.wave() % kWavesN * kWaveN; }

  /// While the waves multiply one step of k, the next one is loaded into registers.
  static WICK_DEVICE void multiply_all(const Ctx& ctx, Stages& stage, A& a, B& b, int steps,
                                       Tile& sums) {
    constexpr int kB = A::kElements;  // offset of b in a stage
    if (steps > 0) {
      a.fetch(), b.fetch();
      a.store(ctx, stage[0]), b.store(ctx, stage[0] + kB);
      ctx.sync();
    }
    for (int step = 0; step < steps; step++) {
      const T* const now = stage[step % kStages];
      T* const next = stage[(step + 1) % kStages];
      const bool more = step + 1 < steps;
      if (more) a.fetch(), b.fetch();
      for (int k = 0; k < tile.k; k += 16) {
        Operand<T, Matrix> y[kFragmentsN];
        for (int j = 0; j < kFragmentsN; j++)
          y[j] = B::load(ctx, now + kB, wave_n(ctx) + 16 * j, k);
        for (int i = 0; i < kFragmentsM; i++) {
          const Operand<T, Matrix> x = A::load(ctx, now, wave_m(ctx) + 16 * i, k);
          for (int j = 0; j < kFragmentsN; j++) multiply(ctx, sums[i][j], x, y[j]);
        }
      }
      if (kStages == 1) ctx.sync();  // all have read what is overwritten next
      if (more) a.store(ctx, next), b.store(ctx, next + kB);
      ctx.sync();
    }
  }
  /// Rounds the sums and calls put(m, n, pack) for packs of 8 along n; m and n are within the tile.
  template <class Put>
  static WICK_DEVICE void write(const Ctx& ctx, Stages& stage, const Tile& sums, const Put& put) {
    T* const out = stage[0];
    for (int half = 0; half < tile.m; half += kOutRows) {
      for (int i = 0; i < kFragmentsM; i++) {
        const int slot = wave_m(ctx) + 16 * i - half;
        if (slot < 0 || slot >= kOutRows) continue;
        for (int j = 0; j < kFragmentsN; j++)
          for (int e = 0; e < Matrix::kAccumulator; e++)
            out[(slot + Matrix::m(ctx.lane(), e)) * kOutStride +
                B::row_of(wave_n(ctx) + 16 * j + Matrix::n(ctx.lane(), e))] =
                round_to<T>(sums[i][j].v[e]);
      }
      ctx.sync();
      for (int p = ctx.thread(); p < kOutRows * tile.n / 8; p += Ctx::kThreads) {
        const int slot = p / (tile.n / 8), column = p % (tile.n / 8) * 8;
        put(A::row_of(half + slot), column, load_pack<8>(out + slot * kOutStride + column));
      }
      ctx.sync();
    }
  }
};

// One block per tile of c.
template <class T, Inner a_inner, Inner b_inner, MatrixTile tile>
struct MatrixMatmul {
  static constexpr bool kUsesMatrix = true;
  static constexpr int kResidentBlocks = tile.resident;
  struct Args : ProductArgs<T> {
    int32 blocks;
  };
  static constexpr int threads(int) { return tile.threads; }
  static Grid grid(int, const Args& a) { return {a.blocks}; }

  template <class Ctx>
  using Parts = MatrixProduct<Ctx, T, MatrixOperand<Ctx, T, a_inner, tile.m, tile.k>,
                              MatrixOperand<Ctx, T, b_inner, tile.n, tile.k>, tile>;
  template <class Ctx>
  struct Shared {
    alignas(16) typename Parts<Ctx>::Stages stage;
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& args) {
    using P = Parts<Ctx>;
    const auto block = args.place(ctx.block().x);
    const int first_m = block.m * tile.m, first_n = block.n * tile.n;
    typename P::A a;
    typename P::B b;
    a.begin(ctx, block.a, args.a_steps, first_m, args.m, args.k, args.a_packs);
    b.begin(ctx, block.b, args.b_steps, first_n, args.n, args.k, args.b_packs);
    typename P::Tile sums = {};
    P::multiply_all(ctx, shared.stage, a, b, (args.k + tile.k - 1) / tile.k, sums);
    P::write(ctx, shared.stage, sums, [&](int tile_m, int tile_n, const Pack<T, 8>& pack) {
      const int m = first_m + tile_m, n = first_n + tile_n;
      if (m >= args.m || n >= args.n) return;
      T* const c = block.c + m * args.c_m + n * args.c_n;
      if (args.c_packs) {
        store_pack(c, pack);
      } else {
        for (int e = 0; e < 8; e++)
          if (n + e < args.n) c[e * args.c_n] = pack.v[e];
      }
    });
  }
};

inline constexpr MatrixTile kLargeMatrixTile{128, 128, 32, 256, 2};
inline constexpr MatrixTile kSmallMatrixTile{64, 64, 32, 128, 4};

template <class T, MatrixTile tile>
struct MatrixMatmulLaunch : MatmulLaunch<T, MatrixMatmulLaunch<T, tile>> {
  static const char* accepts_product(const Product& p, const DeviceInfo& info) {
    const int64 blocks =
        p.batch.numel() * ceil_div<int64>(p.m, tile.m) * ceil_div<int64>(p.n, tile.n);
    if (tile.m == kLargeMatrixTile.m && blocks < info.compute_units)
      return "large tiles would leave compute units idle";
    return nullptr;
  }
  static Status run_product(const Product& p, const Call& call) {
    // An operand with stride 1 along k is read along k, whatever its other stride is.
    const bool a_rows = p.a.row == 1 && p.a.k != 1, b_rows = p.b.row == 1 && p.b.k != 1;
    if (a_rows && b_rows) return run_as<Inner::kAlongRows, Inner::kAlongRows>(p, call);
    if (a_rows) return run_as<Inner::kAlongRows, Inner::kAlongK>(p, call);
    if (b_rows) return run_as<Inner::kAlongK, Inner::kAlongRows>(p, call);
    return run_as<Inner::kAlongK, Inner::kAlongK>(p, call);
  }

 private:
  template <Inner a, Inner b>
  static Status run_as(const Product& p, const Call& call) {
    return p.for_each_launch<T, 8>(tile.m, tile.n, [&](const ProductArgs<T>& args, int32 blocks) {
      return launch<MatrixMatmul<T, a, b, tile>>({args, blocks}, call);
    });
  }
};

}  // namespace wick::gpu
