// The gradients of sdpa. With p = exp(cap(scale q k) + bias - l), delta = sum over d of gy y and
// ds = p (gy v - delta) cap'(scale q k):
//   gq = scale sum over keys of ds k
//   gk = scale sum over rows of ds q
//   gv = sum over rows of p gy
// Three kernels, without atomics: the first computes delta. In the second a block has some rows of
// a key head, and its groups of lanes loop over the keys (gq). In the third a block has some keys,
// and its groups of lanes loop over the rows of the key head (gk, gv).
#pragma once
#include "kernels/attention.h"

namespace wick::gpu {

// delta: one wave per row [b, h, t].
template <class T>
struct SdpaDelta {
  using C = Compute<T>;
  static constexpr int kThreads = 256;
  struct Args {
    C* delta;
    const T *gy, *y;
    HeadStrides gy_strides, y_strides;
    FastDivide queries, all_heads;
    int32 rows, value_dim;
  };
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int wave, const Args& a) { return {ceil_div(a.rows, kThreads / wave)}; }
  template <class Ctx>
  struct Shared {};

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const int row = ctx.block().x * Ctx::kWaves + ctx.wave();
    if (row >= a.rows) return;  // the whole wave
    const int head = int(a.queries.quotient(row)), t = row - head * int(a.queries.divisor);
    const int b = int(a.all_heads.quotient(head)), h = head - b * int(a.all_heads.divisor);
    const T* const gy =
        a.gy + b * a.gy_strides.batch + h * a.gy_strides.head + t * a.gy_strides.row;
    const T* const y = a.y + b * a.y_strides.batch + h * a.y_strides.head + t * a.y_strides.row;
    C sum[1] = {};
    for (int d = ctx.lane(); d < a.value_dim; d += Ctx::kWave)
      sum[0] = fma(widen<C>(gy[d]), widen<C>(y[d]), sum[0]);
    add_lanes<Ctx::kWave>(ctx, sum);
    if (ctx.lane() == 0) a.delta[row] = sum[0];
  }
};

template <class T>
struct GradientArgs {
  using C = Compute<T>;
  T *gq, *gk, *gv;
  const T *gy, *q, *k, *v;
  const int64* positions;
  const C *l, *delta;  // [B, H, T]
  AttentionShape shape;
  HeadStrides gq_strides, gk_strides, gv_strides, gy_strides, q_strides, k_strides, v_strides;
  C scale, soft_cap;
  FastDivide chunks;  // of a key head's rows or keys, one block each
  bool aligned;
  const C* bias;  // added to scores; or nullptr
  HeadStrides bias_strides;
  int64 bias_key;  // the stride between keys
};

/// The number to subtract from a row's scores: l, but infinity if biases hide all keys, whose
/// weights are then 0.
template <class C>
WICK_DEVICE C shift_of(C l) {
  return l == -C(__builtin_inff()) ? C(__builtin_inff()) : l;
}

/// Sums kCount vectors over a block's groups of lanes: within a wave by shuffles, then over the
/// waves through shared memory, in order.
template <class Vector, int kCount, int bucket>
struct GroupSums {
  using C = typename Vector::C;
  static constexpr int kElements = Vector::kElements;
  template <class Ctx>
  struct Shared {
    C sums[Ctx::kWaves][kCount][bucket];
  };
  /// Calls write(i, d, sum) for element d < size of vector i, each from one thread. All threads of
  /// the block must call it. shared may be reused before and after.
  template <class Ctx, class Write>
  static WICK_DEVICE void add(const Ctx& ctx, Shared<Ctx>& shared, C (&x)[kCount][kElements],
                              int size, const Write& write) {
    masks_up<Vector::kLanes, Ctx::kWave>([&]<int mask>() {
      for (int i = 0; i < kCount; i++)
        for (int e = 0; e < kElements; e++) x[i][e] += ctx.template shuffle_xor<mask>(x[i][e]);
    });
    if (ctx.lane() < Vector::kLanes)
      for (int i = 0; i < kCount; i++)
        for (int e = 0; e < kElements; e++)
          shared.sums[ctx.wave()][i][Vector::place(ctx.lane(), e)] = x[i][e];
    ctx.sync();
    for (int j = ctx.thread(); j < kCount * bucket; j += Ctx::kThreads) {
      const int i = j / bucket, d = j % bucket;
      if (d >= size) continue;
      C sum = shared.sums[0][i][d];
      for (int w = 1; w < Ctx::kWaves; w++) sum += shared.sums[w][i][d];
      write(i, d, sum);
    }
    ctx.sync();
  }
};

