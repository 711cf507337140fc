// Convolutions on matrix units: f16 and bf16 with f32 accumulators.
#pragma once
#include "kernels/conv.h"
#include "kernels/matmul_matrix.h"

namespace wick::gpu {

/// A product's operand whose threads write elements to [row][k] in shared memory.
template <class Ctx, class T, int rows, int depth>
struct RowsOperand {
  using Matrix = typename Ctx::Matrix;
  static constexpr int kStride = depth + 8;  // as of MatrixOperand
  static constexpr int kElements = rows * kStride;
  static WICK_DEVICE int row_of(int slot) { return slot; }
  template <Side side>
  static WICK_DEVICE auto load(const Ctx& ctx, const T* shared, int slot, int k) {
    return load_rows<side>(ctx, shared + slot * kStride + k, kStride);
  }
};

/// The windows of pixels: a thread loads a run along k of one pixel.
template <class Ctx, class T, int rows, int depth>
struct WindowsOperand : RowsOperand<Ctx, T, rows, depth> {
  static constexpr int kPacks = rows * depth / 8 / Ctx::kThreads, kRun = 8 * kPacks;
  static_assert(kRun * Ctx::kThreads == rows * depth);
  using Elements = Pack<T, 8>;
  using FourWords = Pack<int, 4>;
  WindowReader<T> reader;
  Elements pack[kPacks];

  WICK_DEVICE void begin(const Ctx& ctx, const ConvArgs<T>& args,
                         const typename ConvArgs<T>::BlockTile& place, int first) {
    reader.begin(args, place, first + ctx.thread() % rows, ctx.thread() / rows * kRun);
  }
  WICK_DEVICE void fetch(const Ctx& ctx, T*) {
    WICK_UNROLL
    for (int e = 0; e < kRun; e++) pack[e / 8].v[e % 8] = reader.next();
    reader.skip(depth - kRun);
    for (int p = 0; p < kPacks; p++) {
      auto words = __builtin_bit_cast(FourWords, pack[p]);
      for (int& word : words.v) word = ctx.in_one_register(word);
      pack[p] = __builtin_bit_cast(Elements, words);
    }
  }
  WICK_DEVICE void store(const Ctx& ctx, T* shared) const {
    T* const to = shared + ctx.thread() % rows * this->kStride + ctx.thread() / rows * kRun;
    for (int p = 0; p < kPacks; p++) store_pack(to + 8 * p, pack[p]);
  }
};

/// The windows of pixels in a source with channels last: a pack is 8 channels of one tap. Loads
/// have no branches, and are asynchronous where the device can. Has the interface of PackedOperand.
template <class Ctx, class T, int rows, int depth>
struct PackedWindows {
  using Layout = MatrixOperand<Ctx, T, Inner::kAlongK, rows, depth>;
  static constexpr bool kAsync = Ctx::kCopiesAsync;
  static constexpr int kElements = Layout::kElements, kPacks = Layout::kPacks;
  static constexpr int kParts = fetch_parts(depth);
  static_assert(kPacks <= 32 && Ctx::kThreads % (depth / 8) == 0, "a thread's packs have one tap");

  const T *source, *window[kPacks];  // of tap (0, 0), which may lie outside of the image
  int64 step_h, step_w, offset;      // offset: of the tap and channel
  int32 h[kPacks], w[kPacks];        // of tap (0, 0)
  int32 height, width, channels, taps_h, taps_w, down, right;
  int32 tap_h, tap_w, channel;
  uint32 outside;  // a bit for each pack on its way
  Pack<T, 8> pack[kAsync ? 1 : kPacks];

  static WICK_DEVICE int row_of(int slot) { return slot; }
  template <Side side>
  static WICK_DEVICE auto load(const Ctx& ctx, const T* shared, int slot, int k) {
    return Layout::template load<side>(ctx, shared, slot, k);
  }

