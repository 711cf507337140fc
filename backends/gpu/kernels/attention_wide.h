// sdpa of heads that are too large for the registers of attention_stream.h, such as the heads of
// latent attention (D = 576, Dv = 512, one key head for all query heads). A block holds the results
// of 16 rows of a key head, so 16 query heads read a key once: tiles of keys go through shared
// memory in slices of D, and the threads share out the columns of v. Keys are split as in
// attention_stream.h.
#pragma once
#include "kernels/attention_stream.h"

namespace wick::gpu {

inline constexpr int kMaxWideHeadDim = 4096, kMaxWideValueDim = 512;

/// S: the type of keys and values in memory.
template <class T, class S = T>
struct SdpaWide {
  using C = Compute<T>;
  static constexpr int kThreads = 256, kRows = 16, kKeys = 64;
  static constexpr int kDims = 32;                              // of a slice
  static constexpr int kColumns = kMaxWideValueDim / kThreads;  // of v, of a thread
  static constexpr int kLanes = kThreads / kRows;               // that share a row's scores
  using Args = SdpaArgs<T, S>;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) {
    return {int(a.shape.batch * a.shape.key_heads.divisor * a.chunks.divisor), a.splits};
  }
  template <class Ctx>
  struct Shared {
    C keys[kDims][kKeys + 1], queries[kDims][kRows + 1];
    C weights[kKeys][kRows + 1];  // scores, then their exponentials; kUnseen: not seen
    C factor[kRows], max[kRows], sum[kRows];
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const QueryRows place(ctx.block(), a);
    const int mine = ctx.thread() / kLanes;  // the row whose scores the thread weighs
    SeenKeys seen = SeenKeys::none();
    int first = a.shape.keys, end = 0;
    for (int r = 0; r < kRows; r++) {
      if (!place.is_row(a, r)) continue;
      const SeenKeys of_row = a.shape.seen(a.positions, place.b, place.row(a, r).t);
      if (r == mine) seen = of_row;
      if (of_row.first >= of_row.end) continue;
      first = of_row.first < first ? of_row.first : first;
      end = of_row.end > end ? of_row.end : end;
    }
    if (first < place.first_key) first = place.first_key;
    if (end > place.first_key + a.split_length) end = place.first_key + a.split_length;

    const StoredHead<S> values = a.values_of(place.b, place.g);
    SoftmaxState<C> state{Max::identity<C>(), C(0)};
    C weighted[kRows][kColumns] = {};
    WICK_ROLL
    for (int tile = a.shape.blocks.first_of(first, kKeys); tile < end; tile += kKeys) {
      const int32 moved = a.shape.blocks.moved(place.b, tile);
      score(ctx, shared, a, place, tile, moved, end);
      weigh(ctx, shared, a, place, seen, tile, end, state);
      WICK_UNROLL
      for (int r = 0; r < kRows; r++)
        for (int c = 0; c < kColumns; c++) weighted[r][c] *= shared.factor[r];
      const int count = end - tile < kKeys ? end - tile : kKeys;
      WICK_ROLL
      for (int s = 0; s < count; s++) {
        C v[kColumns];
        WICK_UNROLL
        for (int c = 0; c < kColumns; c++) {
          const int d = ctx.thread() + c * kThreads;
          v[c] = d < a.shape.value_dim ? load_stored<C, 1>(values, moved + tile + s, d).v[0] : C(0);
        }
        WICK_UNROLL
        for (int r = 0; r < kRows; r++) {
          const C p = shared.weights[s][r];
          if (p == kUnseen) continue;  // v may be infinite
          for (int c = 0; c < kColumns; c++) weighted[r][c] = fma(p, v[c], weighted[r][c]);
        }
      }
    }
    if (ctx.thread() % kLanes == 0) shared.max[mine] = state.max, shared.sum[mine] = state.sum;
    ctx.sync_shared();
    store(ctx, shared, a, place, weighted);
  }