// gq: block x has some rows of a key head, its groups of lanes stride over the keys.
template <class T, int bucket, int kRows, bool masked>
struct SdpaGradientQ {
  using C = Compute<T>;
  using Vector = HeadVector<T, bucket>;
  using Sums = GroupSums<Vector, kRows, bucket>;
  using Args = GradientArgs<T>;
  static constexpr int kThreads = 256, kElements = Vector::kElements;
  static constexpr int kGroups = kThreads / Vector::kLanes;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) {
    return {int(a.shape.batch * a.shape.key_heads.divisor * a.chunks.divisor)};
  }
  template <class Ctx>
  struct Shared {
    typename Sums::template Shared<Ctx> sums;
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const int lane = ctx.thread() % Vector::kLanes, group = ctx.thread() / Vector::kLanes;
    const int32 head = int32(a.chunks.quotient(ctx.block().x));
    // The last chunks, whose queries attend to the most keys, come first.
    const int32 first_row = (int32(a.chunks.divisor) * (head + 1) - 1 - ctx.block().x) * kRows;
    const int32 b = int32(a.shape.key_heads.quotient(head));
    const int32 g = head - b * int32(a.shape.key_heads.divisor);
    const int32 rows = a.shape.rows();
    C q[kRows][kElements], gy[kRows][kElements], sums[kRows][kElements] = {};
    C l[kRows], delta[kRows];
    const C* bias[masked ? kRows : 1];
    SeenKeys seen[kRows];
    int start = a.shape.keys, end = 0;
    for (int r = 0; r < kRows; r++) {
      // Rows beyond the last read the last one and attend to no key.
      const int32 here = first_row + r < rows ? first_row + r : rows - 1;
      const AttentionRow row = AttentionRow::of(a.shape, g, here);
      Vector::load(a.q + row.offset(a.q_strides, b), lane, a.shape.head_dim, a.aligned, q[r]);
      Vector::load(a.gy + row.offset(a.gy_strides, b), lane, a.shape.value_dim, a.aligned, gy[r]);
      l[r] = a.l[row.index(a.shape, b)];
      if constexpr (masked) {
        l[r] = shift_of(l[r]);
        bias[r] = a.bias + row.offset(a.bias_strides, b);
      }
      delta[r] = a.delta[row.index(a.shape, b)];
      seen[r] = first_row + r < rows ? a.shape.seen(a.positions, b, row.t) : SeenKeys::none();
      if (seen[r].first < seen[r].end) {
        start = seen[r].first < start ? seen[r].first : start;
        end = seen[r].end > end ? seen[r].end : end;
      }
    }
    const T* const keys = a.k + b * a.k_strides.batch + g * a.k_strides.head;
    const T* const values = a.v + b * a.v_strides.batch + g * a.v_strides.head;
    for (int s = start + group; s - group < end; s += kGroups) {
      const int here = s < end ? s : end - 1;
      C k[kElements], v[kElements], dots[2 * kRows];
      Vector::load(keys + here * a.k_strides.row, lane, a.shape.head_dim, a.aligned, k);
      Vector::load(values + here * a.v_strides.row, lane, a.shape.value_dim, a.aligned, v);
      for (int r = 0; r < kRows; r++) {
        dots[2 * r] = Vector::dot(q[r], k);
        dots[2 * r + 1] = Vector::dot(gy[r], v);
      }
      add_lanes<Vector::kLanes>(ctx, dots);
      for (int r = 0; r < kRows; r++) {
        if (!seen[r].has(s)) continue;  // k may be infinite
        auto score = CappedScore<C>::of(dots[2 * r] * a.scale, a.soft_cap);
        if constexpr (masked) score.value += bias[r][s * a.bias_key];
        const C p = exp(score.value - l[r]), ds = p * (dots[2 * r + 1] - delta[r]) * score.slope;
        for (int e = 0; e < kElements; e++) sums[r][e] = fma(ds, k[e], sums[r][e]);
      }
    }
    Sums::add(ctx, shared.sums, sums, a.shape.head_dim, [&](int r, int d, C sum) {
      if (first_row + r >= rows) return;
      const AttentionRow row = AttentionRow::of(a.shape, g, first_row + r);
      a.gq[row.offset(a.gq_strides, b) + d] = narrow<T>(a.scale * sum);
    });
  }
};

