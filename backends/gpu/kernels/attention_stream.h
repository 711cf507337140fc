// sdpa by streaming: a block holds some rows of a key head in registers, and its groups of lanes
// loop over the keys, each with its own online softmax, and merge their results at the end. There
// is no synchronization before that, so calls with few rows (decoding) are limited by memory
// bandwidth alone. With few blocks the keys are split, and a second kernel merges the splits'
// results. Grids depend on shapes alone: keys beyond the rows' positions are skipped at run time.
#pragma once
#include "kernels/attention.h"
#include "kernels/stored_heads.h"

namespace wick::gpu {

/// The running state of a row's online softmax, not normalised.
template <class C>
struct SoftmaxState {
  C max, sum;
  /// Raises the running maximum to `larger`. Returns the factor by which the caller must scale the
  /// weighted sum.
  WICK_DEVICE C raise(C larger) {
    const C factor = exp(max - MaxSum<C>::shift(larger));
    max = larger;
    sum *= factor;
    return factor;
  }
  /// Adds the weight of a sink, which has no value. Returns the factor of the weighted sum.
  WICK_DEVICE C add_sink(C sink) {
    const C factor = raise(Max()(max, sink));
    sum += exp(sink - MaxSum<C>::shift(max));
    return factor;
  }
  WICK_DEVICE C log_sum() const { return sum == C(0) ? Max::identity<C>() : max + log(sum); }
};

template <class C>
struct StreamArgs {
  const int64* positions;
  C* l;         // [B, H, T]
  C* partials;  // [rows of all key heads, splits, Dv + 2]: weighted sum, max, sum; or nullptr
  AttentionShape shape;
  HeadStrides q, k, v, y;
  const C* bias;  // added to scores; or nullptr
  HeadStrides bias_strides;
  int64 bias_key;  // the stride between keys
  const C* sinks;  // [H]; or nullptr
  C scale, soft_cap;
  FastDivide chunks;  // of a key head's rows, one block each
  int32 splits, split_length;
  bool aligned;
  // For kernels that weigh with powers of 2: a score's weight is 2^(factor (score - max)). The
  // score is q k if it is not transformed, else the capped and scaled score.
  C factor;
  bool transforms;
};

/// S: the type of keys and values in memory.
template <class T, class S = T>
struct SdpaArgs : StreamArgs<Compute<T>>, StoredScales<S> {
  T* out;
  const T* query;
  const S *key, *value;

  WICK_DEVICE StoredHead<S> keys_of(int32 batch, int32 head) const {
    const HeadStrides& at = this->k;
    const S* const x = key + batch * at.batch + head * at.head;
    if constexpr (kSame<S, Eight>)
      return head_of(x, at.row, this->key_scales, this->key_scale_strides, batch, head);
    else
      return {x, at.row};
  }
  WICK_DEVICE StoredHead<S> values_of(int32 batch, int32 head) const {
    const HeadStrides& at = this->v;
    const S* const x = value + batch * at.batch + head * at.head;
    if constexpr (kSame<S, Eight>)
      return head_of(x, at.row, this->value_scales, this->value_scale_strides, batch, head);
    else
      return {x, at.row};
  }