  /// first: the block's first pixel.
  WICK_DEVICE void begin(const Ctx& ctx, const ConvArgs<T>& args,
                         const typename ConvArgs<T>::BlockTile& place, int first) {
    source = place.source, step_h = args.source_h, step_w = args.source_w, outside = 0;
    height = args.dim[0].source_size, width = args.dim[1].source_size, channels = args.channels;
    taps_h = place.h.taps, taps_w = place.w.taps;
    down = place.h.dilation, right = place.w.dilation;
    WICK_UNROLL
    for (int p = 0; p < kPacks; p++) {
      const uint32 pixel = first + Layout::row_in_block(ctx.thread(), p);
      const uint32 row = pixel / uint32(place.w.pixels), n = row / uint32(place.h.pixels);
      w[p] = int32(pixel - row * place.w.pixels) * place.w.stride + place.w.offset;
      h[p] = int32(row - n * place.h.pixels) * place.h.stride + place.h.offset;
      window[p] = source + n * args.source_n + h[p] * step_h + w[p] * step_w;
      if (pixel >= uint32(place.pixels)) h[p] = kFarOutside;
    }
    tap_h = tap_w = 0, channel = Layout::k_in_block(ctx.thread(), 0);
    settle();
  }
  /// Starts loading the next `depth` of k; asynchronous loads go to a stage of shared memory.
  WICK_DEVICE void fetch(const Ctx& ctx, T* shared) {
    WICK_UNROLL
    for (int part = 0; part < kParts; part++) fetch_part(ctx, shared, part);
  }
  WICK_DEVICE void fetch_part(const Ctx& ctx, T* shared, int part) {
    if (part == 0) outside = 0;
    const int y = tap_h * down, x = tap_w * right;
    WICK_UNROLL
    for (int p = part * kPacks / kParts; p < (part + 1) * kPacks / kParts; p++) {
      const bool inside =
          tap_h < taps_h && uint32(h[p] + y) < uint32(height) && uint32(w[p] + x) < uint32(width);
      if constexpr (kAsync) {
        ctx.copy_async(shared + Layout::place(ctx.thread(), p), window[p] + offset, inside);
      } else {
        if (!inside) outside |= uint32(1) << p;
        pack[p] = load_pack<8>(inside ? window[p] + offset : source);
      }
    }
    if (part < kParts - 1) return;
    channel += depth;
    settle();
  }
  /// Stores the packs, where that is not asynchronous; zeros outside of the image.
  WICK_DEVICE void deliver(const Ctx& ctx, T* shared) {
    if constexpr (!kAsync) {
      WICK_UNROLL
      for (int p = 0; p < kPacks; p++)
        if (outside >> p & 1) pack[p] = {};
      Layout::put(ctx, shared, pack);
    }
  }

 private:
  static constexpr int32 kFarOutside = -(1 << 30);  // sizes of windows are below 2^29

  /// Moves to the tap of the current channel.
  WICK_DEVICE void settle() {
    for (; channel >= channels && tap_h < taps_h; channel -= channels)
      if (++tap_w == taps_w) tap_w = 0, tap_h++;
    offset = tap_h * down * step_h + tap_w * right * step_w + channel;
  }
};

// y or the gradient of x: one block per tile of rows x pixels. packed: the source is channels last.
template <class T, MatrixTile tile, bool packed>
struct MatrixConv {
  static constexpr bool kUsesMatrix = true;
  static constexpr int kResidentBlocks = tile.resident, kLeastWaves = 2;
  using Args = ConvArgs<T>;
  static constexpr int threads(int) { return tile.threads; }
  static Grid grid(int, const Args& a) { return conv_grid(a); }