// gk and gv: block x has some keys, its groups of lanes stride over the rows of their key head.
template <class T, int bucket, int kKeys, bool masked>
struct SdpaGradientKv {
  using C = Compute<T>;
  using Vector = HeadVector<T, bucket>;
  using Sums = GroupSums<Vector, kKeys, bucket>;
  using Args = GradientArgs<T>;
  static constexpr int kThreads = 256, kElements = Vector::kElements;
  static constexpr int kGroups = kThreads / Vector::kLanes;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) {
    return {int(a.shape.batch * a.shape.key_heads.divisor * a.chunks.divisor)};
  }
  template <class Ctx>
  struct Shared {
    typename Sums::template Shared<Ctx> sums;
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const int lane = ctx.thread() % Vector::kLanes, group = ctx.thread() / Vector::kLanes;
    const int32 head = int32(a.chunks.quotient(ctx.block().x));
    const int32 first = (ctx.block().x - head * int32(a.chunks.divisor)) * kKeys;
    const int32 b = int32(a.shape.key_heads.quotient(head));
    const int32 g = head - b * int32(a.shape.key_heads.divisor);
    const int32 rows = a.shape.rows();
    C k[kKeys][kElements], v[kKeys][kElements];
    C gk[kKeys][kElements] = {}, gv[kKeys][kElements] = {};
    for (int i = 0; i < kKeys; i++) {
      const int64 s = first + i < a.shape.keys ? first + i : a.shape.keys - 1;
      Vector::load(a.k + b * a.k_strides.batch + g * a.k_strides.head + s * a.k_strides.row, lane,
                   a.shape.head_dim, a.aligned, k[i]);
      Vector::load(a.v + b * a.v_strides.batch + g * a.v_strides.head + s * a.v_strides.row, lane,
                   a.shape.value_dim, a.aligned, v[i]);
    }
    for (int i = group; i - group < rows; i += kGroups) {
      const AttentionRow row = AttentionRow::of(a.shape, g, i < rows ? i : rows - 1);
      const SeenKeys seen = i < rows ? a.shape.seen(a.positions, b, row.t) : SeenKeys::none();
      const bool any = seen.first < first + kKeys && first < seen.end;
      if (ctx.ballot(any) == 0) continue;  // the same for the whole wave
      C q[kElements], gy[kElements], dots[2 * kKeys];
      Vector::load(a.q + row.offset(a.q_strides, b), lane, a.shape.head_dim, a.aligned, q);
      Vector::load(a.gy + row.offset(a.gy_strides, b), lane, a.shape.value_dim, a.aligned, gy);
      C l = a.l[row.index(a.shape, b)];
      if constexpr (masked) l = shift_of(l);
      const C delta = a.delta[row.index(a.shape, b)];
      for (int j = 0; j < kKeys; j++) {
        dots[2 * j] = Vector::dot(q, k[j]);
        dots[2 * j + 1] = Vector::dot(gy, v[j]);
      }
      add_lanes<Vector::kLanes>(ctx, dots);
      for (int j = 0; j < kKeys; j++) {
        if (!seen.has(first + j)) continue;  // q and gy may be infinite
        auto score = CappedScore<C>::of(dots[2 * j] * a.scale, a.soft_cap);
        if constexpr (masked)
          score.value += a.bias[row.offset(a.bias_strides, b) + (first + j) * a.bias_key];
        const C p = exp(score.value - l), ds = p * (dots[2 * j + 1] - delta) * score.slope;
        for (int e = 0; e < kElements; e++) {
          gk[j][e] = fma(ds, q[e], gk[j][e]);
          gv[j][e] = fma(p, gy[e], gv[j][e]);
        }
      }
    }
    const auto place = [&](const HeadStrides& strides, int j, int d) {
      return b * strides.batch + g * strides.head + (first + j) * strides.row + d;
    };
    Sums::add(ctx, shared.sums, gk, a.shape.head_dim, [&](int j, int d, C sum) {
      if (first + j < a.shape.keys) a.gk[place(a.gk_strides, j, d)] = narrow<T>(a.scale * sum);
    });
    Sums::add(ctx, shared.sums, gv, a.shape.value_dim, [&](int j, int d, C sum) {
      if (first + j < a.shape.keys) a.gv[place(a.gv_strides, j, d)] = narrow<T>(sum);
    });
  }
};

/// A call of sdpa_gradient or sdpa_masked_gradient, on the host.
template <class T, bool masked>
struct SdpaGradientCall {
  using C = Compute<T>;
  static constexpr Signature signature{masked ? kSdpaMaskedGradient : kSdpaGradient, kDTypeOf<T>};