 private:
  static WICK_DEVICE StoredHead<Eight> head_of(const Eight* x, int64 row, const f16* scales,
                                               const HeadStrides& at, int32 batch, int32 head) {
    const bool is_i8 = scales != nullptr;
    const auto any = reinterpret_cast<const f16*>(reinterpret_cast<uint64>(x) & ~uint64(1));
    return {x, row, is_i8 ? scales + batch * at.batch + head * at.head : any, is_i8 ? at.row : 0,
            is_i8};
  }
};

/// How the work is split: the chunks of a key head's rows, and as many splits of the keys as occupy
/// a card of `blocks` blocks, each of a multiple of `least` keys. Splits of several chunks would
/// take more time to merge than they save, unless the chunks leave most of the card idle.
struct SdpaCut {
  int64 chunks, splits, split_length;
  static SdpaCut of(const AttentionShape& shape, int rows, int64 least, int64 blocks) {
    SdpaCut cut{};
    cut.chunks = ceil_div<int64>(shape.rows(), rows);
    const int64 unsplit = shape.batch * shape.key_heads.divisor * cut.chunks;
    cut.splits = blocks / (unsplit > 0 ? unsplit : 1);
    if (cut.splits < 1 || (cut.chunks > 1 && cut.splits < 4)) cut.splits = 1;
    cut.split_length = ceil_div<int64>(ceil_div<int64>(shape.keys, cut.splits), least) * least;
    cut.splits = shape.keys > 0 ? ceil_div<int64>(shape.keys, cut.split_length) : 1;
    return cut;
  }
  /// Holds the results of the splits, for SdpaMerge.
  template <class C>
  int64 scratch_bytes(const AttentionCall& c) const {
    return splits == 1 ? 0 : c.rows() * splits * (c.v.shape[3] + 2) * int64(sizeof(C));
  }
};

template <class T, int bucket, int kRows, class S = T>
struct SdpaStream {
  using C = Compute<T>;
  using Vector = HeadVector<T, bucket>;
  static constexpr int kThreads = 256, kElements = Vector::kElements;
  static constexpr int kGroups = kThreads / Vector::kLanes;
  static constexpr int kUnroll = sizeof(T) == 1 ? 1
                                 : kRows == 1   ? 4
                                                : 2;  // keys of a group at once
  using Args = SdpaArgs<T, S>;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) {
    return {int(a.shape.batch * a.shape.key_heads.divisor * a.chunks.divisor), a.splits};
  }
  template <class Ctx>
  struct Shared {
    C weighted[Ctx::kWaves][kRows][bucket];
    C max[Ctx::kWaves][kRows], sum[Ctx::kWaves][kRows];
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const QueryRows place(ctx.block(), a);
    const int lane = ctx.thread() % Vector::kLanes, group = ctx.thread() / Vector::kLanes;
    const StoredHead<S> keys = a.keys_of(place.b, place.g), values = a.values_of(place.b, place.g);
    C q[kRows][kElements], weighted[kRows][kElements];
    SoftmaxState<C> state[kRows];
    SeenKeys seen[kRows];
    const C* bias[kRows];
    int first = a.shape.keys, end = 0;
    for (int r = 0; r < kRows; r++) {
      const AttentionRow row = place.row(a, r);
      Vector::load(a.query + row.offset(a.q, place.b), lane, a.shape.head_dim, a.aligned, q[r]);
      for (int e = 0; e < kElements; e++) q[r][e] *= a.scale, weighted[r][e] = 0;
      state[r] = {Max::identity<C>(), C(0)};
      bias[r] = a.bias ? a.bias + row.offset(a.bias_strides, place.b) : nullptr;
      seen[r] = place.is_row(a, r) ? a.shape.seen(a.positions, place.b, row.t) : SeenKeys::none();
      if (seen[r].first < seen[r].end) {
        first = seen[r].first < first ? seen[r].first : first;
        end = seen[r].end > end ? seen[r].end : end;
      }
    }
    if (first < place.first_key) first = place.first_key;
    if (end > place.first_key + a.split_length) end = place.first_key + a.split_length;

