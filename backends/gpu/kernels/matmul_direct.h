// c = a b of a few rows on matrix units. Both operands lie along k, and lanes load them straight
// from memory: b, usually weights, is read once, and shared memory would be a detour.
#pragma once
#include "device/mma.h"
#include "kernels/matmul.h"

namespace wick::gpu {

/// 16 m rows by 16 n columns of a block, whose waves share k.
struct DirectTile {
  int m, n, threads;
};

template <class T, DirectTile tile>
struct DirectMatmul {
  static constexpr bool kUsesMatrix = true, kSumsByLayout = true;
  static constexpr int kResidentBlocks = tile.threads > 256 ? 1 : 2;
  struct Args : ProductArgs<T> {
    int32 blocks;
  };
  static constexpr int threads(int) { return tile.threads; }
  static Grid grid(int, const Args& a) { return {a.blocks}; }

  template <class Ctx>
  struct Shared {
    alignas(16) float sums[Ctx::kWaves][tile.m * tile.n][256];
  };

  /// A lane's part of 16 rows of an operand: packs of 8 neighbours along k.
  template <class Ctx>
  struct Rows {
    using M = typename Ctx::Matrix;
    static constexpr int kPacks = M::kDirectPacks;
    const T* from[kPacks];

    /// Rows beyond the last repeat it; their results are not stored.
    WICK_DEVICE void begin(const Ctx& ctx, const T* x, int64 step, int first, int rows) {
      WICK_UNROLL
      for (int p = 0; p < kPacks; p++) {
        const int row = first + M::direct_row(ctx.lane(), p);
        from[p] = x + (row < rows ? row : rows - 1) * step + M::direct_k(ctx.lane(), p);
      }
    }
    WICK_DEVICE void load(int k, typename Ctx::Words (&x)[kPacks]) const {
      WICK_UNROLL
      for (int p = 0; p < kPacks; p++)
        x[p] = *reinterpret_cast<const typename Ctx::Words*>(from[p] + k);
    }
    /// Zeros beyond the last k.
    WICK_DEVICE void load_some(const Ctx& ctx, int k, int all_k,
                               typename Ctx::Words (&x)[kPacks]) const {
      WICK_UNROLL
      for (int p = 0; p < kPacks; p++) {
        x[p] = {};
        if (k + M::direct_k(ctx.lane(), p) < all_k)
          x[p] = *reinterpret_cast<const typename Ctx::Words*>(from[p] + k);
      }
    }
  };
  /// The operands of kSteps times kDepth of k, as many as registers hold twice.
  template <class Ctx>
  struct Run {
    using M = typename Ctx::Matrix;
    static constexpr int kDepth = 16 * M::kDirectProducts;
    static constexpr int kWords = 4 * M::kDirectPacks * (tile.m + tile.n);  // of a step
    static constexpr int kSteps = kWords < 32 ? 32 / kWords : 1, kLength = kSteps * kDepth;
    typename Ctx::Words a[kSteps][tile.m][M::kDirectPacks], b[kSteps][tile.n][M::kDirectPacks];
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& args) {
    using M = typename Ctx::Matrix;
    using R = Run<Ctx>;
    const auto block = args.place(ctx.block().x);
    const int first_m = block.m * (16 * tile.m), first_n = block.n * (16 * tile.n);
    Rows<Ctx> a[tile.m], b[tile.n];
    WICK_UNROLL
    for (int i = 0; i < tile.m; i++)
      a[i].begin(ctx, block.a, args.a_steps.row, first_m + 16 * i, args.m);
    WICK_UNROLL
    for (int j = 0; j < tile.n; j++)
      b[j].begin(ctx, block.b, args.b_steps.row, first_n + 16 * j, args.n);

    Sums<M> sums[tile.m][tile.n] = {};
    const auto load = [&](R& x, int k) {
      WICK_UNROLL
      for (int s = 0; s < R::kSteps; s++) {
        for (int j = 0; j < tile.n; j++) b[j].load(k + s * R::kDepth, x.b[s][j]);
        for (int i = 0; i < tile.m; i++) a[i].load(k + s * R::kDepth, x.a[s][i]);
      }
    };
    const auto multiply_step = [&](const R& x, int s) {
      WICK_UNROLL
      for (int product = 0; product < M::kDirectProducts; product++) {
        Operand<T, M> y[tile.n];
        WICK_UNROLL
        for (int j = 0; j < tile.n; j++)
          y[j] = direct_operand<Side::kRight, T>(ctx, x.b[s][j], product);
        WICK_UNROLL
        for (int i = 0; i < tile.m; i++) {
          const auto left = direct_operand<Side::kLeft, T>(ctx, x.a[s][i], product);
          WICK_UNROLL
          for (int j = 0; j < tile.n; j++) multiply(ctx, sums[i][j], left, y[j]);
        }
      }
    };
    int k = ctx.wave() * R::kLength;
    // Whether there is another run, on its way into `next` while `now` is multiplied.
    const auto advance = [&](const R& now, R& next) {
      const int following = k + Ctx::kWaves * R::kLength;
      const bool more = following + R::kLength <= args.k;
      load(next, more ? following : k);
      ctx.keep_order();
      WICK_UNROLL
      for (int s = 0; s < R::kSteps; s++) multiply_step(now, s);
      k = following;
      return more;
    };
    if (k + R::kLength <= args.k) {
      R x, y;
      load(x, k);
      WICK_ROLL
      while (advance(x, y) && advance(y, x)) {
      }
    }
    if (k < args.k) {  // one wave has the last, incomplete run
      R x;
      WICK_UNROLL
      for (int s = 0; s < R::kSteps; s++) {
        const int at = k + s * R::kDepth;
        for (int j = 0; j < tile.n; j++) b[j].load_some(ctx, at, args.k, x.b[s][j]);
        for (int i = 0; i < tile.m; i++) a[i].load_some(ctx, at, args.k, x.a[s][i]);
      }
      WICK_UNROLL
      for (int s = 0; s < R::kSteps; s++) multiply_step(x, s);
    }

    WICK_UNROLL
    for (int i = 0; i < tile.m; i++) WICK_UNROLL
    for (int j = 0; j < tile.n; j++) {
      float* const to = shared.sums[ctx.wave()][i * tile.n + j] + ctx.lane() * M::kAccumulator;
      WICK_UNROLL
      for (int e = 0; e < M::kAccumulator; e += 4) {
        const float* const v = sums[i][j].v + e;
        store_pack(to + e, Pack<float, 4>{v[0], v[1], v[2], v[3]});
      }
    }
    ctx.sync_shared();
    WICK_ROLL
    for (int t = ctx.thread(); t < tile.m * tile.n * 256; t += Ctx::kThreads) {
      const int fragment = t / 256, at = t % 256;
      float sum = shared.sums[0][fragment][at];
      WICK_UNROLL
      for (int w = 1; w < Ctx::kWaves; w++) sum += shared.sums[w][fragment][at];
      const int lane = at / M::kAccumulator, e = at % M::kAccumulator;
      const int m = first_m + fragment / tile.n * 16 + M::m(lane, e);
      const int n = first_n + fragment % tile.n * 16 + M::n(lane, e);
      if (m < args.m && n < args.n) args.store(block.c, m, n, sum);
    }
  }
};

/// Columns of c per compute unit. kFew: blocks of more waves. kMany: tiles twice as wide, which
/// read a half as often.
enum class Columns { kFew, kSome, kMany };

template <class T, Columns columns>
struct DirectMatmulLaunch : MatmulLaunch<T, DirectMatmulLaunch<T, columns>> {
  static const char* accepts_product(const Product& p, const DeviceInfo& info) {
    if (p.m < 2 || p.m > 32) return "there are not 2 to 32 rows";
    if (p.n < 16 || p.k < 128) return "the operands are small";
    const int64 all = p.batch.numel() * p.n, units = info.compute_units;
    if (columns == Columns::kFew && all >= 16 * units) return "there are more columns";
    if (columns == Columns::kMany && all < 64 * units) return "there are fewer columns";
    // Two fragments of rows and of columns would not fit into registers.
    if (columns == Columns::kMany && p.m > 16) return "there are more than 16 rows";
    if (p.m > 16 && all >= 128 * units) return "tiles in shared memory read the rows less often";
    if (p.a.k != 1 || p.b.k != 1 || p.k % 8 != 0) return "an operand is not in packs along k";
    if (!p.operand_in_packs(1, p.a, p.m, 8) || !p.operand_in_packs(2, p.b, p.n, 8))
      return "an operand is not in aligned packs";
    return nullptr;
  }
  static Status run_product(const Product& p, const Call& call) {
    constexpr int kThreads = columns == Columns::kFew ? 512 : 256;
    if constexpr (columns == Columns::kMany)
      return run_tile<DirectTile{1, 2, kThreads}>(p, call);
    else
      return p.m <= 16 ? run_tile<DirectTile{1, 1, kThreads}>(p, call)
                       : run_tile<DirectTile{2, 1, kThreads}>(p, call);
  }

 private:
  template <DirectTile tile>
  static Status run_tile(const Product& p, const Call& call) {
    return p.for_each_launch<T, 8>(16 * tile.m, 16 * tile.n,
                                   [&](const ProductArgs<T>& args, int32 blocks) {
                                     return launch<DirectMatmul<T, tile>>({args, blocks}, call);
                                   });
  }
};

/// The kernels for every number of columns.
template <class T>
void add_direct(KernelList& list) {
  add_product<DirectMatmulLaunch<T, Columns::kFew>, kMatrixFamilies, true>(list, "direct_few");
  add_product<DirectMatmulLaunch<T, Columns::kMany>, kMatrixFamilies, true>(list, "direct_many");
  add_product<DirectMatmulLaunch<T, Columns::kSome>, kMatrixFamilies, true>(list, "direct");
}

}  // namespace wick::gpu