  template <class Ctx>
  using Parts = MatrixProduct<
      Ctx, T,
      Either<packed, PackedOperand<Ctx, T, Inner::kAlongK, tile.m, tile.k>,
             MatrixOperand<Ctx, T, Inner::kAlongK, tile.m, tile.k>>,
      Either<packed, PackedWindows<Ctx, T, tile.n, tile.k>, WindowsOperand<Ctx, T, tile.n, tile.k>>,
      tile>;
  template <class Ctx>
  struct Shared {
    alignas(16) typename Parts<Ctx>::Stages stage;
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& args) {
    using P = Parts<Ctx>;
    const auto place = args.place(ctx);
    const int first_m = place.m * tile.m, first_n = place.pixel * tile.n;
    if (first_n >= place.pixels) return;  // a class with fewer pixels than the first
    typename P::A weight;
    typename P::B windows;
    const int steps = ceil_div(place.k, tile.k);
    // Packed weights are padded with zeros to a whole step.
    const Steps weight_steps{args.weight_row, 1};
    windows.begin(ctx, args, place, first_n);
    typename P::Tile sums = {};
    if constexpr (packed) {
      weight.begin(ctx, place.weight, weight_steps, first_m, args.rows, steps * tile.k);
      P::multiply_packed(ctx, shared.stage, weight, windows, steps, sums);
    } else {
      weight.begin(ctx, place.weight, weight_steps, first_m, args.rows, steps * tile.k, true);
      P::multiply_all(ctx, shared.stage, weight, windows, steps, sums);
    }
    P::write(ctx, shared.stage, sums, [&](int tile_m, int tile_n, const Pack<T, 8>& pack) {
      const int m = first_m + tile_m, n = first_n + tile_n;
      if (m >= args.rows || n >= place.pixels) return;
      T* const out = place.out + m * args.out_c;
      if (args.out_packs) {
        store_pack(out + args.offset_of(place, n), pack);
      } else {
        for (int e = 0; e < 8; e++)
          if (n + e < place.pixels) out[args.offset_of(place, n + e)] = pack.v[e];
      }
    });
  }
};

template <class T, MatrixTile tile, bool packed>
struct MatrixConvLaunch {
  static const char* accepts(const Call& call, const DeviceInfo& info) {
    const Convolution c(call);
    if (const char* why = c.check()) return why;
    const int64 blocks = c.a.groups * ceil_div<int64>(c.rows, tile.m) *
                         ceil_div<int64>(c.out.shape[0] * c.places(), tile.n);
    if (tile.m == kLargeMatrixTile.m && (blocks < info.compute_units || c.rows <= 64))
      return "large tiles would leave compute units idle";
    if (!packed) return nullptr;
    if (5 * c.channels < 4 * round_up(c.channels, 8))
      return "packs of 8 channels would be mostly zeros";
    if (c.source.numel() / c.source.shape[1] > kLaunchLimit || c.channels * c.a.groups >= 1 << 19)
      return "the source has more than 2^30 pixels or 2^19 channels";
    return nullptr;
  }
  static int64 scratch_bytes(const Call& call, const DeviceInfo&) {
    Convolution c(call);
    const int64 copied = copies(c) ? c.channels_last_numel() : 0;
    if (packed) c.channels = round_up(c.channels, 8);
    return (weight_numel(c) + copied) * int64(sizeof(T));
  }
  static Status run(const Call& call) {
    Convolution c(call);
    if (copies(c)) {
      Convolution padded(call);
      padded.channels = round_up(c.channels, 8);
      c.use_channels_last(static_cast<T*>(call.scratch) + weight_numel(padded));
      if (const Status status = c.copy_channels_last<T>(call); !status.ok()) return status;
    }
    ConvArgs<T> args{};
    if (const Status status = c.pack_weights(call, false, &args); !status.ok()) return status;
    return c.for_each_launch(args, tile.m, tile.n, [&](const ConvArgs<T>& part) {
      return launch<MatrixConv<T, tile, packed>>(part, call);
    });
  }