  static AttentionCall attention(const Call& call) {
    return {call.in[1], call.in[2], call.in[3],
            call.in[4], call.in[7], *static_cast<const SdpaAttributes*>(call.attributes)};
  }
  static const char* check(const Call& call, int most_head_dim) {
    const AttentionCall c = attention(call);
    if (const char* why = c.check(most_head_dim)) return why;
    if (masked && c.attributes.has_first_keys != 0) return "there are a bias and first keys";
    if (const char* why = masked ? c.check_bias(call.in[7]) : nullptr) return why;
    struct Pair {
      const View &x, &like;
      int64 size;
    };
    const int64 d = c.q.shape[3], dv = c.v.shape[3];
    const Pair pairs[] = {{call.in[0], c.q, dv},
                          {call.in[5], c.q, dv},
                          {call.out[0], c.q, d},
                          {call.out[1], c.k, d},
                          {call.out[2], c.k, dv}};
    for (const Pair& p : pairs)
      if (const char* why = AttentionCall::check_heads(p.x, p.like, p.size)) return why;
    return check_vector(call.in[6], c.rows());
  }
  /// The bytes of delta.
  static int64 scratch_bytes(const Call& call, const DeviceInfo&) {
    return attention(call).rows() * int64(sizeof(C));
  }
  /// The arguments of a launch except for chunks.
  static GradientArgs<T> args(const Call& call) {
    const AttentionCall c = attention(call);
    const View &gy = call.in[0], &v = call.in[3];
    const View &gq = call.out[0], &gk = call.out[1], &gv = call.out[2];
    GradientArgs<T> args{};
    args.gq = gq.as<T>(), args.gk = gk.as<T>(), args.gv = gv.as<T>();
    args.gy = gy.as<T>(), args.q = c.q.as<T>(), args.k = c.k.as<T>(), args.v = v.as<T>();
    args.positions = c.positions.as<int64>();
    args.l = call.in[6].as<C>();
    args.delta = static_cast<const C*>(call.scratch);
    args.shape = c.shape();
    args.gq_strides = HeadStrides::of(gq);
    args.gk_strides = HeadStrides::of(gk);
    args.gv_strides = HeadStrides::of(gv);
    args.gy_strides = HeadStrides::of(gy);
    args.q_strides = HeadStrides::of(c.q);
    args.k_strides = HeadStrides::of(c.k);
    args.v_strides = HeadStrides::of(v);
    args.scale = C(c.attributes.scale);
    args.soft_cap = C(c.attributes.soft_cap);
    if (masked) {
      const View& bias = call.in[7];
      args.bias = bias.as<C>();
      args.bias_strides = HeadStrides::of(bias);
      args.bias_key = bias.strides[3];
    }
    args.aligned = heads_are_aligned(gy) && heads_are_aligned(c.q) && heads_are_aligned(c.k) &&
                   heads_are_aligned(v);
    return args;
  }
  static Status launch_delta(const Call& call) {
    const View &gy = call.in[0], &y = call.in[5];
    return launch<SdpaDelta<T>>(
        {static_cast<C*>(call.scratch), gy.as<T>(), y.as<T>(), HeadStrides::of(gy),
         HeadStrides::of(y), FastDivide::by(y.shape[2]), FastDivide::by(y.shape[1]),
         int32(y.shape[0] * y.shape[1] * y.shape[2]), int32(y.shape[3])},
        call);
  }
};

template <class T, bool masked = false>
struct SdpaGradientStreamLaunch : SdpaGradientCall<T, masked> {
  using Base = SdpaGradientCall<T, masked>;
  static const char* accepts(const Call& call, const DeviceInfo&) {
    return Base::check(call, kMaxHeadDim);
  }
  static Status run(const Call& call) {
    [[maybe_unused]] const int64 head_dim = Base::attention(call).larger_dim();
    // One kernel is enough for f8.
    if constexpr (sizeof(T) > 1) {
      if (head_dim <= 64) return run_in<64>(call);
      if (head_dim <= 128) return run_in<128>(call);
    }
    return run_in<256>(call);
  }

 private:
  template <int bucket>
  static Status run_in(const Call& call) {
    // f64 and f8 need to be correct, not fast; more rows of f64 would not fit into registers.
    constexpr bool one = kSame<T, double> || sizeof(T) == 1;
    constexpr int rows = one ? 1 : 4, keys = one ? 1 : 2;
    GradientArgs<T> args = Base::args(call);
    const bool has_rows = call.in[1].numel() > 0;
    if (has_rows) {
      if (const Status status = Base::launch_delta(call); !status.ok()) return status;
      args.chunks = FastDivide::by(ceil_div(args.shape.rows(), rows));
      const Status status = launch<SdpaGradientQ<T, bucket, rows, masked>>(args, call);
      if (!status.ok()) return status;
    }
    if (call.in[2].numel() == 0) return {};
    args.chunks = FastDivide::by(ceil_div(args.shape.keys, keys));
    return launch<SdpaGradientKv<T, bucket, keys, masked>>(args, call);
  }
};

/// Adds the kernels of attention_gradient_matrix.cpp, a separate file because they compile slowly.
void add_matrix_attention_gradient(KernelList&);

}  // namespace wick::gpu