    const auto key_of = [&](int base, int u) {
      const int s = base + u * kGroups;
      return s < end ? s : end - 1;
    };
    int32 moved[kUnroll];
    if (first < end)
      for (int u = 0; u < kUnroll; u++)
        moved[u] = a.shape.blocks.moved(place.b, key_of(first + group, u));
    for (int base = first + group; base - group < end; base += kUnroll * kGroups) {
      C k[kUnroll][kElements], v[kUnroll][kElements];
      for (int u = 0; u < kUnroll; u++) {
        const int64 row = key_of(base, u) + moved[u];
        moved[u] = a.shape.blocks.moved(place.b, key_of(base + kUnroll * kGroups, u));
        load(keys, row, lane, a.shape.head_dim, a.aligned, k[u]);
        load(values, row, lane, a.shape.value_dim, a.aligned, v[u]);
      }
      C scores[kRows * kUnroll];
      for (int r = 0; r < kRows; r++)
        for (int u = 0; u < kUnroll; u++) scores[r * kUnroll + u] = Vector::dot(q[r], k[u]);
      add_lanes<Vector::kLanes>(ctx, scores);
      for (int r = 0; r < kRows; r++) {
        C larger = state[r].max;
        for (int u = 0; u < kUnroll; u++) {
          const int s = base + u * kGroups;
          C& score = scores[r * kUnroll + u];
          score = seen[r].has(s) && s < end ? CappedScore<C>::of(score, a.soft_cap).value
                                            : Max::identity<C>();
          if (bias[r] && s < end) score += bias[r][s * a.bias_key];
          larger = Max()(larger, score);
        }
        const C factor = state[r].raise(larger);
        for (int e = 0; e < kElements; e++) weighted[r][e] *= factor;
        for (int u = 0; u < kUnroll; u++) {
          const int s = base + u * kGroups;
          if (!seen[r].has(s) || s >= end) continue;  // v may be infinite
          const C p = exp(scores[r * kUnroll + u] - MaxSum<C>::shift(larger));
          state[r].sum += p;
          for (int e = 0; e < kElements; e++) weighted[r][e] = fma(p, v[u][e], weighted[r][e]);
        }
      }
    }
    merge_groups(ctx, shared, weighted, state);
    ctx.sync_shared();
    store(ctx, shared, a, place);
  }

 private:
  /// The elements of a row that the lane holds.
  static WICK_INLINE void load(const StoredHead<S>& head, int64 s, int lane, int size, bool aligned,
                               C (&x)[kElements]) {
    if constexpr (kSame<S, T>) {
      Vector::load(head.data + s * head.row, lane, size, aligned, x);
    } else {
      constexpr int n = Vector::kPack;
      const bool in_packs = aligned && size % n == 0;
      WICK_UNROLL
      for (int p = 0; p < Vector::kPacks; p++) {
        const int d = Vector::place(lane, p * n);
        Pack<C, n> pack{};
        if (in_packs) {
          if (d < size) pack = load_stored<C, n>(head, s, d);
        } else {
          WICK_UNROLL
          for (int e = 0; e < n; e++)
            if (d + e < size) pack.v[e] = load_stored<C, 1>(head, s, d + e).v[0];
        }
        WICK_UNROLL
        for (int e = 0; e < n; e++) x[p * n + e] = pack.v[e];
      }
    }
  }
  struct QueryRows {
    int32 b, g, first_row, first_key;
    WICK_DEVICE QueryRows(const Grid& block, const Args& a) {
      const int32 head = int32(a.chunks.quotient(block.x));
      // The last chunks, whose queries attend to the most keys, come first.
      first_row = (int32(a.chunks.divisor) * (head + 1) - 1 - block.x) * kRows;
      b = int32(a.shape.key_heads.quotient(head));
      g = head - b * int32(a.shape.key_heads.divisor);
      first_key = block.y * a.split_length;
    }
    WICK_DEVICE bool is_row(const Args& a, int r) const { return first_row + r < a.shape.rows(); }
    /// Rows beyond the last read the last one.
    WICK_DEVICE AttentionRow row(const Args& a, int r) const {
      return AttentionRow::of(a.shape, g, is_row(a, r) ? first_row + r : a.shape.rows() - 1);
    }
  };

