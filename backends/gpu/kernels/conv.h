// Convolutions as products whose second operand is gathered on its way into shared memory, never
// written out (implicit GEMM), for each group:
//
//   conv                  y[o, pixel of y]     = sum over taps and c of weight[o, (tap, c)] x
//   conv_input_gradient   x[c, pixel of x]     = sum over taps and o of weight[(tap, o), c] y
//   conv_weight_gradient  weight[o, (tap, c)]  = sum over pixels of y[o, pixel of y] x
//
// The gradient of the input processes pixels in classes of equal coordinates modulo the stride. The
// pixels of a class use the same taps, and neighbouring pixels read neighbouring elements, as in a
// convolution of stride 1. This file describes a call on the host and in a launch. The kernels:
// conv_direct.h for few channels per group, conv_matrix.h on matrix units, conv_tiled.h everywhere.
#pragma once
#include "kernels/common.h"
#include "wick/abi/ops/conv.h"

namespace wick::gpu {

/// One dim of a class of pixels: pixel p reads source[p * stride + tap * dilation + offset] with
/// weight[first_tap + tap * tap_step], and is written to out[first_out + p * out_step].
struct ConvAxis {
  int32 pixels, taps;
  int32 stride, dilation, offset;
  int32 first_tap, tap_step;
  int32 first_out, out_step;
};

/// One dim of a convolution or of its input gradient.
struct ConvDim {
  int32 source_size, out_size, kernel;
  int32 stride, dilation, padding;
  int32 classes;  // 1 for a convolution
  int32 period;   // distance between the taps of a class
  int32 slots;    // number of classes with taps

  static ConvDim of(bool transposed, const ConvAttributes& a, int d, int64 source, int64 out,
                    int64 kernel) {
    ConvDim dim{int32(source),
                int32(out),
                int32(kernel),
                int32(a.stride[d]),
                int32(a.dilation[d]),
                int32(a.padding[d]),
                1,
                1,
                1};
    if (!transposed) return dim;
    int64 divisor = a.stride[d];  // the greatest common divisor
    for (int64 rest = a.dilation[d]; rest != 0;) {
      const int64 next = divisor % rest;
      divisor = rest, rest = next;
    }
    const int64 period = a.stride[d] / divisor;
    dim.classes = int32(a.stride[d] < out ? a.stride[d] : out);
    dim.period = int32(period);
    dim.slots = int32(period < kernel ? period : kernel);
    return dim;
  }
  WICK_HD ConvAxis axis(bool transposed, int r) const {
    if (!transposed) return {out_size, kernel, stride, dilation, -padding, 0, 1, 0, 1};
    int tap = 0;
    while (tap < slots && (r + padding - tap * dilation) % stride != 0) tap++;
    const bool has_taps = tap < slots;
    return {ceil_div(out_size - r, stride),
            has_taps ? (kernel - 1 - tap) / period + 1 : 0,
            1,
            -int32(int64(period) * dilation / stride),
            has_taps ? (r + padding - tap * dilation) / stride : 0,
            tap,
            period,
            r,
            stride};
  }
  /// The most taps of a class.
  int64 most_taps() const { return ceil_div(kernel, period); }
};

/// A launch of a convolution or of its input gradient.
template <class T>
struct ConvArgs {
  const T* source;
  const T* weight;  // packed for each group and slot (PackWeights)
  T* out;
  int64 source_n, source_c, source_h, source_w;  // strides
  int64 out_n, out_c;                            // strides; a row has dim[1].out_size
  ConvDim dim[2];
  int64 slot_size;  // packed weights per slot
  int32 weight_row;
  int32 images, channels, rows, groups;  // per group: channels summed over, and channels of out
  int32 blocks_m, blocks_n;              // per group and class
  int32 first_class, launched_classes;
  bool transposed;
  bool out_packs;  // aligned groups of 8 pixels are contiguous and aligned in memory

