// c = a b on matrix units: f16 and bf16, f32 sums.
#pragma once
#include "device/mma.h"
#include "kernels/matmul.h"

namespace wick::gpu {

struct MatrixTile {
  int m, n, k;
  int threads;
  int resident;  // blocks of a multiprocessor
};
/// Which dim of an operand's memory has step 1. kAlongK takes any strides, without packs.
enum class Inner { kAlongK, kAlongRows };

/// A block's part of an operand, `rows` x `depth` elements: from global memory into registers, from
/// there into shared memory, from there as fragments.
///
/// Shared memory holds [row][k], or, where columns load as well as rows and memory has rows
/// innermost, [k][row]. Where memory has rows innermost and columns do not load well, a thread
/// turns 2 x 8 elements around in its registers. Its 8 rows then go `rows / 8` slots apart, so that
/// the neighbouring threads, which have the next 8, write to neighbouring slots: all banks are
/// used.
template <class Ctx, class T, Inner inner, int rows, int depth>
struct MatrixOperand {
  using Matrix = typename Ctx::Matrix;
  static constexpr bool kByColumns = inner == Inner::kAlongRows && Matrix::kLoadsColumns;
  static constexpr bool kTurns = inner == Inner::kAlongRows && !Matrix::kLoadsColumns;
  static constexpr int kPad = 8;  // spreads rows over the banks, keeps them 16-byte aligned
  static constexpr int kStride = (kByColumns ? rows : depth) + kPad;
  static constexpr int kElements = (kByColumns ? depth : rows) * kStride;
  static constexpr int kPacks = rows * depth / 8 / Ctx::kThreads;
  static_assert(kPacks * 8 * Ctx::kThreads == rows * depth);
  static_assert(inner == Inner::kAlongK || kPacks % 2 == 0);

  const T* from[kPacks];
  Steps steps;
  int rows_left, k_left;  // of the operand, from where the block stands
  bool packs;
  Pack<T, 8> pack[kPacks];