  /// Merges the groups of a wave and writes the result to shared memory.
  template <class Ctx>
  static WICK_DEVICE void merge_groups(const Ctx& ctx, Shared<Ctx>& shared,
                                       C (&weighted)[kRows][kElements],
                                       SoftmaxState<C> (&state)[kRows]) {
    masks_up<Vector::kLanes, Ctx::kWave>([&]<int mask>() {
      for (int r = 0; r < kRows; r++) {
        SoftmaxState<C> other{ctx.template shuffle_xor<mask>(state[r].max),
                              ctx.template shuffle_xor<mask>(state[r].sum)};
        const C larger = Max()(state[r].max, other.max);
        const C mine = state[r].raise(larger), theirs = other.raise(larger);
        state[r].sum += other.sum;
        for (int e = 0; e < kElements; e++)
          weighted[r][e] =
              weighted[r][e] * mine + ctx.template shuffle_xor<mask>(weighted[r][e]) * theirs;
      }
    });
    const int lane = ctx.lane();
    if (lane >= Vector::kLanes) return;
    for (int r = 0; r < kRows; r++) {
      for (int e = 0; e < kElements; e++)
        shared.weighted[ctx.wave()][r][Vector::place(lane, e)] = weighted[r][e];
      if (lane == 0)
        shared.max[ctx.wave()][r] = state[r].max, shared.sum[ctx.wave()][r] = state[r].sum;
    }
  }
  /// Merges the waves' results, one thread per element.
  template <class Ctx>
  static WICK_DEVICE void store(const Ctx& ctx, const Shared<Ctx>& shared, const Args& a,
                                const QueryRows& place) {
    for (int i = ctx.thread(); i < kRows * bucket; i += kThreads) {
      const int r = i / bucket, d = i % bucket;
      if (d >= a.shape.value_dim || !place.is_row(a, r)) continue;
      C max = shared.max[0][r], sum = 0, weighted = 0;
      for (int w = 1; w < Ctx::kWaves; w++) max = Max()(max, shared.max[w][r]);
      for (int w = 0; w < Ctx::kWaves; w++) {
        const C factor = exp(shared.max[w][r] - MaxSum<C>::shift(max));
        sum += shared.sum[w][r] * factor;
        weighted += shared.weighted[w][r][d] * factor;
      }
      const AttentionRow row = place.row(a, r);
      if (a.partials) {
        C* const to = a.partials + (row.index(a.shape, place.b) * a.splits + ctx.block().y) *
                                       (a.shape.value_dim + 2);
        to[d] = weighted;
        if (d == 0) to[a.shape.value_dim] = max, to[a.shape.value_dim + 1] = sum;
      } else {
        SoftmaxState<C> state{max, sum};
        if (a.sinks) weighted *= state.add_sink(a.sinks[row.h]);
        a.out[row.offset(a.y, place.b) + d] =
            narrow<T>(state.sum == C(0) ? C(0) : weighted / state.sum);
        if (d == 0) a.l[row.index(a.shape, place.b)] = state.log_sum();
      }
    }
  }
};

// Merges the splits' results: one block per row [b, h, t], whose waves share out the splits. most:
// the largest Dv.
template <class T, int most = kMaxHeadDim>
struct SdpaMerge {
  using C = Compute<T>;
  static constexpr int kThreads = 128;
  struct Args {
    T* out;
    C* l;
    const C *partials, *sinks;
    HeadStrides y;
    FastDivide queries, all_heads;
    int32 rows, splits, value_dim;
  };
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {a.rows}; }
  template <class Ctx>
  struct Shared {
    C weighted[Ctx::kWaves][most];
    C sum[Ctx::kWaves];
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const int row = ctx.block().x, lane = ctx.lane();
    const int size = a.value_dim + 2;
    const C* const from = a.partials + int64(row) * a.splits * size;
    C max = Max::identity<C>();
    for (int i = lane; i < a.splits; i += Ctx::kWave)
      max = Max()(max, from[int64(i) * size + a.value_dim]);
    masks_down<Ctx::kWave / 2, 1>(
        [&]<int mask>() { max = Max()(max, ctx.template shuffle_xor<mask>(max)); });
    add_splits(ctx, from, MaxSum<C>::shift(max), a, shared);
    ctx.sync_shared();
    SoftmaxState<C> state{max, C(0)};
    for (int w = 0; w < Ctx::kWaves; w++) state.sum += shared.sum[w];
    const int head = int(a.queries.quotient(row)), t = row - head * int(a.queries.divisor);
    const int b = int(a.all_heads.quotient(head)), h = head - b * int(a.all_heads.divisor);
    const C factor = a.sinks ? state.add_sink(a.sinks[h]) : C(1);
    T* const y = a.out + b * a.y.batch + h * a.y.head + t * a.y.row;
    for (int d = ctx.thread(); d < a.value_dim; d += kThreads) {
      C weighted = 0;
      for (int w = 0; w < Ctx::kWaves; w++) weighted += shared.weighted[w][d];
      y[d] = narrow<T>(state.sum == C(0) ? C(0) : weighted * factor / state.sum);
    }
    if (ctx.thread() == 0) a.l[row] = state.log_sum();
  }

 private:
  /// Sums up every kWaves-th split, a few at once.
  template <class Ctx>
  static WICK_DEVICE void add_splits(const Ctx& ctx, const C* from, C shift, const Args& a,
                                     Shared<Ctx>& shared) {
    constexpr int kPerLane = most / Ctx::kWave, kTogether = most > kMaxHeadDim ? 2 : 4;
    const int size = a.value_dim + 2;
    C sum = 0, weighted[kPerLane] = {};
    WICK_ROLL
    for (int i = ctx.wave(); i < a.splits; i += kTogether * Ctx::kWaves) {
      C part[kTogether][kPerLane], weight[kTogether];
      WICK_UNROLL
      for (int u = 0; u < kTogether; u++) {
        const int split = i + u * Ctx::kWaves;
        const bool is_split = split < a.splits;
        const C* const x = from + int64(is_split ? split : i) * size;
        weight[u] = is_split ? exp(x[a.value_dim] - shift) : C(0);
        sum += is_split ? x[a.value_dim + 1] * weight[u] : C(0);
        WICK_UNROLL
        for (int e = 0; e < kPerLane; e++) {
          const int d = e * Ctx::kWave + ctx.lane();
          part[u][e] = d < a.value_dim ? x[d] : C(0);
        }
      }
      WICK_UNROLL
      for (int u = 0; u < kTogether; u++) WICK_UNROLL
      for (int e = 0; e < kPerLane; e++) weighted[e] += part[u][e] * weight[u];
    }
    WICK_UNROLL
    for (int e = 0; e < kPerLane; e++)
      shared.weighted[ctx.wave()][e * Ctx::kWave + ctx.lane()] = weighted[e];
    if (ctx.lane() == 0) shared.sum[ctx.wave()] = sum;
  }
};

