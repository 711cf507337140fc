// Products with weights of another dtype than x, of any number of rows, without matrix units.
#pragma once
#include "kernels/linear.h"
#include "kernels/matmul_tiled.h"

namespace wick::gpu {

// Any number of rows, by plain multiply-adds in f32. One block per tile of y.
struct LinearTiled {
  static constexpr PlainTile tile = kSmallPlainTile;
  using P = PlainProduct<float, tile>;
  using Args = LinearArgs;
  static constexpr int threads(int) { return P::kThreads; }
  static Grid grid(int, const Args& a) { return {a.blocks_m * a.blocks_n}; }
  template <class Ctx>
  using Shared = typename P::template Shared<Ctx>;

  /// A thread's part of an operand's tile: kRun neighbours along k.
  struct Part {
    int row, k;
    float run[P::kRun];

    explicit WICK_DEVICE Part(int thread)
        : row(thread / (tile.k / P::kRun)), k(thread % (tile.k / P::kRun) * P::kRun) {}
    WICK_DEVICE void store(float (&shared)[tile.k][tile.m + P::kPad]) {
      for (int e = 0; e < P::kRun; e++) shared[k % tile.k + e][row] = run[e];
      k += tile.k;
    }
  };
  struct Activations : Part {
    const LinearArgs& args;
    const uint8* from;
    // row_at(i): the tile's row i. Rows beyond the last repeat it; their results are not stored.
    template <class RowAt>
    WICK_DEVICE Activations(int thread, const LinearArgs& a, const RowAt& row_at)
        : Part(thread), args(a), from(row_at(this->row)) {}
    WICK_DEVICE void fetch() {
      load_floats(args.dtype, from, next(), args.k, args.x_packs, this->run);
    }

   private:
    WICK_DEVICE int next() const { return this->k; }
  };
  struct Weights : Part {
    const LinearArgs& args;
    const uint8* from;
    WICK_DEVICE Weights(int thread, const LinearArgs& a, const WeightRows& rows, int first)
        : Part(thread),
          args(a),
          from(rows.row(first + this->row < a.n ? first + this->row : a.n - 1)) {}
    WICK_DEVICE void fetch() { AnyWeights::load(args.w, from, this->k, args.k, this->run); }
  };

  template <class Ctx>
  static WICK_INLINE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& args) {
    const auto block = args.place(ctx.block().x);
    const int first_m = block.m * tile.m;
    multiply(
        ctx, shared, args, args.w,
        [&](int i) { return args.x_of(first_m + i < args.m ? first_m + i : args.m - 1); },
        block.n * tile.n, args.m - first_m,
        [&](int i, int n, float sum) { args.store(first_m + i, n, sum); });
  }

  /// A tile of `rows` rows or more. row_at(i): x's row of the tile's row i. store(i, n, sum) is
  /// called for its elements.
  template <class Ctx, class RowAt, class Store>
  static WICK_INLINE void multiply(const Ctx& ctx, Shared<Ctx>& shared, const LinearArgs& args,
                                   const WeightRows& weights, const RowAt& row_at, int first_n,
                                   int rows, const Store& store) {
    Activations x(ctx.thread(), args, row_at);
    Weights w(ctx.thread(), args, weights, first_n);
    typename P::Sums sums = {};
    P::multiply(ctx, shared, x, w, ceil_div(args.k, tile.k), sums);

    const int thread_m = P::first_m(ctx.thread()), thread_n = P::first_n(ctx.thread());
    WICK_UNROLL
    for (int i = 0; i < P::kGroupsM * 4; i++) {
      const int m = i / 4 * P::kGroup + thread_m + i % 4;
      if (m >= rows) break;
      WICK_UNROLL
      for (int j = 0; j < P::kGroupsN * 4; j++) {
        const int n = first_n + j / 4 * P::kGroup + thread_n + j % 4;
        if (n < args.n) store(m, n, sums[i][j]);
      }
    }
  }
};

}  // namespace wick::gpu