  struct BlockTile {
    const T* source;
    const T* weight;
    T* out;
    ConvAxis h, w;
    int32 m, pixel;  // the block's tile, in tiles
    int32 pixels, k;
  };
  template <class Ctx>
  WICK_DEVICE BlockTile place(const Ctx& ctx) const {
    const int per_group = blocks_m * blocks_n, group = ctx.block().x / per_group;
    const int tile = ctx.block().x - group * per_group, which = first_class + ctx.block().y;
    BlockTile p{};
    p.h = dim[0].axis(transposed, which / dim[1].classes);
    p.w = dim[1].axis(transposed, which % dim[1].classes);
    p.source = source + group * channels * source_c;
    p.out = out + group * rows * out_c;
    p.pixels = images * p.h.pixels * p.w.pixels;
    p.k = p.h.taps * p.w.taps * channels;
    const int slot = p.k > 0 ? p.h.first_tap * dim[1].slots + p.w.first_tap : 0;
    p.weight = weight + (int64(group) * dim[0].slots * dim[1].slots + slot) * slot_size;
    p.pixel = tile / blocks_m, p.m = tile - p.pixel * blocks_m;
    return p;
  }
  /// The offset of a pixel of a class in channel 0 of out.
  WICK_DEVICE int64 offset_of(const BlockTile& p, uint32 pixel) const {
    const uint32 width = p.w.pixels, height = p.h.pixels;
    const uint32 row = pixel / width, w = pixel - row * width;
    const uint32 image = row / height, h = row - image * height;
    return image * out_n + int64(p.h.first_out + h * p.h.out_step) * dim[1].out_size +
           (p.w.first_out + w * p.w.out_step);
  }
};

/// The elements that one pixel reads, all channels of one tap after another: the order of the
/// packed weights.
template <class T>
struct WindowReader {
  const T* image;
  const T* at;  // valid inside of the image
  int64 step_c, step_h, step_w;
  int32 h, w;  // of tap (0, 0)
  int32 height, width;
  int32 channels, taps_h, taps_w, down, right;
  int32 tap_h, tap_w, channel;
  bool any, inside;

  WICK_DEVICE void begin(const ConvArgs<T>& args, const typename ConvArgs<T>::BlockTile& p,
                         uint32 pixel, int k) {
    step_c = args.source_c, step_h = args.source_h, step_w = args.source_w;
    height = args.dim[0].source_size, width = args.dim[1].source_size;
    channels = args.channels, taps_h = p.h.taps, taps_w = p.w.taps;
    down = p.h.dilation, right = p.w.dilation;
    any = pixel < uint32(p.pixels) && p.k > 0;
    const uint32 row = pixel / uint32(p.w.pixels), n = row / uint32(p.h.pixels);
    w = int32(pixel - row * p.w.pixels) * p.w.stride + p.w.offset;
    h = int32(row - n * p.h.pixels) * p.h.stride + p.h.offset;
    image = p.source + n * args.source_n;
    tap_h = tap_w = 0, channel = k;
    settle();
  }
  /// The next element; 0 outside of the image.
  WICK_DEVICE T next() {
    const T x = inside ? *at : T{};
    at += step_c;
    if (++channel == channels) settle();
    return x;
  }
  WICK_DEVICE void skip(int n) {
    channel += n;
    at += n * step_c;
    if (channel >= channels) settle();
  }