/// S: of k and v; another type than T has no masks.
template <class T, bool masked = false, class S = T>
struct SdpaStreamLaunch {
  using C = Compute<T>;
  static constexpr bool kMixed = !kSame<S, T>;
  static_assert(!masked || !kMixed);
  static constexpr Signature signature{masked   ? kSdpaMasked
                                       : kMixed ? kSdpaMixed
                                                : kSdpa,
                                       kDTypeOf<T>};

  static const char* accepts(const Call& call, const DeviceInfo&) {
    return accepts_sizes(call, kMaxHeadDim, kMaxHeadDim, 1);
  }
  static const char* accepts_sizes(const Call& call, int64 most_head_dim, int64 most_value_dim,
                                   int64 least_block) {
    const AttentionCall c = attention(call);
    if (const char* why = c.check(most_head_dim, most_value_dim, least_block)) return why;
    if (const char* why = AttentionCall::check_heads(call.out[0], c.q, c.v.shape[3])) return why;
    if (const char* why = c.check_sinks(call.in[5])) return why;
    if (const char* why = masked ? c.check_bias(call.in[6]) : nullptr) return why;
    if (const char* why = kMixed ? check_stored(call) : nullptr) return why;
    return check_vector(call.out[1], c.rows());
  }
  static int64 scratch_bytes(const Call& call, const DeviceInfo&) {
    const AttentionCall c = attention(call);
    return cut_of(c.shape()).template scratch_bytes<C>(c);
  }
  static Status run(const Call& call) {
    [[maybe_unused]] const int64 head_dim = attention(call).larger_dim();
    if (call.in[0].numel() == 0) return {};
    // One kernel is enough for f8.
    if constexpr (sizeof(T) > 1) {
      if constexpr (!kMixed)
        if (head_dim <= 64) return run_rows<64>(call);
      if (head_dim <= 128) return run_rows<128>(call);
    }
    return run_rows<256>(call);
  }