 private:
  static constexpr C kUnseen = C(-1);

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
    WICK_DEVICE AttentionRow row(const Args& a, int r) const {
      return AttentionRow::of(a.shape, g, first_row + r);
    }
  };

  /// Writes the products of the rows and the keys `tile` ... below end, each `moved` rows after its
  /// number, to shared.weights. A thread computes 2 x 2 of them.
  template <class Ctx>
  static WICK_DEVICE void score(const Ctx& ctx, Shared<Ctx>& shared, const Args& a,
                                const QueryRows& place, int tile, int32 moved, int end) {
    constexpr int kHalfKeys = kKeys / 2, kHalfRows = kRows / 2;
    static_assert(kHalfKeys * kHalfRows == kThreads);
    const int key = ctx.thread() % kHalfKeys, row = ctx.thread() / kHalfKeys;
    const StoredHead<S> keys = a.keys_of(place.b, place.g);
    const int d = ctx.thread() % kDims;
    C sum[2][2] = {};
    WICK_ROLL
    for (int slice = 0; slice < a.shape.head_dim; slice += kDims) {
      const bool inside = slice + d < a.shape.head_dim;
      WICK_UNROLL
      for (int s = ctx.thread() / kDims; s < kKeys; s += kThreads / kDims)
        shared.keys[d][s] = inside && tile + s < end
                                ? load_stored<C, 1>(keys, moved + tile + s, slice + d).v[0]
                                : C(0);
      WICK_UNROLL
      for (int r = ctx.thread() / kDims; r < kRows; r += kThreads / kDims)
        shared.queries[d][r] =
            inside && place.is_row(a, r)
                ? widen<C>(a.query[place.row(a, r).offset(a.q, place.b) + slice + d]) * a.scale
                : C(0);
      ctx.sync_shared();
      C part[2][2] = {};  // summed by slice, which rounds less than one long sum
      WICK_UNROLL
      for (int i = 0; i < kDims; i++)
        for (int r = 0; r < 2; r++)
          for (int s = 0; s < 2; s++)
            part[r][s] = fma(shared.queries[i][row + r * kHalfRows],
                             shared.keys[i][key + s * kHalfKeys], part[r][s]);
      for (int r = 0; r < 2; r++)
        for (int s = 0; s < 2; s++) sum[r][s] += part[r][s];
      ctx.sync_shared();  // and all are done with the weights of the tile before
    }
    for (int r = 0; r < 2; r++)
      for (int s = 0; s < 2; s++)
        shared.weights[key + s * kHalfKeys][row + r * kHalfRows] = sum[r][s];
    ctx.sync_shared();
  }

  /// Turns a tile's scores to weights, kLanes threads a row. `seen`: of the thread's row.
  template <class Ctx>
  static WICK_DEVICE void weigh(const Ctx& ctx, Shared<Ctx>& shared, const Args& a,
                                const QueryRows& place, const SeenKeys& seen, int tile, int end,
                                SoftmaxState<C>& state) {
    constexpr int kEach = kKeys / kLanes;
    const int r = ctx.thread() / kLanes, lane = ctx.thread() % kLanes;
    const C* const bias = a.bias && place.is_row(a, r)
                              ? a.bias + place.row(a, r).offset(a.bias_strides, place.b)
                              : nullptr;
    C scores[kEach], larger = state.max;
    WICK_UNROLL
    for (int i = 0; i < kEach; i++) {
      const int key = i * kLanes + lane, s = tile + key;
      scores[i] = seen.has(s) && s < end
                      ? CappedScore<C>::of(shared.weights[key][r], a.soft_cap).value
                      : Max::identity<C>();
      if (bias && s < end) scores[i] += bias[s * a.bias_key];
      larger = Max()(larger, scores[i]);
    }
    masks_down<kLanes / 2, 1>(
        [&]<int mask>() { larger = Max()(larger, ctx.template shuffle_xor<mask>(larger)); });
    const C factor = state.raise(larger);
    C sum[1] = {C(0)};
    WICK_UNROLL
    for (int i = 0; i < kEach; i++) {
      const int key = i * kLanes + lane, s = tile + key;
      const bool is_seen = seen.has(s) && s < end;
      const C p = is_seen ? exp(scores[i] - MaxSum<C>::shift(larger)) : kUnseen;
      shared.weights[key][r] = p;
      sum[0] += is_seen ? p : C(0);
    }
    add_lanes<kLanes>(ctx, sum);
    state.sum += sum[0];
    if (lane == 0) shared.factor[r] = factor;
    ctx.sync_shared();
  }

  template <class Ctx>
  static WICK_DEVICE void store(const Ctx& ctx, const Shared<Ctx>& shared, const Args& a,
                                const QueryRows& place, const C (&weighted)[kRows][kColumns]) {
    WICK_UNROLL
    for (int r = 0; r < kRows; r++) {
      if (!place.is_row(a, r)) continue;
      const AttentionRow row = place.row(a, r);
      SoftmaxState<C> state{shared.max[r], shared.sum[r]};
      if (a.partials) {
        C* const to = a.partials + (row.index(a.shape, place.b) * a.splits + ctx.block().y) *
                                       (a.shape.value_dim + 2);
        for (int c = 0; c < kColumns; c++)
          if (const int d = ctx.thread() + c * kThreads; d < a.shape.value_dim)
            to[d] = weighted[r][c];
        if (ctx.thread() == 0)
          to[a.shape.value_dim] = state.max, to[a.shape.value_dim + 1] = state.sum;
        continue;
      }
      const C factor = a.sinks ? state.add_sink(a.sinks[row.h]) : C(1);
      T* const y = a.out + row.offset(a.y, place.b);
      for (int c = 0; c < kColumns; c++)
        if (const int d = ctx.thread() + c * kThreads; d < a.shape.value_dim)
          y[d] = narrow<T>(state.sum == C(0) ? C(0) : weighted[r][c] * factor / state.sum);
      if (ctx.thread() == 0) a.l[row.index(a.shape, place.b)] = state.log_sum();
    }
  }
};

template <class T, bool masked = false, class S = T>
struct SdpaWideLaunch {
  using C = Compute<T>;
  using Stream = SdpaStreamLaunch<T, masked, S>;
  using K = SdpaWide<T, S>;
  static constexpr Signature signature = Stream::signature;

  static const char* accepts(const Call& call, const DeviceInfo&) {
    return Stream::accepts_sizes(call, kMaxWideHeadDim, kMaxWideValueDim, K::kKeys);
  }
  static int64 scratch_bytes(const Call& call, const DeviceInfo&) {
    return cut_of(call).template scratch_bytes<C>(Stream::attention(call));
  }
  static Status run(const Call& call) {
    if (call.in[0].numel() == 0) return {};
    typename K::Args args{};
    Stream::set(args, call, cut_of(call));
    if (const Status status = launch<K>(args, call); !status.ok()) return status;
    return Stream::template merge<kMaxWideValueDim>(args, call);
  }

 private:
  static SdpaCut cut_of(const Call& call) {
    return SdpaCut::of(Stream::attention(call).shape(), K::kRows, 128, 512);
  }
};

}  // namespace wick::gpu