 private:
  /// Moves to the tap of the current channel.
  WICK_DEVICE void settle() {
    for (; channel >= channels && tap_h < taps_h; channel -= channels)
      if (++tap_w == taps_w) tap_w = 0, tap_h++;
    const int y = h + tap_h * down, x = w + tap_w * right;
    inside = any && tap_h < taps_h && uint32(y) < uint32(height) && uint32(x) < uint32(width);
    at = inside ? image + channel * step_c + y * step_h + x * step_w : image;
  }
};

// Packs weights for the products of conv and conv_input_gradient: for each group and slot
// [row][(tap, channel)], or [(tap, channel)][row] if rows are inner, padded with zeros. One
// thread per element.
template <class Element>
struct PackWeights {
  struct Args {
    const Element* weight;
    Element* packed;
    int64 group, row, channel, tap_h, tap_w;  // steps
    ConvDim dim[2];
    int32 rows, channels;  // packed
    int32 all_channels;    // of the weight; zeros beyond them
    bool rows_inner;
    FastDivide inner, outer;  // sizes of the packed dims
    int32 numel;
  };
  static constexpr int kThreads = 256;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {ceil_div(a.numel, kThreads)}; }
  template <class Ctx>
  struct Shared {};

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const int index = ctx.block().x * kThreads + ctx.thread();
    if (index >= a.numel) return;
    const int line = a.inner.quotient(index), along = index - line * a.inner.divisor;
    const int part = a.outer.quotient(line), across = line - part * a.outer.divisor;
    const int slots = a.dim[0].slots * a.dim[1].slots, group = part / slots;
    const int slot_h = part % slots / a.dim[1].slots, slot_w = part % a.dim[1].slots;
    const int row = a.rows_inner ? along : across, k = a.rows_inner ? across : along;
    const int tap = k / a.channels, channel = k - tap * a.channels;
    const int taps_w = (a.dim[1].kernel - 1 - slot_w) / a.dim[1].period + 1;
    const int h = slot_h + tap / taps_w * a.dim[0].period;
    const int w = slot_w + tap % taps_w * a.dim[1].period;
    Element x{};
    if (row < a.rows && channel < a.all_channels && h < a.dim[0].kernel)
      x = a.weight[group * a.group + row * a.row + channel * a.channel + h * a.tap_h + w * a.tap_w];
    a.packed[index] = x;
  }
};

// Copies a source [n, c, h, w] of any strides to [n, h, w, group, channel], with zeros for channels
// beyond the last. A block copies kSide channels of kSide pixels through shared memory, so that
// neighbouring threads load neighbouring pixels and store neighbouring channels.
template <class Element>
struct ChannelsLast {
  struct Args {
    const Element* x;
    Element* y;
    int64 n, c, h, w;  // x's steps
    FastDivide height, width;
    int32 channels, padded, parts;  // per group; parts of kSide
    int32 groups, pixels;
  };
  static constexpr int kThreads = 256, kSide = 64, kRows = kThreads / kSide;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {ceil_div(a.pixels, kSide), a.groups * a.parts}; }
  template <class Ctx>
  struct Shared {
    alignas(4) Element tile[kSide][kSide + 2];  // [pixel][channel]: rows begin in different banks
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const int first_pixel = ctx.block().x * kSide;
    const int group = ctx.block().y / a.parts, first = (ctx.block().y - group * a.parts) * kSide;
    load(ctx, shared, a, first_pixel, group, first);
    ctx.sync();
    constexpr int kPacks = kSide / 8;  // of a pixel
    for (int p = ctx.thread(); p < kSide * kPacks; p += kThreads) {
      const int pixel = p / kPacks, channel = p % kPacks * 8;
      if (first_pixel + pixel >= a.pixels || first + channel >= a.padded) continue;
      Pack<Element, 8> pack;
      __builtin_memcpy(&pack, __builtin_assume_aligned(&shared.tile[pixel][channel], 4),
                       sizeof pack);
      store_pack(a.y + (int64(first_pixel + pixel) * a.groups + group) * a.padded + first + channel,
                 pack);
    }
  }

 private:
  template <class Ctx>
  static WICK_DEVICE void load(const Ctx& ctx, Shared<Ctx>& shared, const Args& a, int first_pixel,
                               int group, int first) {
    const int column = ctx.thread() % kSide, pixel = first_pixel + column;
    if (pixel >= a.pixels) return;
    const int row = a.width.quotient(pixel), w = pixel - row * a.width.divisor;
    const int image = a.height.quotient(row), h = row - image * a.height.divisor;
    const Element* const x =
        a.x + image * a.n + h * a.h + w * a.w + int64(group) * a.channels * a.c;
    Element v[kSide / kRows];
    WICK_UNROLL
    for (int i = 0; i < kSide / kRows; i++) {
      const int channel = first + ctx.thread() / kSide + i * kRows;
      v[i] = channel < a.channels ? x[channel * a.c] : Element{};
    }
    WICK_UNROLL
    for (int i = 0; i < kSide / kRows; i++)
      shared.tile[column][ctx.thread() / kSide + i * kRows] = v[i];
  }
};

