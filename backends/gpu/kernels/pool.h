// Windows over the last two dims: max_pool, avg_pool and fold. One thread per output element, with
// neighbouring threads along rows. Coordinates have 64 bits, so a plane may have any size.
#pragma once
#include "kernels/planes.h"
#include "scalar/cast.h"
#include "scalar/reduce.h"
#include "wick/abi/ops/pool.h"

namespace wick::gpu {

/// The taps [begin, end) of a window along a dim whose elements are inside of [low, high).
struct Taps {
  int64 start;  // the position of tap 0
  int64 begin, end;

  static WICK_DEVICE Taps of(const PoolAttributes& a, int d, int64 place, int64 low, int64 high) {
    Taps taps{place * a.stride[d] - a.padding[d], 0, a.kernel[d]};
    const int64 dilation = a.dilation[d];
    if (taps.start < low) taps.begin = ceil_div(low - taps.start, dilation);
    if (taps.start + (a.kernel[d] - 1) * dilation >= high)
      taps.end = taps.start < high ? ceil_div(high - taps.start, dilation) : 0;
    return taps;
  }
  WICK_DEVICE int64 count() const { return begin < end ? end - begin : 0; }
};

// Arguments common to the pools. T: the element type; unsigned for all integers.
template <class T>
struct PoolArgs {
  const T* x;
  T* y;
  int64* ids;
  PlaneSteps x_steps, y_steps, id_steps;
  int64 height, width;  // of x
  PoolAttributes attributes;
  PlaneRows rows;
  T flip;  // makes signed integers compare as unsigned ones
};
inline constexpr int kPoolThreads = 256;
inline Grid pool_grid(const PlaneRows& rows) { return {ceil_div(rows.numel, kPoolThreads)}; }

// y = max of the window, with NaN above every number; ids = the position h W + w of the first one.
template <class T>
struct MaxPoolWindows {
  using Args = PoolArgs<T>;
  static constexpr int threads(int) { return kPoolThreads; }
  static Grid grid(int, const Args& a) { return pool_grid(a.rows); }
  template <class Ctx>
  struct Shared {};

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    using C = Compute<T>;
    const int index = ctx.block().x * kPoolThreads + ctx.thread();
    if (index >= a.rows.numel) return;
    const PlaneRows::Element p = a.rows.place(index);
    const Taps high = Taps::of(a.attributes, 0, p.h, 0, a.height);
    const Taps wide = Taps::of(a.attributes, 1, p.w, 0, a.width);
    const int64 down = a.attributes.dilation[0], right = a.attributes.dilation[1];
    const T* const x = a.x + p.n * a.x_steps.n + p.c * a.x_steps.c;
    // If all elements are the lowest value, no element beats it: the first one stays.
    C best = Max::identity<C>();
    int64 at = (high.start + high.begin * down) * a.width + wide.start + wide.begin * right;
    for (int64 kh = high.begin; kh < high.end; kh++) {
      const int64 h = high.start + kh * down;
      const T* const row = x + h * a.x_steps.h;
      for (int64 kw = wide.begin; kw < wide.end; kw++) {
        const int64 w = wide.start + kw * right;
        const T element = row[w * a.x_steps.w];
        bool wins;
        C value;
        if constexpr (kIsFloat<T>) {
          value = widen<C>(element);
          wins = !(value <= best) && best == best;
        } else {
          value = C(element ^ a.flip);
          wins = value > best;
        }
        best = wins ? value : best;
        at = wins ? h * a.width + w : at;
      }
    }
    if constexpr (kIsFloat<T>)
      a.y[a.y_steps.offset(p)] = narrow<T>(best);
    else
      a.y[a.y_steps.offset(p)] = T(best ^ a.flip);
    a.ids[a.id_steps.offset(p)] = at;
  }
};

// y = sum of the window / its divisor.
template <class T>
struct AvgPoolWindows {
  using Args = PoolArgs<T>;
  static constexpr int threads(int) { return kPoolThreads; }
  static Grid grid(int, const Args& a) { return pool_grid(a.rows); }
  template <class Ctx>
  struct Shared {};

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    using C = Compute<T>;
    const int index = ctx.block().x * kPoolThreads + ctx.thread();
    if (index >= a.rows.numel) return;
    const PlaneRows::Element p = a.rows.place(index);
    const PoolAttributes& pool = a.attributes;
    const Taps high = Taps::of(pool, 0, p.h, 0, a.height);
    const Taps wide = Taps::of(pool, 1, p.w, 0, a.width);
    const T* const x = a.x + p.n * a.x_steps.n + p.c * a.x_steps.c;
    C sum = 0;
    for (int64 kh = high.begin; kh < high.end; kh++) {
      const T* const row = x + (high.start + kh * pool.dilation[0]) * a.x_steps.h;
      for (int64 kw = wide.begin; kw < wide.end; kw++)
        sum += widen<C>(row[(wide.start + kw * pool.dilation[1]) * a.x_steps.w]);
    }
    int64 divisor = pool.divisor;
    if (divisor == 0)
      divisor = Taps::of(pool, 0, p.h, -pool.counted[0], a.height + pool.counted[0]).count() *
                Taps::of(pool, 1, p.w, -pool.counted[1], a.width + pool.counted[1]).count();
    // An empty window has divisor 0, and its sum stays 0.
    a.y[a.y_steps.offset(p)] = narrow<T>(sum / C(divisor == 0 ? 1 : divisor));
  }
};

