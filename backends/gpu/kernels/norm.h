// rms_norm, layer_norm and their gradients over the rows of [N, D]: a group of lanes or a block per
// row. A row is read twice, by layer_norm three times; after the first, from registers and cache.
#pragma once
#include "kernels/row_groups.h"
#include "wick/abi/ops/norm.h"

namespace wick::gpu {

// r = 1 / sqrt(mean(x^2) + eps), y = x r weight
template <class T>
struct RmsNorm : RowKernel {
  using C = Compute<T>;
  struct Args {
    T* y;
    C* r;
    const T *x, *weight;
    int64 y_stride, x_stride;  // of rows
    RowGroups groups;
    C eps;
  };
  static constexpr Signature signature{kRmsNorm, kDTypeOf<T>};
  static constexpr int kPack = kFloatPack<T>;
  static constexpr int kResidentBlocks = 6;  // else bf16 uses 56 registers and is 25% slower
  template <class Ctx>
  using Shared = Partials<Ctx, C>;

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const RowPart part = a.groups.template part<kPack>(ctx);
    const bool aligned = a.groups.aligned;
    const HeldRow<T, kPack> x(a.x + part.at(a.x_stride), part, aligned);
    C squares = 0;
    x.each(C(0), [&](uint32, const C(&v)[kPack]) {
      for (int e = 0; e < kPack; e++) squares = fma(v[e], v[e], squares);
    });
    squares = combine_lanes<Sum>(ctx, a.groups, shared.partial, squares);
    if (!part.is_row) return;
    const C r = C(1) / sqrt(squares / C(part.columns) + a.eps);
    if (part.is_first) a.r[part.row] = r;
    T* const y = a.y + part.at(a.y_stride);
    x.each(C(0), [&](uint32 i, C(&v)[kPack]) {
      C w[kPack];
      load_part(a.weight, i, part.columns, aligned, C(0), w);
      for (int e = 0; e < kPack; e++) v[e] = v[e] * r * w[e];
      store_part(y, i, part.columns, aligned, v);
    });
  }

  static const char* accepts(const Call& call, const DeviceInfo&) {
    const View& x = call.in[0];
    if (const char* why = check_rows(x, call.out[0])) return why;
    if (const char* why = check_vector(call.in[1], x.shape[1])) return why;
    return check_vector(call.out[1], x.shape[0]);
  }
  static Status run(const Call& call) {
    const View &x = call.in[0], &weight = call.in[1], &y = call.out[0];
    if (x.numel() == 0) return {};
    return launch<RmsNorm>(
        {y.as<T>(), call.out[1].as<C>(), x.as<T>(), weight.as<T>(), y.strides[0], x.strides[0],
         RowGroups::of<kPack>(call, x, rows_are_aligned(x, y) && is_aligned(weight.data)),
         C(static_cast<const RmsNormAttributes*>(call.attributes)->eps)},
        call);
  }
};