/// A call on the host. source and out: x and y of conv, y and x of its input gradient.
struct Convolution {
  bool transposed;
  ConvAttributes a;
  View source;  // as the kernels read it
  const View &weight, &out;
  int64 rows, channels;  // per group

  explicit Convolution(const Call& call)
      : transposed(*call.op == kConvInputGradient),
        a(*static_cast<const ConvAttributes*>(call.attributes)),
        source(call.in[0]),
        weight(call.in[1]),
        out(call.out[0]) {
    const int64 outputs = weight.shape[0] / a.groups;
    rows = transposed ? weight.shape[1] : outputs;
    channels = transposed ? outputs : weight.shape[1];
  }
  ConvDim dim(int d) const {
    return ConvDim::of(transposed, a, d, source.shape[2 + d], out.shape[2 + d],
                       weight.shape[2 + d]);
  }
  /// The output pixels of an image, the columns of the product, and its k.
  int64 places() const { return out.shape[2] * out.shape[3]; }
  int64 taps() const { return weight.shape[2] * weight.shape[3]; }

  /// Checks that 32-bit coordinates are large enough.
  static const char* check_sizes(const ConvAttributes& a, const View& x, const View& weight,
                                 const View& y) {
    const int64 most = kLaunchLimit / 2;
    for (int d = 0; d < 2; d++)
      if (x.shape[2 + d] > most || a.padding[d] > most || a.stride[d] > most ||
          weight.shape[2 + d] > most || weight.shape[2 + d] * a.dilation[d] > most)
        return "sizes of an image or a window, or steps, are more than 2^29";
    if (x.shape[2] * x.shape[3] > most || y.shape[2] * y.shape[3] > most)
      return "an image has more than 2^29 places";
    if (weight.numel() > most || 4 * weight.shape[0] * weight.shape[1] > most)
      return "the weight has more than 2^29 elements";
    return nullptr;
  }
  const char* check() const {
    if (out.numel() == 0 || weight.numel() == 0) return "nothing to convolve";
    if (!out.contiguous()) return "the output is not contiguous";
    if (const char* why =
            check_sizes(a, transposed ? out : source, weight, transposed ? source : out))
      return why;
    if (packed_numel(true) > kLaunchLimit || packed_numel(false) > kLaunchLimit)
      return "the packed weight has more than 2^30 elements";
    return nullptr;
  }

  // ---- packed weights