template <template <class> class K, class T>
struct PoolLaunch {
  static const char* accepts(const Call& call, const DeviceInfo&) {
    return check_planes(call.out[0]);
  }
  static Status run(const Call& call) {
    const View &x = call.in[0], &y = call.out[0];
    PoolArgs<T> args{};
    args.x = x.as<const T>(), args.y = y.as<T>();
    args.x_steps = PlaneSteps::of(x), args.y_steps = PlaneSteps::of(y);
    if (call.num_out > 1)
      args.ids = call.out[1].as<int64>(), args.id_steps = PlaneSteps::of(call.out[1]);
    args.height = x.shape[2], args.width = x.shape[3];
    args.attributes = *static_cast<const PoolAttributes*>(call.attributes);
    if constexpr (!kIsFloat<T>)
      if (is_signed(y.dtype)) args.flip = T(T(1) << (8 * sizeof(T) - 1));
    return for_plane_rows(y, [&](const PlaneRows& rows) {
      args.rows = rows;
      return launch<K<T>>(args, call);
    });
  }
};

// x = sum of the elements of all windows that cover it. T: the element type; unsigned for all
// integers, whose sums wrap.
template <class T>
struct FoldWindows {
  struct Args {
    const T* x;
    T* y;
    PlaneSteps steps;    // of x's first two and last two dims
    int64 tap_steps[2];  // of x's dims between
    PlaneSteps y_steps;
    uint32 places[2];
    FastDivide stride[2];
    PoolAttributes attributes;
    PlaneRows rows;
  };
  static constexpr int threads(int) { return kPoolThreads; }
  static Grid grid(int, const Args& a) { return pool_grid(a.rows); }
  template <class Ctx>
  struct Shared {};

  /// Whether tap k of some window is at `at`, counted from the first window's start.
  static WICK_DEVICE bool find(const Args& a, int d, int64 at, int64 k, uint32* place) {
    const int64 start = at - k * a.attributes.dilation[d];
    if (start < 0) return false;
    *place = a.stride[d].quotient(uint32(start));
    return *place * a.stride[d].divisor == uint32(start) && *place < a.places[d];
  }

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    using C = Compute<T>;
    const int index = ctx.block().x * kPoolThreads + ctx.thread();
    if (index >= a.rows.numel) return;
    const PlaneRows::Element p = a.rows.place(index);
    const T* const x = a.x + p.n * a.steps.n + p.c * a.steps.c;
    C sum = 0;
    for (int64 kh = 0; kh < a.attributes.kernel[0]; kh++) {
      uint32 oh, ow;
      if (!find(a, 0, p.h + a.attributes.padding[0], kh, &oh)) continue;
      const T* const row = x + kh * a.tap_steps[0] + oh * a.steps.h;
      for (int64 kw = 0; kw < a.attributes.kernel[1]; kw++)
        if (find(a, 1, p.w + a.attributes.padding[1], kw, &ow))
          sum = C(sum + widen<C>(row[kw * a.tap_steps[1] + ow * a.steps.w]));
    }
    a.y[a.y_steps.offset(p)] = narrow<T>(sum);
  }
};

template <class T>
struct FoldLaunch {
  static const char* accepts(const Call& call, const DeviceInfo&) {
    const View& y = call.out[0];
    const PoolAttributes& a = *static_cast<const PoolAttributes*>(call.attributes);
    for (int d = 0; d < 2; d++)
      if (y.shape[2 + d] + a.padding[d] >= int64(1) << 31 || a.stride[d] >= int64(1) << 31)
        return "rows or columns, with their padding, are more than 2^31";
    return check_planes(y);
  }
  static Status run(const Call& call) {
    const View &x = call.in[0], &y = call.out[0];
    typename FoldWindows<T>::Args args{};
    args.x = x.as<const T>(), args.y = y.as<T>();
    args.steps = {x.strides[0], x.strides[1], x.strides[4], x.strides[5]};
    args.y_steps = PlaneSteps::of(y);
    args.attributes = *static_cast<const PoolAttributes*>(call.attributes);
    for (int d = 0; d < 2; d++) {
      args.tap_steps[d] = x.strides[2 + d];
      args.places[d] = uint32(x.shape[4 + d]);
      args.stride[d] = FastDivide::by(args.attributes.stride[d]);
    }
    return for_plane_rows(y, [&](const PlaneRows& rows) {
      args.rows = rows;
      return launch<FoldWindows<T>>(args, call);
    });
  }
};

}  // namespace wick::gpu