// sum = residual + rms_norm(x), y = rms_norm(sum). A row stays in registers.
template <class T>
struct RmsNormResidual : RowKernel {
  using C = Compute<T>;
  struct Args {
    T *sum, *y;  // contiguous; y: nullptr without a next weight
    const T *x, *weight, *residual, *next_weight;
    int64 x_stride, residual_stride;  // of rows
    RowGroups groups;
    C eps;
  };
  static constexpr Signature signature{kRmsNormResidual, kDTypeOf<T>};
  static constexpr int kPack = kFloatPack<T>;
  static constexpr int kHeld = 4;  // packs of a thread; RowGroups gives each lane of a wave no more
  template <class Ctx>
  using Shared = Partials<Ctx, C>;

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const RowPart part = a.groups.template part<kPack>(ctx);
    const bool aligned = a.groups.aligned;
    const T* const x = a.x + part.at(a.x_stride);
    const T* const residual = a.residual + part.at(a.residual_stride);
    const int64 to = part.at(part.columns);
    C v[kHeld][kPack] = {};
    const auto each_pack = [&](const auto& f) {
      WICK_UNROLL
      for (int p = 0; p < kHeld; p++) {
        const uint32 i = part.first + uint32(p) * part.step;
        if (i < part.columns) f(i, v[p]);
      }
    };
    const auto factor = [&] {
      C squares = 0;
      WICK_UNROLL
      for (int p = 0; p < kHeld; p++) WICK_UNROLL
      for (int e = 0; e < kPack; e++) squares = fma(v[p][e], v[p][e], squares);
      squares = combine_lanes<Sum>(ctx, a.groups, shared.partial, squares);
      return C(1) / sqrt(squares / C(a.groups.columns) + a.eps);
    };
    each_pack([&](uint32 i, C(&h)[kPack]) { load_part(x, i, part.columns, aligned, C(0), h); });
    C r = factor();
    each_pack([&](uint32 i, C(&h)[kPack]) {
      C w[kPack], before[kPack];
      load_part(a.weight, i, part.columns, aligned, C(0), w);
      load_part(residual, i, part.columns, aligned, C(0), before);
      WICK_UNROLL
      for (int e = 0; e < kPack; e++)
        h[e] = widen<C>(narrow<T>(before[e] + h[e] * r * w[e]));  // as it is stored
      store_part(a.sum + to, i, part.columns, aligned, h);
    });
    if (!a.y) return;
    r = factor();
    each_pack([&](uint32 i, C(&h)[kPack]) {
      C w[kPack];
      load_part(a.next_weight, i, part.columns, aligned, C(0), w);
      WICK_UNROLL
      for (int e = 0; e < kPack; e++) h[e] = h[e] * r * w[e];
      store_part(a.y + to, i, part.columns, aligned, h);
    });
  }

  static const char* accepts(const Call& call, const DeviceInfo&) {
    const View &x = call.in[0], &residual = call.in[2], &sum = call.out[0], &y = call.out[1];
    if (const char* why = check_rows(x, residual, sum)) return why;
    if (const char* why = check_vectors(x.shape[1], call.in[1], call.in[3])) return why;
    if (!sum.contiguous() || !y.contiguous()) return "a result is not contiguous";
    return x.shape[1] > kHeld * kPack * RowGroups::kThreads ? "a row does not fit the registers"
                                                            : nullptr;
  }
  static Status run(const Call& call) {
    const View &x = call.in[0], &weight = call.in[1], &residual = call.in[2],
               &next_weight = call.in[3], &sum = call.out[0], &y = call.out[1];
    const auto& attributes = *static_cast<const RmsNormResidualAttributes*>(call.attributes);
    if (x.numel() == 0) return {};
    const bool aligned = rows_are_aligned(x, residual, sum) && is_aligned(y.data) &&
                         is_aligned(weight.data) && is_aligned(next_weight.data);
    return launch<RmsNormResidual>(
        {sum.as<T>(), attributes.has_next ? y.as<T>() : nullptr, x.as<T>(), weight.as<T>(),
         residual.as<T>(), next_weight.as<T>(), x.strides[0], residual.strides[0],
         RowGroups::of<kPack>(call, x, aligned), C(attributes.eps)},
        call);
  }
};

