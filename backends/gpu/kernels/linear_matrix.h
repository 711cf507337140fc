// y = x wᵀ on matrix units: f16 and bf16 x, weights in blocks, which are rounded to x's type.
#pragma once
#include "kernels/linear.h"
#include "kernels/matmul_matrix.h"

namespace wick::gpu {

/// A block's part of the weights, with the interface of MatrixOperand. A thread's packs are 8
/// neighbours of a run, the depth of the tile.
template <class Ctx, class T, int rows, int depth>
struct WeightOperand {
  using Matrix = typename Ctx::Matrix;
  static constexpr int kPad = 8, kStride = depth + kPad, kElements = rows * kStride;
  static constexpr int kPacks = rows * depth / 8 / Ctx::kThreads;
  static_assert(kPacks * 8 * Ctx::kThreads == rows * depth && depth == blocks::kRun);

  const uint8* from[kPacks];
  DType dtype;
  int bias, k;  // k: of the thread's packs, which are below each other
  QuantPack<2> pack[kPacks];

  static WICK_DEVICE int row_of(int slot) { return slot; }

  WICK_DEVICE void begin(const Ctx& ctx, const LinearArgs& args, int first) {
    dtype = args.w.dtype, bias = bias_of(dtype, BlockTypes{});
    k = k_in_block(ctx.thread());
    for (int p = 0; p < kPacks; p++) {
      // Rows beyond the last repeat it; their results are not stored.
      const int row = first + row_in_block(ctx.thread(), p);
      from[p] = args.w.row(row < args.n ? row : args.n - 1);
    }
  }
  /// Starts loading the next `depth` of k.
  WICK_DEVICE void fetch(const Ctx&, T*) { fetch_of(BlockTypes{}); }
  /// Stores the packs into shared memory.
  WICK_DEVICE void store(const Ctx& ctx, T* shared) {
    for (int p = 0; p < kPacks; p++) {
      float w[8];
      decode(pack[p], bias, w);
      Pack<T, 8> rounded;
      for (int e = 0; e < 8; e++) rounded.v[e] = round_to<T>(w[e]);
      store_pack(shared + row_in_block(ctx.thread(), p) * kStride + k_in_block(ctx.thread()),
                 rounded);
    }
    k += depth;
  }
  template <Side side>
  static WICK_DEVICE auto load(const Ctx& ctx, const T* shared, int slot, int k) {
    return load_rows<side>(ctx, shared + slot * kStride + k, kStride);
  }

 private:
  template <class... F>
  WICK_DEVICE void fetch_of(TypeList<F...>) {
    (void)((dtype == F::kDType ? (fetch_blocks<F>(), true) : false) || ...);
  }
  template <class F>
  WICK_DEVICE void fetch_blocks() {
    for (int p = 0; p < kPacks; p++) pack[p] = load_quants<F, 2>(from[p], k);
  }
  static WICK_DEVICE int row_in_block(int thread, int p) {
    return (p * Ctx::kThreads + thread) / (depth / 8);
  }
  static WICK_DEVICE int k_in_block(int thread) { return thread % (depth / 8) * 8; }
  static_assert(Ctx::kThreads % (depth / 8) == 0);
};

// One block per tile of y.
template <class T, MatrixTile tile>
struct LinearMatrix {
  static constexpr bool kUsesMatrix = true;
  static constexpr int kResidentBlocks = tile.resident, kLeastWaves = 2;
  using Args = LinearArgs;
  static constexpr int threads(int) { return tile.threads; }
  static Grid grid(int, const Args& a) { return {a.blocks_m * a.blocks_n}; }

  template <class Ctx>
  using Parts = MatrixProduct<Ctx, T, MatrixOperand<Ctx, T, Inner::kAlongK, tile.m, tile.k>,
                              WeightOperand<Ctx, T, tile.n, tile.k>, tile>;
  template <class Ctx>
  struct Shared {
    alignas(16) typename Parts<Ctx>::Stages stage;
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& args) {
    using P = Parts<Ctx>;
    const auto block = args.place(ctx.block().x);
    const int first_m = block.m * tile.m, first_n = block.n * tile.n;
    typename P::A x;
    typename P::B w;
    x.begin(ctx, static_cast<const T*>(args.x), {args.x_row, 1}, first_m, args.m, args.k,
            args.x_packs);
    w.begin(ctx, args, first_n);
    typename P::Tile sums = {};
    P::multiply_all(ctx, shared.stage, x, w, ceil_div(args.k, tile.k), sums);
    P::write(ctx, shared.stage, sums, [&](int tile_m, int tile_n, const Pack<T, 8>& pack) {
      const int m = first_m + tile_m, n = first_n + tile_n;
      if (m >= args.m || n >= args.n) return;
      T* const y = static_cast<T*>(args.y) + int64(m) * args.n + n;
      if (args.y_packs) {
        store_pack(y, pack);
      } else {
        for (int e = 0; e < 8; e++)
          if (n + e < args.n) y[e] = pack.v[e];
      }
    });
  }
};

template <class T, MatrixTile tile>
struct LinearMatrixLaunch {
  static const char* accepts(const Call& call, const DeviceInfo& info) {
    const LinearCall linear(call);
    if (const char* why = linear.check()) return why;
    if (const char* why = linear.check_rows()) return why;
    if (tile.m == kLargeMatrixTile.m && linear.blocks(tile.m, tile.n) < info.compute_units)
      return "large tiles would leave compute units idle";
    return nullptr;
  }
  static Status run(const Call& call) {
    return launch<LinearMatrix<T, tile>>(LinearCall(call).args(tile.m, tile.n), call);
  }
};

}  // namespace wick::gpu
