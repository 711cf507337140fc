// Convolutions with few channels per group, which would leave a matrix product's tile mostly empty.
#pragma once
#include "kernels/conv.h"
#include "kernels/planes.h"
#include "kernels/row_groups.h"
#include "scalar/binary.h"

namespace wick::gpu {

// y or the gradient of x: one thread per element.
template <class T>
struct DirectConv {
  struct Args {
    const T *source, *weight;
    T* out;
    PlaneSteps source_steps;
    int64 out_n, out_c;
    int64 weight_group, weight_row, weight_channel, weight_h, weight_w;  // steps
    ConvDim dim[2];
    FastDivide stride[2];
    FastDivide rows;  // of a group
    int32 channels;
    bool transposed;
    PlaneRows places;
  };
  static constexpr int kThreads = 256;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {ceil_div(a.places.numel, kThreads)}; }
  template <class Ctx>
  struct Shared {};

  /// Whether a pixel reads inside of the source through a tap, and the coordinate it reads.
  static WICK_DEVICE bool find(const Args& a, int d, int place, int tap, int* at) {
    const ConvDim& dim = a.dim[d];
    if (a.transposed) {
      const int start = place + dim.padding - tap * dim.dilation;
      if (start < 0) return false;
      *at = int(a.stride[d].quotient(start));
      return *at * dim.stride == start && *at < dim.source_size;
    }
    *at = place * dim.stride + tap * dim.dilation - dim.padding;
    return uint32(*at) < uint32(dim.source_size);
  }

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    using C = Compute<T>;
    const int index = ctx.block().x * kThreads + ctx.thread();
    if (index >= a.places.numel) return;
    const PlaneRows::Element p = a.places.place(index);
    const int group = a.rows.quotient(uint32(p.c)), row = int(p.c) - group * a.rows.divisor;
    const T* const source =
        a.source + p.n * a.source_steps.n + int64(group) * a.channels * a.source_steps.c;
    const T* const weight = a.weight + group * a.weight_group + row * a.weight_row;
    C sum = 0;
    for (int tap_h = 0; tap_h < a.dim[0].kernel; tap_h++) {
      int h, w;
      if (!find(a, 0, int(p.h), tap_h, &h)) continue;
      for (int tap_w = 0; tap_w < a.dim[1].kernel; tap_w++) {
        if (!find(a, 1, int(p.w), tap_w, &w)) continue;
        const T* x = source + h * a.source_steps.h + w * a.source_steps.w;
        const T* y = weight + tap_h * a.weight_h + tap_w * a.weight_w;
        for (int c = 0; c < a.channels; c++) {
          sum = fma(widen<C>(*x), widen<C>(*y), sum);
          x += a.source_steps.c, y += a.weight_channel;
        }
      }
    }
    a.out[p.n * a.out_n + p.c * a.out_c + p.h * a.dim[1].out_size + p.w] = narrow<T>(sum);
  }
};

template <class T>
struct DirectConvLaunch {
  static constexpr int64 kMaxRows = 4;  // of a group
  static const char* accepts(const Call& call, const DeviceInfo&) {
    const Convolution c(call);
    if (const char* why = c.check()) return why;
    return c.rows > kMaxRows ? "groups have more than 4 channels" : check_planes(c.out);
  }
  static Status run(const Call& call) {
    const Convolution c(call);
    typename DirectConv<T>::Args args{};
    args.source = c.source.as<const T>(), args.weight = c.weight.as<const T>();
    args.out = c.out.as<T>();
    args.source_steps = PlaneSteps::of(c.source);
    args.out_n = c.out.shape[1] * c.places(), args.out_c = c.places();
    args.weight_group = c.weight.shape[0] / c.a.groups * c.weight.strides[0];
    args.weight_row = c.weight.strides[c.transposed];
    args.weight_channel = c.weight.strides[!c.transposed];
    args.weight_h = c.weight.strides[2], args.weight_w = c.weight.strides[3];
    for (int d = 0; d < 2; d++) {
      args.dim[d] = c.dim(d);
      args.stride[d] = FastDivide::by(c.a.stride[d]);
    }
    args.rows = FastDivide::by(c.rows);
    args.channels = int32(c.channels);
    args.transposed = c.transposed;
    return for_plane_rows(c.out, [&](const PlaneRows& places) {
      args.places = places;
      return launch<DirectConv<T>>(args, call);
    });
  }
};

// The weight gradient: one block per element and piece. The order of addition depends on the
// piece's length alone.
template <class T>
struct DirectConvWeight {
  using C = Compute<T>;
  using Args = ConvWeightArgs<T>;
  static constexpr int kThreads = 256;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return conv_weight_grid(a); }
  template <class Ctx>
  using Shared = Partials<Ctx, C>;

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const auto place = a.place(ctx);
    const WindowColumn column = WindowColumn::of(a, place.n);
    const T* const y = place.y + place.m * a.y_c;
    const T* const x = place.x + column.offset;
    C sum = 0;
    for (int at = place.first + ctx.thread(); at < place.end; at += kThreads) {
      const auto p = a.pixel(at);
      const int h = p.h * a.stride[0] - a.padding[0], w = p.w * a.stride[1] - a.padding[1];
      if (uint32(h + column.h) < uint32(a.height) && uint32(w + column.w) < uint32(a.width))
        sum = fma(widen<C>(y[p.n * a.y_n + p.h * a.y_h + p.w * a.y_w]),
                  widen<C>(x[p.n * a.x_n + h * a.x_h + w * a.x_w]), sum);
    }
    sum = combine_block<Add>(ctx, shared.partial, sum);
    if (ctx.thread() == 0) place.sums[int64(place.m) * a.columns + place.n] = sum;
  }
};

template <class T>
struct DirectConvWeightLaunch {
  static constexpr Signature signature{kConvWeightGradient, kDTypeOf<T>};
  static constexpr int64 kLeast = 256;  // pixels of a piece

  static const char* accepts(const Call& call, const DeviceInfo&) {
    const ConvWeightGradient c(call);
    if (const char* why = c.check()) return why;
    return c.rows * c.channels * c.taps > 64 ? "groups have more than 64 weights" : nullptr;
  }
  static int64 scratch_bytes(const Call& call, const DeviceInfo&) {
    return ConvWeightGradient(call).scratch_bytes(1, 1, kLeast, sizeof(Compute<T>));
  }
  static Status run(const Call& call) {
    return ConvWeightGradient(call).run<T>(call, 1, 1, kLeast, [&](const ConvWeightArgs<T>& args) {
      return launch<DirectConvWeight<T>>(args, call);
    });
  }
};

}  // namespace wick::gpu