  static constexpr int64 kDepth = 64;  // the most of k that a kernel takes at a time
  // Rows, or taps and channels, of a slot are padded to whole steps.
  int64 slots() const { return a.groups * dim(0).slots * dim(1).slots; }
  int64 most_k() const { return dim(0).most_taps() * dim(1).most_taps() * channels; }
  int64 packed_numel(bool rows_inner) const {
    return slots() *
           (rows_inner ? round_up(rows, 4) * most_k() : rows * round_up(most_k(), kDepth));
  }
  template <class T>
  Status pack_weights(const Call& call, bool rows_inner, ConvArgs<T>* args) const {
    using K = PackWeights<Bits<sizeof(T)>>;
    const int64 inner = rows_inner ? round_up(rows, 4) : round_up(most_k(), kDepth);
    const int64 outer = rows_inner ? most_k() : rows;
    args->weight = static_cast<const T*>(call.scratch);
    args->weight_row = int32(inner), args->slot_size = inner * outer;
    typename K::Args pack{};
    pack.weight = weight.as<const Bits<sizeof(T)>>();
    pack.packed = static_cast<Bits<sizeof(T)>*>(call.scratch);
    pack.group = weight.shape[0] / a.groups * weight.strides[0];
    pack.row = weight.strides[transposed], pack.channel = weight.strides[!transposed];
    pack.tap_h = weight.strides[2], pack.tap_w = weight.strides[3];
    pack.dim[0] = dim(0), pack.dim[1] = dim(1);
    pack.rows = int32(rows), pack.channels = int32(channels);
    pack.all_channels = int32(weight.shape[!transposed] / (transposed ? a.groups : 1));
    pack.rows_inner = rows_inner;
    pack.inner = FastDivide::by(inner), pack.outer = FastDivide::by(outer);
    pack.numel = int32(slots() * inner * outer);
    return launch<K>(pack, call);
  }

  // ---- a source with channels last, whose packs are 8 channels of a pixel

  bool has_channel_packs() const {
    bool yes = is_aligned(source.data) && source.strides[1] == 1 && channels % 8 == 0;
    for (int d = 0; d < 4; d++) yes = yes && (d == 1 || source.strides[d] % 8 == 0);
    return yes;
  }
  /// The elements of the copy.
  int64 channels_last_numel() const {
    return source.numel() / source.shape[1] * a.groups * round_up(channels, 8);
  }
  /// Makes `to`, which copy_channels_last writes, the source. Its padding counts as channels.
  void use_channels_last(void* to) {
    channels = round_up(channels, 8);
    const int64 pixel = a.groups * channels;
    source.data = to;
    source.strides[1] = 1, source.strides[3] = pixel;
    source.strides[2] = source.shape[3] * pixel;
    source.strides[0] = source.shape[2] * source.strides[2];
  }
  /// Copies x, the source of the call, to the source in use.
  template <class T>
  Status copy_channels_last(const Call& call) const {
    using Element = Bits<sizeof(T)>;
    using K = ChannelsLast<Element>;
    const View& x = call.in[0];
    typename K::Args copy{};
    copy.x = x.as<const Element>(), copy.y = source.as<Element>();
    copy.n = x.strides[0], copy.c = x.strides[1], copy.h = x.strides[2], copy.w = x.strides[3];
    copy.height = FastDivide::by(x.shape[2]), copy.width = FastDivide::by(x.shape[3]);
    copy.channels = int32(x.shape[1] / a.groups), copy.padded = int32(channels);
    copy.parts = int32(ceil_div<int64>(channels, K::kSide)), copy.groups = int32(a.groups);
    copy.pixels = int32(x.numel() / x.shape[1]);
    return launch<K>(copy, call);
  }

  // ---- launches