// gx = r (gy weight - x r^2 mean(gy weight x))
template <class T>
struct RmsNormGradient : RowKernel {
  using C = Compute<T>;
  struct Args {
    T* gx;
    const T *gy, *x, *weight;
    const C* r;
    int64 gx_stride, gy_stride, x_stride;  // of rows
    RowGroups groups;
  };
  static constexpr Signature signature{kRmsNormGradient, kDTypeOf<T>};
  static constexpr int kPack = kFloatPack<T>;
  template <class Ctx>
  using Shared = Partials<Ctx, C>;

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const RowPart part = a.groups.template part<kPack>(ctx);
    const bool aligned = a.groups.aligned;
    const T* const x = a.x + part.at(a.x_stride);
    const T* const gy = a.gy + part.at(a.gy_stride);
    C v[kPack], g[kPack], w[kPack];
    const auto load = [&](uint32 i) {
      load_part(x, i, part.columns, aligned, C(0), v);
      load_part(gy, i, part.columns, aligned, C(0), g);
      load_part(a.weight, i, part.columns, aligned, C(0), w);
    };
    C dot = 0;
    for (uint32 i = part.first; i < part.columns; i += part.step) {
      load(i);
      for (int e = 0; e < kPack; e++) dot = fma(g[e] * w[e], v[e], dot);
    }
    dot = combine_lanes<Sum>(ctx, a.groups, shared.partial, dot);
    if (!part.is_row) return;
    const C r = a.r[part.row], back = r * r * (dot / C(part.columns));
    T* const gx = a.gx + part.at(a.gx_stride);
    for (uint32 i = part.first; i < part.columns; i += part.step) {
      load(i);
      for (int e = 0; e < kPack; e++) v[e] = r * (g[e] * w[e] - v[e] * back);
      store_part(gx, i, part.columns, aligned, v);
    }
  }

  static const char* accepts(const Call& call, const DeviceInfo&) {
    const View& x = call.in[1];
    if (const char* why = check_rows(x, call.in[0], call.out[0])) return why;
    if (const char* why = check_vector(call.in[2], x.shape[1])) return why;
    return check_vector(call.in[3], x.shape[0]);
  }
  static Status run(const Call& call) {
    const View &gy = call.in[0], &x = call.in[1], &weight = call.in[2], &gx = call.out[0];
    if (x.numel() == 0) return {};
    return launch<RmsNormGradient>(
        {gx.as<T>(), gy.as<T>(), x.as<T>(), weight.as<T>(), call.in[3].as<C>(), gx.strides[0],
         gy.strides[0], x.strides[0],
         RowGroups::of<kPack>(call, x, rows_are_aligned(x, gy, gx) && is_aligned(weight.data))},
        call);
  }
};

// mean = mean(x), r = 1 / sqrt(mean((x - mean)^2) + eps), y = (x - mean) r weight + bias
template <class T>
struct LayerNorm : RowKernel {
  using C = Compute<T>;
  struct Args {
    T* y;
    C *mean, *r;
    const T *x, *weight;
    const T* bias;             // or nullptr
    int64 y_stride, x_stride;  // of rows
    RowGroups groups;
    C eps;
  };
  static constexpr Signature signature{kLayerNorm, kDTypeOf<T>};
  static constexpr int kPack = kFloatPack<T>;
  static constexpr int kResidentBlocks = 6;  // as of RmsNorm
  template <class Ctx>
  using Shared = Partials<Ctx, C>;

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const RowPart part = a.groups.template part<kPack>(ctx);
    const bool aligned = a.groups.aligned;
    const HeldRow<T, kPack> x(a.x + part.at(a.x_stride), part, aligned);
    C sum = 0;
    x.each(C(0), [&](uint32, const C(&v)[kPack]) {
      for (int e = 0; e < kPack; e++) sum += v[e];
    });
    const C mean = combine_lanes<Sum>(ctx, a.groups, shared.partial, sum) / C(a.groups.columns);
    C squares = 0;
    x.each(mean, [&](uint32, const C(&v)[kPack]) {
      for (int e = 0; e < kPack; e++) squares = fma(v[e] - mean, v[e] - mean, squares);
    });
    squares = combine_lanes<Sum>(ctx, a.groups, shared.partial, squares);
    if (!part.is_row) return;
    const C r = C(1) / sqrt(squares / C(part.columns) + a.eps);
    if (part.is_first) a.mean[part.row] = mean, a.r[part.row] = r;
    T* const y = a.y + part.at(a.y_stride);
    x.each(C(0), [&](uint32 i, C(&v)[kPack]) {
      C w[kPack], b[kPack] = {};
      load_part(a.weight, i, part.columns, aligned, C(0), w);
      for (int e = 0; e < kPack; e++) v[e] = (v[e] - mean) * r * w[e];
      if (a.bias) {
        load_part(a.bias, i, part.columns, aligned, C(0), b);
        for (int e = 0; e < kPack; e++) v[e] += b[e];
      }
      store_part(y, i, part.columns, aligned, v);
    });
  }

  static const char* accepts(const Call& call, const DeviceInfo&) {
    const View& x = call.in[0];
    if (const char* why = check_rows(x, call.out[0])) return why;
    if (const char* why = check_vectors(x.shape[1], call.in[1], call.in[2])) return why;
    return check_vectors(x.shape[0], call.out[1], call.out[2]);
  }
  static Status run(const Call& call) {
    const auto& attributes = *static_cast<const LayerNormAttributes*>(call.attributes);
    const View &x = call.in[0], &weight = call.in[1], &bias = call.in[2], &y = call.out[0];
    if (x.numel() == 0) return {};
    const bool aligned = rows_are_aligned(x, y) && is_aligned(weight.data) && is_aligned(bias.data);
    return launch<LayerNorm>(
        {y.as<T>(), call.out[1].as<C>(), call.out[2].as<C>(), x.as<T>(), weight.as<T>(),
         attributes.has_bias ? bias.as<T>() : nullptr, y.strides[0], x.strides[0],
         RowGroups::of<kPack>(call, x, aligned), C(attributes.eps)},
        call);
  }
};