  static AttentionCall attention(const Call& call) {
    return {call.in[0], call.in[1], call.in[2],
            call.in[3], call.in[4], *static_cast<const SdpaAttributes*>(call.attributes)};
  }
  /// Sets the arguments of a kernel that splits a call so.
  template <class Args>
  static void set(Args& args, const Call& call, const SdpaCut& cut) {
    const AttentionCall c = attention(call);
    const View &v = call.in[2], &y = call.out[0];
    args.out = y.as<T>();
    args.query = c.q.as<T>();
    args.key = c.k.as<S>();
    args.value = v.as<S>();
    if constexpr (kSame<S, Eight>)
      if (c.k.dtype == DType::kI8) {
        args.key_scales = call.in[6].as<f16>(), args.value_scales = call.in[7].as<f16>();
        args.key_scale_strides = HeadStrides::of(call.in[6]);
        args.value_scale_strides = HeadStrides::of(call.in[7]);
      }
    args.positions = c.positions.as<int64>();
    args.l = call.out[1].as<C>();
    args.partials = cut.splits > 1 ? static_cast<C*>(call.scratch) : nullptr;
    args.shape = c.shape();
    args.sinks = c.attributes.has_sinks != 0 ? call.in[5].as<C>() : nullptr;
    if (masked) {
      const View& bias = call.in[6];
      args.bias = bias.as<C>();
      args.bias_strides = HeadStrides::of(bias);
      args.bias_key = bias.strides[3];
    }
    args.q = HeadStrides::of(c.q);
    args.k = HeadStrides::of(c.k);
    args.v = HeadStrides::of(v);
    args.y = HeadStrides::of(y);
    if (c.has_blocks()) {  // all sequences share the pool
      args.k.batch = args.v.batch = 0;
      if constexpr (kSame<S, Eight>) args.key_scale_strides.batch = 0;
      if constexpr (kSame<S, Eight>) args.value_scale_strides.batch = 0;
    }
    args.scale = C(c.attributes.scale);
    args.soft_cap = C(c.attributes.soft_cap);
    args.chunks = FastDivide::by(cut.chunks);
    args.splits = int32(cut.splits);
    args.split_length = int32(cut.split_length);
    args.aligned = heads_are_aligned(c.q) && heads_are_aligned(c.k) && heads_are_aligned(v);
  }
  /// Merges the results of such a kernel, if it has split the keys.
  template <int most = kMaxHeadDim, class Args>
  static Status merge(const Args& args, const Call& call) {
    if (!args.partials) return {};
    const View& q = call.in[0];
    return launch<SdpaMerge<T, most>>(
        {args.out, args.l, args.partials, args.sinks, args.y, FastDivide::by(q.shape[2]),
         FastDivide::by(q.shape[1]), int32(q.shape[0] * q.shape[1] * q.shape[2]), args.splits,
         args.shape.value_dim},
        call);
  }

 private:
  /// Whether k and v of i8 have scales.
  static const char* check_stored(const Call& call) {
    if (call.in[1].dtype != DType::kI8) return nullptr;
    for (int i = 0; i < 2; i++) {
      const View &x = call.in[1 + i], &scales = call.in[6 + i];
      if (x.shape[3] % kScaleGroup != 0) return "D is no multiple of a group";
      if (const char* why = AttentionCall::check_heads(scales, x, x.shape[3] / kScaleGroup))
        return why;
    }
    return nullptr;
  }
  /// f64 and f8 need to be correct, not fast; four rows of f64 would not fit into registers.
  static constexpr bool kHasFourRows = !kSame<T, double> && sizeof(T) > 1;
  static int rows_of(const AttentionShape& shape) {
    return shape.rows() == 1 || !kHasFourRows ? 1 : 4;
  }
  static SdpaCut cut_of(const AttentionShape& shape) {
    return SdpaCut::of(shape, rows_of(shape), 128, 512);
  }
  template <int bucket>
  static Status run_rows(const Call& call) {
    if constexpr (kHasFourRows)
      if (rows_of(attention(call).shape()) == 4) return run_kernel<bucket, 4>(call);
    return run_kernel<bucket, 1>(call);
  }
  template <int bucket, int rows>
  static Status run_kernel(const Call& call) {
    using K = SdpaStream<T, bucket, rows, S>;
    typename K::Args args{};
    set(args, call, cut_of(attention(call).shape()));
    if (const Status status = launch<K>(args, call); !status.ok()) return status;
    return merge(args, call);
  }
};

}  // namespace wick::gpu