  /// Calls launch_part(args, blocks) for parts of the images and classes, one block per tile of
  /// tile_m x tile_n.
  template <class T, class Launch>
  Status for_each_launch(ConvArgs<T> args, int64 tile_m, int64 tile_n,
                         const Launch& launch_part) const {
    args.source_n = source.strides[0], args.source_c = source.strides[1];
    args.source_h = source.strides[2], args.source_w = source.strides[3];
    args.out_n = out.shape[1] * places(), args.out_c = places();
    args.dim[0] = dim(0), args.dim[1] = dim(1);
    args.rows = int32(rows), args.channels = int32(channels), args.groups = int32(a.groups);
    args.transposed = transposed;
    const bool in_order = args.dim[0].classes * args.dim[1].classes == 1;
    args.out_packs = in_order && places() % 8 == 0 && is_aligned(out.data);
    args.blocks_m = int32(ceil_div(rows, tile_m));
    // The first class has the most pixels.
    const ConvAxis h = args.dim[0].axis(transposed, 0), w = args.dim[1].axis(transposed, 0);
    const int64 pixels = int64(h.pixels) * w.pixels;
    constexpr int64 kBlocks = int64(1) << 22, kClasses = 1 << 15;
    int64 step = kLaunchLimit / pixels;
    const int64 by_blocks = kBlocks / (args.blocks_m * a.groups) * tile_n / pixels;
    if (by_blocks < step) step = by_blocks > 1 ? by_blocks : 1;
    const int64 classes = int64(args.dim[0].classes) * args.dim[1].classes;
    for (int64 n = 0; n < out.shape[0]; n += step) {
      const int64 left = out.shape[0] - n;
      args.images = int32(left < step ? left : step);
      args.source = source.as<const T>() + n * args.source_n;
      args.out = out.as<T>() + n * args.out_n;
      args.blocks_n = int32(ceil_div(args.images * pixels, tile_n));
      for (int64 first = 0; first < classes; first += kClasses) {
        args.first_class = int32(first);
        args.launched_classes = int32(classes - first < kClasses ? classes - first : kClasses);
        if (const Status status = launch_part(args); !status.ok()) return status;
      }
    }
    return {};
  }
};

template <class T>
Grid conv_grid(const ConvArgs<T>& a) {
  return {a.groups * a.blocks_m * a.blocks_n, a.launched_classes};
}

// ---- gradients of the weight

/// A launch: every group's sums [o, (tap, c)] over each piece of the pixels, written to scratch.
template <class T>
struct ConvWeightArgs {
  const T *y, *x;
  Compute<T>* sums;  // [piece][group][o][(tap, c)]
  int64 y_n, y_c, y_h, y_w, x_n, x_c, x_h, x_w;
  int32 height, width;  // of x
  FastDivide out_height, out_width;
  int32 stride[2], dilation[2], padding[2];
  int32 rows, channels, groups;  // rows: output channels per group
  int32 kernel_w, columns;       // columns: taps and channels
  int32 pixels, piece;           // per launch, per piece
  int32 pieces, blocks_m, blocks_n;

  struct BlockTile {
    const T *y, *x;
    Compute<T>* sums;
    int32 m, n, first, end;  // the tile, in tiles; pixels
  };
  template <class Ctx>
  WICK_DEVICE BlockTile place(const Ctx& ctx) const {
    const int per_group = blocks_m * blocks_n, group = ctx.block().x / per_group;
    const int tile = ctx.block().x - group * per_group, part = ctx.block().y;
    const int first = part * piece, end = pixels - first < piece ? pixels : first + piece;
    return {y + group * rows * y_c,
            x + group * channels * x_c,
            sums + (int64(part) * groups + group) * rows * columns,
            tile % blocks_m,
            tile / blocks_m,
            first,
            end};
  }
  struct Pixel {
    int32 n, h, w;
  };
  WICK_DEVICE Pixel pixel(uint32 index) const {
    const uint32 row = out_width.quotient(index), n = out_height.quotient(row);
    return {int32(n), int32(row - n * out_height.divisor), int32(index - row * out_width.divisor)};
  }
};

/// A column (tap, c) of the sums, as its offset from the start of a pixel's window.
struct WindowColumn {
  int64 offset;
  int32 h, w;
  template <class T>
  static WICK_DEVICE WindowColumn of(const ConvWeightArgs<T>& a, int column) {
    const int tap = column / a.channels, c = column - tap * a.channels;
    const int tap_h = tap / a.kernel_w, tap_w = tap - tap_h * a.kernel_w;
    if (column >= a.columns) return {0, -(1 << 30), 0};  // outside of every image
    const int h = tap_h * a.dilation[0], w = tap_w * a.dilation[1];
    return {c * a.x_c + h * a.x_h + w * a.x_w, h, w};
  }
};