  /// Which row stands in a slot of shared memory, and so of the product.
  static WICK_DEVICE int row_of(int slot) {
    if constexpr (kTurns)
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
      // Rows beyond the last are loaded from within and not stored in the end.
      const int last = rows_left - (inner == Inner::kAlongRows ? 8 : 1);
      if (packs && row > last) row = last;
      from[p] = x + int64(first + row) * steps.row + int64(k_in_block(ctx.thread(), p)) * steps.k;
    }
  }
  /// Sets out for the next `depth` of k.
  WICK_DEVICE void fetch() {
    if (whole())
      for (int p = 0; p < kPacks; p++) pack[p] = load_pack<8>(from[p]);
  }
  /// Puts them into shared memory, zero beyond the last of k.
  WICK_DEVICE void store(const Ctx& ctx, T* shared) {
    // What does not come in packs comes element by element, late: it would take too many registers.
    const bool ready = whole();
    for (int p = 0; p < kPacks; p += kTogether) {
      const int row = row_in_block(ctx.thread(), p), k = k_in_block(ctx.thread(), p);
      if (!ready)
        for (int q = p; q < p + kTogether; q++) pack[q] = elements(from[q], row, k + q - p);
      if constexpr (kTurns) {
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
  static constexpr int kTogether = kTurns ? 2 : 1;  // packs that are turned around with each other

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

// One block a tile of c. While the waves multiply one step of k, the next is on its way into
// registers.
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
  struct Parts {
    using A = MatrixOperand<Ctx, T, a_inner, tile.m, tile.k>;
    using B = MatrixOperand<Ctx, T, b_inner, tile.n, tile.k>;
    // Two stages save a barrier a step; cards with waves of 64 have 64 KiB for all blocks of a
    // compute unit, and more of those is worth more.
    static constexpr int kStages = Ctx::kWave == 64 ? 1 : 2;
    static constexpr int kWavesM = Ctx::kWaves >= 4 ? 2 : 1, kWavesN = Ctx::kWaves / kWavesM;
    static constexpr int kWaveM = tile.m / kWavesM, kWaveN = tile.n / kWavesN;
    static constexpr int kFragmentsM = kWaveM / 16, kFragmentsN = kWaveN / 16;
    // The tile leaves by way of shared memory, so that it is written in whole rows: half of it at
    // once, the rest of the memory is taken.
    static constexpr int kOutRows = tile.m / 2, kOutStride = tile.n + 8;
    static_assert(kWavesM * kWavesN == Ctx::kWaves && kWaveM % 16 == 0 && kWaveN % 16 == 0);
    static_assert(kOutRows * kOutStride <= kStages * (A::kElements + B::kElements));
  };
  template <class Ctx>
  struct Shared {
    using P = Parts<Ctx>;
    alignas(16) T stage[P::kStages][P::A::kElements + P::B::kElements];
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& args) {
    using P = Parts<Ctx>;
    using Matrix = typename Ctx::Matrix;
    const auto block = args.place(ctx.block().x);
    const int first_m = block.m * tile.m, first_n = block.n * tile.n;
    const int wave_m = ctx.wave() / P::kWavesN * P::kWaveM;
    const int wave_n = ctx.wave() % P::kWavesN * P::kWaveN;
    constexpr int kB = P::A::kElements;  // where b begins in a stage

    typename P::A a;
    typename P::B b;
    a.begin(ctx, block.a, args.a_steps, first_m, args.m, args.k, args.a_packs);
    b.begin(ctx, block.b, args.b_steps, first_n, args.n, args.k, args.b_packs);
    Sums<Matrix> sums[P::kFragmentsM][P::kFragmentsN] = {};

    const int steps = (args.k + tile.k - 1) / tile.k;
    if (steps > 0) {
      a.fetch(), b.fetch();
      a.store(ctx, shared.stage[0]), b.store(ctx, shared.stage[0] + kB);
      ctx.sync();
    }
    for (int step = 0; step < steps; step++) {
      const T* const now = shared.stage[step % P::kStages];
      T* const next = shared.stage[(step + 1) % P::kStages];
      const bool more = step + 1 < steps;
      if (more) a.fetch(), b.fetch();
      for (int k = 0; k < tile.k; k += 16) {
        Operand<T, Matrix> y[P::kFragmentsN];
        for (int j = 0; j < P::kFragmentsN; j++)
          y[j] = P::B::load(ctx, now + kB, wave_n + 16 * j, k);
        for (int i = 0; i < P::kFragmentsM; i++) {
          const Operand<T, Matrix> x = P::A::load(ctx, now, wave_m + 16 * i, k);
          for (int j = 0; j < P::kFragmentsN; j++) multiply(ctx, sums[i][j], x, y[j]);
        }
      }
      if (P::kStages == 1) ctx.sync();  // all have read what is overwritten now
      if (more) a.store(ctx, next), b.store(ctx, next + kB);
      ctx.sync();
    }

    T* const out = shared.stage[0];
    for (int half = 0; half < tile.m; half += P::kOutRows) {
      for (int i = 0; i < P::kFragmentsM; i++) {
        const int slot = wave_m + 16 * i - half;
        if (slot < 0 || slot >= P::kOutRows) continue;
        for (int j = 0; j < P::kFragmentsN; j++)
          for (int e = 0; e < Matrix::kAccumulator; e++)
            out[(slot + Matrix::m(ctx.lane(), e)) * P::kOutStride +
                P::B::row_of(wave_n + 16 * j + Matrix::n(ctx.lane(), e))] =
                round_to<T>(sums[i][j].v[e]);
      }
      ctx.sync();
      for (int p = ctx.thread(); p < P::kOutRows * tile.n / 8; p += Ctx::kThreads) {
        const int slot = p / (tile.n / 8), column = p % (tile.n / 8) * 8;
        const int m = first_m + P::A::row_of(half + slot), n = first_n + column;
        if (m >= args.m || n >= args.n) continue;
        const auto pack = load_pack<8>(out + slot * P::kOutStride + column);
        T* const c = block.c + m * args.c_m + n * args.c_n;
        if (args.c_packs) {
          store_pack(c, pack);
        } else {
          for (int e = 0; e < 8; e++)
            if (n + e < args.n) c[e * args.c_n] = pack.v[e];
        }
      }
      ctx.sync();
    }
  }
};

inline constexpr MatrixTile kLargeMatrixTile{128, 128, 32, 256, 2};
inline constexpr MatrixTile kSmallMatrixTile{64, 64, 32, 128, 4};

template <class T, MatrixTile tile>
struct MatrixMatmulLaunch {
  static constexpr Signature signature{kMatmul, kDTypeOf<T>};

  static const char* accepts(const Call& call, const DeviceInfo& info) {
    if (const char* why = Product::check(call)) return why;
    const Product p(call);
    const int64 blocks =
        p.batch.numel() * ceil_div<int64>(p.m, tile.m) * ceil_div<int64>(p.n, tile.n);
    if (tile.m == kLargeMatrixTile.m && blocks < info.compute_units)
      return "large tiles would leave compute units idle";
    return nullptr;
  }
  static Status run(const Call& call) {
    const Product p(call);
    // A dim of step 1 that is k is read along k, whatever the other's step is.
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