 private:
  static bool copies(const Convolution& c) { return packed && !c.has_channel_packs(); }
  /// Where the copy begins: after the packed weights, aligned to packs.
  static int64 weight_numel(const Convolution& c) { return round_up(c.packed_numel(false), 8); }
};

/// A tile of y or of windows, with pixels as k: neighbouring threads load neighbouring pixels.
template <class Ctx, class T, int rows, int depth, class Tile>
struct PixelsOperand : RowsOperand<Ctx, T, rows, depth>, Tile {
  WICK_DEVICE void fetch(const Ctx&, T*) { Tile::fetch(); }
  WICK_DEVICE void store(const Ctx&, T* shared) const {
    for (int e = 0; e < Tile::kCount; e++)
      shared[(this->row + e * Tile::kStep) * this->kStride + this->k] = this->v[e];
  }
};

// The weight gradient: one block per tile of rows x columns of a piece.
template <class T, MatrixTile tile>
struct MatrixConvWeight {
  static constexpr bool kUsesMatrix = true;
  static constexpr int kResidentBlocks = tile.resident;
  using Args = ConvWeightArgs<T>;
  static constexpr int threads(int) { return tile.threads; }
  static Grid grid(int, const Args& a) { return conv_weight_grid(a); }

  template <class Ctx>
  using Parts = MatrixProduct<
      Ctx, T, PixelsOperand<Ctx, T, tile.m, tile.k, OutputTile<T, tile.threads, tile.m, tile.k>>,
      PixelsOperand<Ctx, T, tile.n, tile.k, WindowTile<T, tile.threads, tile.n, tile.k>>, tile>;
  template <class Ctx>
  struct Shared {
    alignas(16) typename Parts<Ctx>::Stages stage;
    WindowColumn columns[tile.n];
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& args) {
    using P = Parts<Ctx>;
    const auto place = args.place(ctx);
    const int first_m = place.m * tile.m, first_n = place.n * tile.n;
    for (int column = ctx.thread(); column < tile.n; column += Ctx::kThreads)
      shared.columns[column] = WindowColumn::of(args, first_n + column);
    ctx.sync();
    typename P::A y;
    typename P::B x;
    y.begin(args, place.y + first_m * args.y_c, ctx.thread(), place.first, place.end);
    y.rows_left = args.rows - first_m;
    x.begin(args, place.x, ctx.thread(), place.first, place.end);
    x.columns = shared.columns;
    typename P::Tile sums = {};
    P::multiply_all(ctx, shared.stage, y, x, ceil_div(place.end - place.first, tile.k), sums);
    using Matrix = typename Ctx::Matrix;
    WICK_UNROLL
    for (int i = 0; i < P::kFragmentsM; i++) {
      WICK_UNROLL
      for (int j = 0; j < P::kFragmentsN; j++) {
        WICK_UNROLL
        for (int e = 0; e < Matrix::kAccumulator; e++) {
          const int m = first_m + P::wave_m(ctx) + 16 * i + Matrix::m(ctx.lane(), e);
          const int n = first_n + P::wave_n(ctx) + 16 * j + Matrix::n(ctx.lane(), e);
          if (m < args.rows && n < args.columns)
            place.sums[int64(m) * args.columns + n] = sums[i][j].v[e];
        }
      }
    }
  }
};

template <class T, MatrixTile tile>
struct MatrixConvWeightLaunch {
  static constexpr Signature signature{kConvWeightGradient, kDTypeOf<T>};
  static constexpr int64 kLeast = 64;  // pixels of a piece, a multiple of tile.k

  static const char* accepts(const Call& call, const DeviceInfo&) {
    const ConvWeightGradient c(call);
    if (const char* why = c.check()) return why;
    if (tile.m == kLargeMatrixTile.m && (c.rows <= 64 || c.channels * c.taps <= 64))
      return "large tiles would be mostly empty";
    return nullptr;
  }
  static int64 scratch_bytes(const Call& call, const DeviceInfo&) {
    return ConvWeightGradient(call).scratch_bytes(tile.m, tile.n, kLeast, sizeof(float));
  }
  static Status run(const Call& call) {
    return ConvWeightGradient(call).run<T>(call, tile.m, tile.n, kLeast,
                                           [&](const ConvWeightArgs<T>& args) {
                                             return launch<MatrixConvWeight<T, tile>>(args, call);
                                           });
  }
};

}  // namespace wick::gpu