// gx = r (gy weight - mean(gy weight) - (x - mean) r^2 mean(gy weight (x - mean)))
template <class T>
struct LayerNormGradient : RowKernel {
  using C = Compute<T>;
  struct Args {
    T* gx;
    const T *gy, *x, *weight;
    const C *mean, *r;
    int64 gx_stride, gy_stride, x_stride;  // of rows
    RowGroups groups;
  };
  static constexpr Signature signature{kLayerNormGradient, kDTypeOf<T>};
  static constexpr int kPack = kFloatPack<T>;
  template <class Ctx>
  using Shared = Partials<Ctx, C>;

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const RowPart part = a.groups.template part<kPack>(ctx);
    const bool aligned = a.groups.aligned;
    const T* const x = a.x + part.at(a.x_stride);
    const T* const gy = a.gy + part.at(a.gy_stride);
    const C mean = a.mean[part.at(1)], r = a.r[part.at(1)];
    C d[kPack], g[kPack], w[kPack];  // x - mean, gy weight, weight
    const auto load = [&](uint32 i) {
      load_part(x, i, part.columns, aligned, C(0), d);
      load_part(gy, i, part.columns, aligned, C(0), g);
      load_part(a.weight, i, part.columns, aligned, C(0), w);
      for (int e = 0; e < kPack; e++) d[e] -= mean, g[e] *= w[e];
    };
    C sum = 0, along = 0;
    for (uint32 i = part.first; i < part.columns; i += part.step) {
      load(i);
      for (int e = 0; e < kPack; e++) sum += g[e], along = fma(g[e], d[e], along);
    }
    sum = combine_lanes<Sum>(ctx, a.groups, shared.partial, sum);
    along = combine_lanes<Sum>(ctx, a.groups, shared.partial, along);
    if (!part.is_row) return;
    const C less = sum / C(part.columns), back = r * r * (along / C(part.columns));
    T* const gx = a.gx + part.at(a.gx_stride);
    for (uint32 i = part.first; i < part.columns; i += part.step) {
      load(i);
      for (int e = 0; e < kPack; e++) d[e] = r * (g[e] - less - d[e] * back);
      store_part(gx, i, part.columns, aligned, d);
    }
  }

  static const char* accepts(const Call& call, const DeviceInfo&) {
    const View& x = call.in[1];
    if (const char* why = check_rows(x, call.in[0], call.out[0])) return why;
    if (const char* why = check_vector(call.in[2], x.shape[1])) return why;
    return check_vectors(x.shape[0], call.in[3], call.in[4]);
  }
  static Status run(const Call& call) {
    const View &gy = call.in[0], &x = call.in[1], &weight = call.in[2], &gx = call.out[0];
    if (x.numel() == 0) return {};
    return launch<LayerNormGradient>(
        {gx.as<T>(), gy.as<T>(), x.as<T>(), weight.as<T>(), call.in[3].as<C>(), call.in[4].as<C>(),
         gx.strides[0], gy.strides[0], x.strides[0],
         RowGroups::of<kPack>(call, x, rows_are_aligned(x, gy, gx) && is_aligned(weight.data))},
        call);
  }
};

}  // namespace wick::gpu
