// Convolutions by plain fused multiply-adds, for every float dtype.
#pragma once
#include "kernels/conv.h"
#include "kernels/matmul_tiled.h"

namespace wick::gpu {

// y or the gradient of x: one block per tile of rows x pixels.
template <class T, PlainTile tile>
struct TiledConv : PlainProduct<T, tile> {
  using P = PlainProduct<T, tile>;
  using Args = ConvArgs<T>;
  static constexpr int threads(int) { return P::kThreads; }
  static Grid grid(int, const Args& a) { return conv_grid(a); }
  template <class Ctx>
  using Shared = typename P::template Shared<Ctx>;

  /// A thread's run along k of one pixel.
  struct Windows {
    WindowReader<T> reader;
    int32 pixel, k;
    Pack<T, P::kRun> run;
    WICK_DEVICE void fetch() {
      WICK_UNROLL
      for (int e = 0; e < P::kRun; e++) run.v[e] = reader.next();
      reader.skip(tile.k - P::kRun);
    }
    WICK_DEVICE void store(typename P::C (&shared)[tile.k][tile.n + P::kPad]) const {
      for (int e = 0; e < P::kRun; e++) shared[k + e][pixel] = widen<typename P::C>(run.v[e]);
    }
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& args) {
    const auto place = args.place(ctx);
    const int first_m = place.m * tile.m, first_n = place.pixel * tile.n;
    if (first_n >= place.pixels) return;  // a class with fewer pixels than the first
    typename P::template Loader<tile.m> weight(ctx.thread(), place.weight, {1, args.weight_row},
                                               first_m, args.weight_row, place.k, true);
    Windows windows;
    windows.pixel = ctx.thread() % tile.n, windows.k = ctx.thread() / tile.n * P::kRun;
    windows.reader.begin(args, place, first_n + windows.pixel, windows.k);
    typename P::Sums sums = {};
    P::multiply(ctx, shared, weight, windows, ceil_div(place.k, tile.k), sums);

    const int thread_m = P::first_m(ctx.thread()), thread_n = P::first_n(ctx.thread());
    for (int j = 0; j < P::kGroupsN; j++) {
      const int n = first_n + j * P::kGroup + thread_n;
      for (int e = 0; e < 4; e++) {
        if (n + e >= place.pixels) break;
        T* const out = place.out + args.offset_of(place, n + e);
        for (int i = 0; i < P::kGroupsM * 4; i++) {
          const int m = first_m + i / 4 * P::kGroup + thread_m + i % 4;
          if (m < args.rows) out[m * args.out_c] = narrow<T>(sums[i][j * 4 + e]);
        }
      }
    }
  }
};

template <class T, PlainTile tile>
struct TiledConvLaunch {
  static const char* accepts(const Call& call, const DeviceInfo& info) {
    const Convolution c(call);
    if (const char* why = c.check()) return why;
    const int64 blocks = c.a.groups * ceil_div<int64>(c.rows, tile.m) *
                         ceil_div<int64>(c.out.shape[0] * c.places(), tile.n);
    if (tile.m == kLargePlainTile.m && (blocks < info.compute_units || c.rows <= 64))
      return "large tiles would leave compute units idle";
    return nullptr;
  }
  static int64 scratch_bytes(const Call& call, const DeviceInfo&) {
    return Convolution(call).packed_numel(true) * int64(sizeof(T));
  }
  static Status run(const Call& call) {
    const Convolution c(call);
    ConvArgs<T> args{};
    if (const Status status = c.pack_weights(call, true, &args); !status.ok()) return status;
    return c.for_each_launch(args, tile.m, tile.n, [&](const ConvArgs<T>& part) {
      return launch<TiledConv<T, tile>>(part, call);
    });
  }
};

// The weight gradient: one block per tile of rows x columns of a piece.
template <class T, PlainTile tile>
struct TiledConvWeight : PlainProduct<T, tile> {
  using P = PlainProduct<T, tile>;
  using C = typename P::C;
  using Args = ConvWeightArgs<T>;
  static constexpr int threads(int) { return P::kThreads; }
  static Grid grid(int, const Args& a) { return conv_weight_grid(a); }
  template <class Ctx>
  struct Shared {
    typename P::template Shared<Ctx> product;
    WindowColumn columns[tile.n];
  };

  template <class Tile>
  struct Loader : Tile {
    WICK_DEVICE void store(C (&shared)[tile.k][tile.m + P::kPad]) const {
      for (int e = 0; e < Tile::kCount; e++)
        shared[this->k][this->row + e * Tile::kStep] = widen<C>(this->v[e]);
    }
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& args) {
    const auto place = args.place(ctx);
    const int first_m = place.m * tile.m, first_n = place.n * tile.n;
    for (int column = ctx.thread(); column < tile.n; column += P::kThreads)
      shared.columns[column] = WindowColumn::of(args, first_n + column);
    ctx.sync();
    Loader<OutputTile<T, P::kThreads, tile.m, tile.k>> y;
    Loader<WindowTile<T, P::kThreads, tile.n, tile.k>> x;
    y.begin(args, place.y + first_m * args.y_c, ctx.thread(), place.first, place.end);
    y.rows_left = args.rows - first_m;
    x.begin(args, place.x, ctx.thread(), place.first, place.end);
    x.columns = shared.columns;
    typename P::Sums sums = {};
    P::multiply(ctx, shared.product, y, x, ceil_div(place.end - place.first, tile.k), sums);

    const int thread_m = P::first_m(ctx.thread()), thread_n = P::first_n(ctx.thread());
    for (int i = 0; i < P::kGroupsM * 4; i++) {
      const int m = first_m + i / 4 * P::kGroup + thread_m + i % 4;
      if (m >= args.rows) break;
      for (int j = 0; j < P::kGroupsN * 4; j++) {
        const int n = first_n + j / 4 * P::kGroup + thread_n + j % 4;
        if (n < args.columns) place.sums[int64(m) * args.columns + n] = sums[i][j];
      }
    }
  }
};

template <class T, PlainTile tile>
struct TiledConvWeightLaunch {
  static constexpr Signature signature{kConvWeightGradient, kDTypeOf<T>};
  static constexpr int64 kLeast = 64;  // pixels of a piece, a multiple of tile.k

  static const char* accepts(const Call& call, const DeviceInfo&) {
    const ConvWeightGradient c(call);
    if (const char* why = c.check()) return why;
    if (tile.m == kLargePlainTile.m && (c.rows <= 64 || c.channels * c.taps <= 64))
      return "large tiles would be mostly empty";
    return nullptr;
  }
  static int64 scratch_bytes(const Call& call, const DeviceInfo&) {
    return ConvWeightGradient(call).scratch_bytes(tile.m, tile.n, kLeast, sizeof(Compute<T>));
  }
  static Status run(const Call& call) {
    return ConvWeightGradient(call).run<T>(call, tile.m, tile.n, kLeast,
                                           [&](const ConvWeightArgs<T>& args) {
                                             return launch<TiledConvWeight<T, tile>>(args, call);
                                           });
  }
};

}  // namespace wick::gpu