/// A thread's part of a tile of y or x, rows x depth: one pixel per step, every kStep-th row, so
/// that neighbouring threads read neighbouring elements.
template <class T, int threads, int rows, int depth>
struct PixelTile {
  static constexpr int kStep = threads / depth, kCount = rows / kStep;
  static_assert(kStep * depth == threads && kCount * kStep == rows);
  const ConvWeightArgs<T>* args;
  const T* data;
  int32 row, k, next, end;
  T v[kCount];

  WICK_DEVICE void begin(const ConvWeightArgs<T>& a, const T* from, int thread, int first,
                         int last) {
    args = &a, data = from;
    row = thread / depth, k = thread % depth, next = first + k, end = last;
  }
};
template <class T, int threads, int rows, int depth>
struct OutputTile : PixelTile<T, threads, rows, depth> {
  int32 rows_left;
  WICK_DEVICE void fetch() {
    const ConvWeightArgs<T>& a = *this->args;
    const bool any = this->next < this->end;
    const auto p = a.pixel(any ? this->next : 0);
    const T* const at = this->data + p.n * a.y_n + p.h * a.y_h + p.w * a.y_w;
    WICK_UNROLL
    for (int e = 0; e < this->kCount; e++) {
      const int row = this->row + e * this->kStep;
      this->v[e] = any && row < rows_left ? at[row * a.y_c] : T{};
    }
    this->next += depth;
  }
};
template <class T, int threads, int rows, int depth>
struct WindowTile : PixelTile<T, threads, rows, depth> {
  const WindowColumn* columns;  // in shared memory, of the block's rows
  WICK_DEVICE void fetch() {
    const ConvWeightArgs<T>& a = *this->args;
    const bool any = this->next < this->end;
    const auto p = a.pixel(any ? this->next : 0);
    const int h = p.h * a.stride[0] - a.padding[0], w = p.w * a.stride[1] - a.padding[1];
    const T* const image = this->data + p.n * a.x_n;
    const int64 start = h * a.x_h + w * a.x_w;
    WICK_UNROLL
    for (int e = 0; e < this->kCount; e++) {
      const WindowColumn& column = columns[this->row + e * this->kStep];
      const bool inside =
          any && uint32(h + column.h) < uint32(a.height) && uint32(w + column.w) < uint32(a.width);
      this->v[e] = inside ? image[start + column.offset] : T{};
    }
    this->next += depth;
  }
};

// weight[o, c, tap] = sum over pieces, in order. One thread per element, in the order of the sums.
template <class T>
struct AddPieces {
  struct Args {
    const Compute<T>* sums;
    T* weight;
    int32 pieces, numel, channels, taps;
  };
  static constexpr int kThreads = 256;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {ceil_div(a.numel, kThreads)}; }
  template <class Ctx>
  struct Shared {};

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const int index = ctx.block().x * kThreads + ctx.thread();
    if (index >= a.numel) return;
    Compute<T> sum = 0;
    for (int p = 0; p < a.pieces; p++) sum += a.sums[int64(p) * a.numel + index];
    const int c = index % a.channels, tap = index / a.channels % a.taps;
    const int o = index / a.channels / a.taps;
    a.weight[int64(o) * a.channels * a.taps + c * a.taps + tap] = narrow<T>(sum);
  }
};

/// A call on the host: inputs y and x, output weight.
struct ConvWeightGradient {
  ConvAttributes a;
  const View &y, &x, &weight;
  int64 rows, channels, taps;

  explicit ConvWeightGradient(const Call& call)
      : a(*static_cast<const ConvAttributes*>(call.attributes)),
        y(call.in[0]),
        x(call.in[1]),
        weight(call.out[0]),
        rows(weight.shape[0] / a.groups),
        channels(weight.shape[1]),
        taps(weight.shape[2] * weight.shape[3]) {}

  const char* check() const {
    if (weight.numel() == 0 || y.numel() == 0) return "nothing to convolve";
    if (!weight.contiguous()) return "the output is not contiguous";
    return Convolution::check_sizes(a, x, weight, y);
  }

  /// How the pixels are split: pieces of `piece` pixels, launches of `images` images.
  struct Cut {
    int64 images, launches, piece, pieces;  // pieces: of a launch
    static Cut of(const ConvWeightGradient& c, int64 blocks, int64 least) {
      constexpr int64 kWantedBlocks =
          1024;  // over all pieces: several waves of blocks on the largest cards
      const int64 places = c.y.shape[2] * c.y.shape[3], n = c.y.shape[0];
      Cut cut{};
      cut.images = kLaunchLimit / places < n ? kLaunchLimit / places : n;
      cut.launches = ceil_div(n, cut.images);
      const int64 pixels = cut.images * places;
      const int64 wanted = ceil_div(kWantedBlocks, blocks * cut.launches);
      cut.piece = round_up(ceil_div(pixels, wanted), least);
      cut.pieces = ceil_div(pixels, cut.piece);
      return cut;
    }
  };
  int64 blocks(int64 tile_m, int64 tile_n) const {
    return a.groups * ceil_div(rows, tile_m) * ceil_div(channels * taps, tile_n);
  }
  int64 scratch_bytes(int64 tile_m, int64 tile_n, int64 least, int bytes) const {
    const Cut cut = Cut::of(*this, blocks(tile_m, tile_n), least);
    return cut.launches * cut.pieces * weight.numel() * bytes;
  }
  /// Calls launch_part(args) for parts of the images, then adds up the pieces.
  template <class T, class Launch>
  Status run(const Call& call, int64 tile_m, int64 tile_n, int64 least,
             const Launch& launch_part) const {
    const Cut cut = Cut::of(*this, blocks(tile_m, tile_n), least);
    ConvWeightArgs<T> args{};
    args.y_n = y.strides[0], args.y_c = y.strides[1], args.y_h = y.strides[2];
    args.y_w = y.strides[3];
    args.x_n = x.strides[0], args.x_c = x.strides[1], args.x_h = x.strides[2];
    args.x_w = x.strides[3];
    args.height = int32(x.shape[2]), args.width = int32(x.shape[3]);
    args.out_height = FastDivide::by(y.shape[2]), args.out_width = FastDivide::by(y.shape[3]);
    for (int d = 0; d < 2; d++) {
      args.stride[d] = int32(a.stride[d]), args.dilation[d] = int32(a.dilation[d]);
      args.padding[d] = int32(a.padding[d]);
    }
    args.rows = int32(rows), args.channels = int32(channels), args.groups = int32(a.groups);
    args.kernel_w = int32(weight.shape[3]), args.columns = int32(channels * taps);
    args.piece = int32(cut.piece), args.pieces = int32(cut.pieces);
    args.blocks_m = int32(ceil_div(rows, tile_m));
    args.blocks_n = int32(ceil_div<int64>(args.columns, tile_n));
    auto* const sums = static_cast<Compute<T>*>(call.scratch);
    for (int64 part = 0; part < cut.launches; part++) {
      const int64 first = part * cut.images, left = y.shape[0] - first;
      args.pixels = int32((left < cut.images ? left : cut.images) * y.shape[2] * y.shape[3]);
      args.y = y.as<const T>() + first * args.y_n;
      args.x = x.as<const T>() + first * args.x_n;
      args.sums = sums + part * cut.pieces * weight.numel();
      if (const Status status = launch_part(args); !status.ok()) return status;
    }
    return launch<AddPieces<T>>({sums, weight.as<T>(), int32(cut.launches * cut.pieces),
                                 int32(weight.numel()), int32(channels), int32(taps)},
                                call);
  }
};

template <class T>
Grid conv_weight_grid(const ConvWeightArgs<T>& a) {
  return {a.groups * a.blocks_m * a.blocks_n, a.pieces};
}

/// Adds the kernels of conv_matrix.cpp.
void add_matrix_conv(KernelList&);

}  // namespace wick::gpu
