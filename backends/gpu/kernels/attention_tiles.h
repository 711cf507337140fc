// sdpa on matrix units: a block holds tiles of queries and goes over tiles of keys
// once, with the online softmax of each query in registers. It computes scores transposed, key x
// query: the accumulators of a tile of scores are then, rounded, operands of the product with v,
// and a query's maximum and sum belong to the same lanes as its row of the result, which is
// transposed too. Source: Dao 2023, arXiv:2307.08691.
#pragma once
#include "device/mma.h"
#include "device/round_pair.h"
#include "kernels/attention_stream.h"

namespace wick::gpu {

/// How shared memory holds `keys` rows of k or v: [key][d], or [slot of d][key] of v where
/// fragments load badly by columns; a thread then transposes 2 x 8 elements.
template <class Ctx, class T, int bucket, int keys, bool is_value>
struct KeyLayout {
  using Matrix = typename Ctx::Matrix;
  static constexpr bool kTransposes = is_value && !Matrix::kLoadsColumns;
  static constexpr int kPad = 8;  // spreads rows over the banks; they stay 16-byte aligned
  static constexpr int kStride = (kTransposes ? keys : bucket) + kPad;
  static constexpr int kElements = (kTransposes ? bucket : keys) * kStride;

  /// The element d of v that slot s of a transposed tile holds.
  static WICK_DEVICE int dim_of(int slot) {
    return kTransposes ? slot % (bucket / 8) * 8 + slot / (bucket / 8) : slot;
  }
  /// For k, rows are keys from `key` on, k is d. For v, rows are slots from `slot` on, k is keys.
  static WICK_DEVICE auto load_keys(const Ctx& ctx, const T* shared, int key, int d) {
    return load_rows<Side::kLeft>(ctx, shared + key * kStride + d, kStride);
  }
  static WICK_DEVICE auto load_values(const Ctx& ctx, const T* shared, int slot, int key) {
    if constexpr (kTransposes)
      return load_rows<Side::kLeft>(ctx, shared + slot * kStride + key, kStride);
    else
      return load_columns<Side::kLeft>(ctx, shared + key * kStride + slot, kStride);
  }
};

/// Rows of k or v on their way into shared memory: with asynchronous copies, or through registers,
/// where elements of another type S become T.
template <class Ctx, class T, class S, int bucket, int keys, bool is_value>
struct KeyTile : KeyLayout<Ctx, T, bucket, keys, is_value> {
  using Layout = KeyLayout<Ctx, T, bucket, keys, is_value>;
  using Layout::kElements, Layout::kStride, Layout::kTransposes;
  static constexpr bool kCopies = Ctx::kCopiesAsync;
  static_assert(!kCopies || kSame<S, T>);
  static constexpr int kStagedBytes = 0;
  static constexpr bool kFetchesAhead = false;  // the tile must be read before the next is fetched
  static constexpr int kTogether = kTransposes ? 2 : 1;
  static constexpr int kAllPacks = keys * bucket / 8;
  static constexpr int kPacks =
      ceil_div(kAllPacks, Ctx::kThreads* kTogether) * kTogether;  // of a thread
  // All packs of a thread are of the same part of their rows, and the same number of rows apart.
  static constexpr bool kOneColumn = !kTransposes && Ctx::kThreads % (bucket / 8) == 0;
  static constexpr bool kPadsThreads = kPacks * Ctx::kThreads != kAllPacks;

  StoredHead<S> head;
  int32 head_dim;
  int32 first, end;                                                   // of the tile on its way
  using Words = Either<sizeof(S) == 1, uint64, typename Ctx::Words>;  // 8 elements
  Words words[kCopies ? 1 : kPacks];
  uint32 scales[kSame<S, Eight> ? kPacks : 1];

  WICK_DEVICE KeyTile(const StoredHead<S>& x, int32 size, char*)
      : head(x), head_dim(size), first(0), end(0) {}

  /// Begins to load keys first_key ... of those below end_key, each `moved` rows after its number;
  /// the rest is zeros, or other keys.
  WICK_DEVICE void fetch(const Ctx& ctx, T* shared, int32 first_key, int32 end_key, int64 moved) {
    first = first_key, end = end_key;
    if constexpr (kCopies) {
      copy(ctx, shared, moved);
      ctx.commit_copies();
    } else {
      WICK_UNROLL
      for (int p = 0; p < kPacks; p++) {
        const int key = key_in_tile(ctx.thread(), p), d = dim_in_row(ctx.thread(), p);
        const bool inside = first + key < end && d < head_dim && key < keys;
        // Others load the first key's first elements.
        const int64 from_key = moved + first + (inside ? key : 0);
        const int from_d = inside ? d : 0;
        words[p] = *reinterpret_cast<const Words*>(head.data + from_key * head.row + from_d);
        if constexpr (kSame<S, Eight>) scales[p] = head.scale_bits(from_key, from_d);
      }
    }
  }
  /// Ends the load of this thread's elements.
  WICK_DEVICE void deliver(const Ctx& ctx, T* shared) {
    if constexpr (kCopies) {
      ctx.template wait_copies<0>();
    } else {
      WICK_UNROLL
      for (int p = 0; p < kPacks; p += kTogether) {
        const int key = key_in_tile(ctx.thread(), p), d = dim_in_row(ctx.thread(), p);
        if (kPadsThreads && key >= keys) continue;
        using Halves = Pack<T, 8>;
        Halves pack[kTogether];
        WICK_UNROLL
        for (int q = 0; q < kTogether; q++) {
          pack[q] = converted(p + q);
          // Keys that are not there have weight 0, which would make NaN of infinite values.
          if (is_value && first + keys > end && first + key + q >= end) pack[q] = {};
        }
        if constexpr (kTransposes) {
          for (int e = 0; e < 8; e++)
            store_pack(shared + (e * (bucket / 8) + d / 8) * kStride + key,
                       Pack<T, 2>{pack[0].v[e], pack[1].v[e]});
        } else {
          // Elements of k beyond D meet zeros of q, which would make NaN of infinite ones.
          store_pack(shared + key * kStride + d, d < head_dim ? pack[0] : Halves{});
        }
      }
    }
  }

 private:
  /// The elements of pack p, rounded to T.
  WICK_INLINE Pack<T, 8> converted(int p) const {
    if constexpr (kSame<S, T>) {
      return __builtin_bit_cast(Pack<T, 8>, words[p]);
    } else {
      Pack<T, 8> pack;
      const auto stored = __builtin_bit_cast(Pack<S, 8>, words[p]);
      float x[8];
      if constexpr (kSame<S, Eight>) {
        head.widen_into(stored, head.scale_of(scales[p]), x);
      } else {
        WICK_UNROLL
        for (int e = 0; e < 8; e++) x[e] = to_float(stored.v[e]);
      }
      WICK_UNROLL
      for (int e = 0; e < 8; e++) pack.v[e] = round_to<T>(x[e]);
      return pack;
    }
  }
  WICK_DEVICE void copy(const Ctx& ctx, T* shared, int64 moved) const {
    static_assert(!kPadsThreads);
    if constexpr (kOneColumn) {
      constexpr int kApart = Ctx::kThreads / (bucket / 8);
      const int key = key_in_tile(ctx.thread(), 0), d = dim_in_row(ctx.thread(), 0);
      const int32 left = d < head_dim ? end - first - key : 0;
      const T* from = head.data + (moved + first + key) * head.row + d;
      T* const to = shared + key * kStride + d;
      WICK_UNROLL
      for (int p = 0; p < kPacks; p++, from += kApart * head.row)
        ctx.copy_async(to + p * kApart * kStride, from, p * kApart < left);
    } else {
      WICK_UNROLL
      for (int p = 0; p < kPacks; p++) {
        const int key = key_in_tile(ctx.thread(), p), d = dim_in_row(ctx.thread(), p);
        ctx.copy_async(shared + key * kStride + d, head.data + (moved + first + key) * head.row + d,
                       first + key < end && d < head_dim);
      }
    }
  }
  static WICK_DEVICE int key_in_tile(int thread, int p) {
    return (p / kTogether * Ctx::kThreads + thread) / (bucket / 8) * kTogether + p % kTogether;
  }
  static WICK_DEVICE int dim_in_row(int thread, int p) {
    return (p / kTogether * Ctx::kThreads + thread) % (bucket / 8) * 8;
  }
};

/// Rows of k or v of another type S on their way into shared memory: asynchronous copies bring them
/// there as they are, where each thread reads its own again and writes them as T. The next tile can
/// be on its way as soon as a thread has read its part of this one.
template <class Ctx, class T, class S, int bucket, int keys, bool is_value>
struct StagedTile : KeyLayout<Ctx, T, bucket, keys, is_value> {
  using Layout = KeyLayout<Ctx, T, bucket, keys, is_value>;
  using Layout::kElements, Layout::kStride;
  static_assert(!Layout::kTransposes && !kSame<S, T>);
  static constexpr bool kFetchesAhead = true;
  static constexpr int kPack = 16 / sizeof(S);  // elements of a copy
  static constexpr int kPacks = keys * bucket / kPack / Ctx::kThreads;
  // A thread's packs are of the same part of their rows, kApart rows apart.
  static constexpr int kColumns = bucket / kPack, kApart = Ctx::kThreads / kColumns;
  static_assert(kPacks * kPack * Ctx::kThreads == keys * bucket &&
                kApart * kColumns == Ctx::kThreads);
  static constexpr int kStagedBytes = keys * bucket * int(sizeof(S));
  struct alignas(16) Words {
    uint32 v[4];
  };

  StoredHead<S> head;
  int32 head_dim;
  Words* staged;
  uint32 scales[kSame<S, Eight> ? kPacks : 1];
  int32 inside = 0;  // the keys from the thread's first one on that are there

  /// memory: of kStagedBytes.
  WICK_DEVICE StagedTile(const StoredHead<S>& x, int32 size, char* memory)
      : head(x), head_dim(size), staged(reinterpret_cast<Words*>(memory)) {}

  /// Begins to load keys first_key ... of those below end_key, each `moved` rows after its number;
  /// the rest is zeros.
  WICK_DEVICE void fetch(const Ctx& ctx, T*, int32 first_key, int32 end_key, int64 moved) {
    const int key = first_key + ctx.thread() / kColumns, d = ctx.thread() % kColumns * kPack;
    const int32 left = d < head_dim ? end_key - key : 0;
    const S* from = head.data + (moved + key) * head.row + d;
    WICK_UNROLL
    for (int p = 0; p < kPacks; p++, from += kApart * head.row)
      ctx.copy_async(staged + p * Ctx::kThreads + ctx.thread(), from, p * kApart < left);
    ctx.commit_copies();
    if constexpr (kSame<S, Eight>) {
      inside = left;
      const f16* scale = head.scales + head.scale_at(moved + key, d);
      WICK_UNROLL
      for (int p = 0; p < kPacks; p++, scale += kApart * head.scale_row)
        scales[p] = (p * kApart < left ? scale : head.scales)->bits;
    }
  }
  /// Ends the load of this thread's elements: all copies but the group after them are done.
  WICK_DEVICE void deliver(const Ctx& ctx, T* shared) {
    ctx.template wait_copies<1>();
    if constexpr (kSame<S, Eight>) {
      if (head.is_i8)
        widen(ctx, shared,
              [](uint32 word, float scale, uint32(&y)[2]) { widen_i8_word<T>(word, scale, y); });
      else
        widen(ctx, shared, [](uint32 word, float, uint32(&y)[2]) {
          y[0] = widen_f8_pair<T>(word & 0xffff), y[1] = widen_f8_pair<T>(word >> 16);
        });
    } else {
      convert(ctx, shared);
    }
  }

 private:
  struct alignas(8) HalfWords {
    uint32 v[2];
  };
  WICK_DEVICE T* place(const Ctx& ctx, T* shared, int p) const {
    return shared + ctx.thread() / kColumns * kStride + ctx.thread() % kColumns * kPack +
           p * (kApart * kStride);
  }
  /// Of 8 bits: 8 numbers at a time become 16 bytes. Every other four threads begin with the other
  /// half of theirs, so that neighbours meet different banks, reading and writing.
  template <class F>
  WICK_DEVICE void widen(const Ctx& ctx, T* shared, F&& words_of) const {
    const int other = (ctx.thread() >> 2 ^ ctx.thread() >> 3) & 1;
    WICK_UNROLL
    for (int p = 0; p < kPacks; p++) {
      const auto* const from =
          reinterpret_cast<const HalfWords*>(staged + p * Ctx::kThreads + ctx.thread());
      T* const to = place(ctx, shared, p);
      const float scale = p * kApart < inside ? head.scale_of(scales[p]) : 0;
      WICK_UNROLL
      for (int h = 0; h < 2; h++) {
        const int half = h ^ other;
        const HalfWords words = from[half];
        uint32 y[2][2];
        WICK_UNROLL
        for (int w = 0; w < 2; w++) words_of(words.v[w], scale, y[w]);
        *reinterpret_cast<Words*>(to + 8 * half) = {{y[0][0], y[0][1], y[1][0], y[1][1]}};
      }
    }
  }
  /// Of 16 bits.
  WICK_DEVICE void convert(const Ctx& ctx, T* shared) const {
    WICK_UNROLL
    for (int p = 0; p < kPacks; p++) {
      Words x = staged[p * Ctx::kThreads + ctx.thread()];
      WICK_UNROLL
      for (int w = 0; w < 4; w++)
        x.v[w] = round_pair<T>(to_float(S{uint16(x.v[w])}), to_float(S{uint16(x.v[w] >> 16)}));
      *reinterpret_cast<Words*>(place(ctx, shared, p)) = x;
    }
  }
};

/// The first and the last of the keys that a block's rows attend to, and those that all attend to.
struct alignas(16) KeyRange {
  int32 first, end, all_first, all_end;
};

/// The KeyRange of rows that attend to keys first[r] to end[r] - 1, r < rows. A wave operation.
template <class Ctx>
WICK_DEVICE KeyRange key_range(const Ctx& ctx, const int32* first, const int32* end, int rows,
                               int32 keys) {
  KeyRange x{keys, 0, 0, keys};
  WICK_ROLL
  for (int r = ctx.lane(); r < rows; r += Ctx::kWave) {
    const int32 f = first[r], e = end[r];
    if (f < e) x.first = f < x.first ? f : x.first;
    if (f < e) x.end = e > x.end ? e : x.end;
    x.all_first = f > x.all_first ? f : x.all_first;
    x.all_end = e < x.all_end ? e : x.all_end;
  }
  const auto smaller = [](int32 p, int32 q) { return p < q ? p : q; };
  const auto larger = [](int32 p, int32 q) { return p > q ? p : q; };
  masks_down<Ctx::kWave / 2, 1>([&]<int mask>() {
    x.first = smaller(x.first, ctx.template shuffle_xor<mask>(x.first));
    x.end = larger(x.end, ctx.template shuffle_xor<mask>(x.end));
    x.all_first = larger(x.all_first, ctx.template shuffle_xor<mask>(x.all_first));
    x.all_end = smaller(x.all_end, ctx.template shuffle_xor<mask>(x.all_end));
  });
  return x;
}

inline constexpr float kLog2E = 1.44269504f;
inline constexpr int kMaxTileKeys = 64;

/// bucket: at least D and Dv. groups: tiles of 16 rows per wave; one for few rows, when the other
/// waves only help to load, and more blocks fit on the card. masked: with biases (more registers).
/// S: the type of keys and values in memory.
template <class T, int bucket, int groups, bool masked, class S = T>
struct SdpaTiles {
  static constexpr bool kUsesMatrix = true, kSumsByLayout = true;
  static constexpr int kWaves = 4, kGroups = groups;
  static constexpr int kRows = 16 * kGroups * kWaves;  // of a block; a wave has 16 of each group
  static constexpr int kFragmentsD = bucket / 16;
  // A key whose score is the reference of its row weighs 2^kRaise: f16 has few numbers below 1 to
  // round to. The reference is at most kSlack powers of two below the row's running maximum:
  // results are rarely scaled, and weights of at most 2^(kRaise + kSlack) stay finite.
  static constexpr float kRaise = kSame<T, f16> ? 14 : 0;
  static constexpr float kSlack = kSame<T, f16> ? 1 : 8;
  static constexpr int kResidentBlocks = groups == 1 && bucket <= 128 ? 3 : 2;
  static constexpr int kLeastWaves = bucket <= 128 ? 2 : 1;
  using Args = SdpaArgs<T, S>;
  static constexpr int threads(int wave) { return kWaves * wave; }
  static Grid grid(int, const Args& a) {
    return {int(a.shape.batch * a.shape.key_heads.divisor * a.chunks.divisor), a.splits};
  }

  /// Device differences. AMD's have 64 KiB of shared memory for all blocks of a compute unit; with
  /// waves of 64 they have registers for the queries too, with waves of 32 for one group.
  template <class Ctx>
  struct Parts {
    using Matrix = typename Ctx::Matrix;
    static constexpr bool kHoldsQueries = Ctx::kWave == 64;  // in registers
    static constexpr int kAtOnce = Ctx::kCopiesAsync || kHoldsQueries ? kGroups : 1;
    static constexpr bool kStages = Ctx::kCopiesAsync && !kSame<S, T>;
    static constexpr int kKeys = kStages && sizeof(S) > 1         ? 32
                                 : Ctx::kCopiesAsync              ? (bucket <= 128 ? 64 : 32)
                                 : kHoldsQueries&& bucket <= 64   ? 64
                                 : kHoldsQueries || bucket <= 128 ? 32
                                                                  : 16;
    static constexpr int kSteps = kKeys / 16;
    static_assert(kKeys <= kMaxTileKeys);
    template <bool is_value>
    using Tile = Either<kStages, StagedTile<Ctx, T, S, bucket, kKeys, is_value>,
                        KeyTile<Ctx, T, S, bucket, kKeys, is_value>>;
    using K = Tile<false>;
    using V = Tile<true>;
    static constexpr int kStride = bucket + 8;  // of queries and results
    static constexpr int kQueries = kHoldsQueries ? 0 : kRows * kStride;
    static constexpr int kTiles = K::kElements + V::kElements;
    // One group's results, over the tiles; also over the queries if no further pass needs them.
    static constexpr int kResults = 16 * kWaves * kStride;
    static constexpr int kResultsAt = kAtOnce < kGroups ? kQueries : 0;
    static constexpr int kElements =
        kQueries + kTiles > kResultsAt + kResults ? kQueries + kTiles : kResultsAt + kResults;
    static constexpr int kStagedBytes = K::kStagedBytes + V::kStagedBytes;
    using Query = Operand<T, Matrix>[kHoldsQueries ? kGroups : 1][kHoldsQueries ? kFragmentsD : 1];
    using Result = Sums<Matrix>[kFragmentsD];
    using Scores = Sums<Matrix>[kSteps];
  };
  template <class Ctx>
  struct Shared {
    alignas(16) T tiles[Parts<Ctx>::kElements];  // queries, keys, values; at the end the results
    alignas(16) char staged[Parts<Ctx>::kStagedBytes > 0 ? Parts<Ctx>::kStagedBytes : 16];
    int32 first[kRows], end[kRows];  // the keys that a row attends to
    int64 bias[masked ? kRows : 1];  // where the row's biases begin
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    using P = Parts<Ctx>;
    const QueryRows place(ctx.block(), a);
    store_ranges(ctx, shared, a, place);
    typename P::Query held;
    load_queries(ctx, shared, a, place, held);
    ctx.sync_shared();
    const KeyRange range = range_of(ctx, shared, a, place);
    WICK_ROLL
    for (int g = 0; g < kGroups; g += P::kAtOnce) {
      if (g > 0) ctx.sync_shared();  // the results of the pass before are read
      attend(ctx, shared, a, place, range, held, g);
    }
  }

 private:
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
    /// Rows beyond the last are the last one.
    WICK_DEVICE AttentionRow row(const Args& a, int r) const {
      return AttentionRow::of(a.shape, g, is_row(a, r) ? first_row + r : a.shape.rows() - 1);
    }
  };
  template <class Ctx>
  static WICK_DEVICE int row_of_wave(const Ctx& ctx, int g) {
    return (ctx.wave() * kGroups + g) * 16;
  }

  /// The running state of a wave's 16 rows of a group.
  template <class Ctx>
  struct Group {
    using M = typename Ctx::Matrix;
    typename Parts<Ctx>::Result result;
    float reference[M::kColumns], sum[M::kColumns];
    int32 first[M::kColumns], end[M::kColumns];  // the keys that a row attends to

    WICK_DEVICE void begin(const Ctx& ctx, const Shared<Ctx>& shared, int row, int32 last) {
      WICK_UNROLL
      for (int d = 0; d < kFragmentsD; d++) result[d] = {};
      WICK_UNROLL
      for (int i = 0; i < M::kAccumulator; i++) {
        const int r = row + M::n(ctx.lane(), i), c = M::column(i);
        first[c] = shared.first[r];
        end[c] = shared.end[r] < last ? shared.end[r] : last;
        reference[c] = -__builtin_inff(), sum[c] = 0;
      }
    }
  };

  /// Computes the groups first_group ... of all waves over all keys.
  template <class Ctx>
  static WICK_INLINE void attend(const Ctx& ctx, Shared<Ctx>& shared, const Args& a,
                                 const QueryRows& place, const KeyRange& range,
                                 const typename Parts<Ctx>::Query& held, int first_group) {
    using P = Parts<Ctx>;
    T* const keys_at = shared.tiles + P::kQueries;
    T* const values_at = keys_at + P::K::kElements;
    Group<Ctx> group[P::kAtOnce];
    WICK_UNROLL
    for (int g = 0; g < P::kAtOnce; g++)
      group[g].begin(ctx, shared, row_of_wave(ctx, first_group + g), range.end);
    // Where there is one key, the stride may not be a multiple of a pack's bytes.
    StoredHead<S> keys = a.keys_of(place.b, place.g), values = a.values_of(place.b, place.g);
    if (a.shape.keys == 1) keys.row = values.row = 0;
    typename P::K k(keys, a.shape.head_dim, shared.staged);
    typename P::V v(values, a.shape.value_dim, shared.staged + P::K::kStagedBytes);

    const bool has_rows = place.is_row(a, row_of_wave(ctx, first_group));
    constexpr bool kAhead = P::K::kFetchesAhead;
    const KeyBlocks& blocks = a.shape.blocks;
    const int first_tile = blocks.first_of(range.first, P::kKeys);
    int32 moved = 0, next = 0;  // of the tile, and of the next one
    if (range.first < range.end) {
      moved = blocks.moved(place.b, first_tile);
      next = blocks.moved(place.b, first_tile + P::kKeys);
      k.fetch(ctx, keys_at, first_tile, range.end, moved);
      if (kAhead) v.fetch(ctx, values_at, first_tile, range.end, moved);
    }
    WICK_ROLL
    for (int tile = first_tile; tile < range.end; tile += P::kKeys) {
      const int32 after = blocks.moved(place.b, tile + 2 * P::kKeys);
      k.deliver(ctx, keys_at);
      if (kAhead) k.fetch(ctx, keys_at, tile + P::kKeys, range.end, next);
      ctx.sync_shared();  // and all are done with the values before
      if (!kAhead) v.fetch(ctx, values_at, tile, range.end, moved);
      typename P::Scores scores[P::kAtOnce] = {}, biases[masked ? P::kAtOnce : 1];
      if constexpr (masked) {  // which arrive while the scores are multiplied
        WICK_UNROLL
        for (int g = 0; g < P::kAtOnce; g++)
          load_bias(ctx, shared, a, tile, first_group + g, biases[g]);
        ctx.keep_order();
      }
      if (has_rows) score(ctx, shared, keys_at, held, first_group, scores);
      v.deliver(ctx, values_at);
      if (kAhead) v.fetch(ctx, values_at, tile + P::kKeys, range.end, next);
      ctx.sync_shared();  // and all are done with the keys
      if (!kAhead && tile + P::kKeys < range.end)
        k.fetch(ctx, keys_at, tile + P::kKeys, range.end, next);
      moved = next, next = after;
      if (!has_rows) continue;
      const bool whole = range.all_first <= tile && tile + P::kKeys <= range.all_end;
      WICK_UNROLL
      for (int g = 0; g < P::kAtOnce; g++) {
        if (a.transforms) transform(ctx, a, scores[g]);
        if constexpr (masked) add_bias<Ctx>(biases[g], scores[g]);
        if (!whole) hide(ctx, tile, group[g], scores[g]);
        weigh(ctx, a.factor, group[g], scores[g]);
      }
      add_values(ctx, values_at, scores, group);
    }
    WICK_UNROLL
    for (int g = 0; g < P::kAtOnce; g++) {
      combine_columns(ctx, group[g].sum, [](float x, float y) { return x + y; });
      ctx.sync_shared();  // the memory holds tiles, or the results of the group before
      // Opaque values: else the compiler hoists addresses, which take the loop's registers.
      QueryRows here = place;
      here.first_row = ctx.opaque(place.first_row);
      const int lane = ctx.opaque(ctx.lane());
      if (a.partials)
        store_partials(ctx, a, here, lane, first_group + g, group[g]);
      else
        store_results(ctx, shared, a, here, lane, first_group + g, group[g]);
    }
  }

  /// scores = k qᵀ. The next operand is loaded before the one before it is multiplied.
  template <class Ctx, int count>
  static WICK_INLINE void score(const Ctx& ctx, const Shared<Ctx>& shared, const T* keys_at,
                                const typename Parts<Ctx>::Query& held, int first_group,
                                typename Parts<Ctx>::Scores (&scores)[count]) {
    using P = Parts<Ctx>;
    using M = typename P::Matrix;
    constexpr int kCount = kFragmentsD * P::kSteps;
    const auto key = [&](int n) {
      return P::K::load_keys(ctx, keys_at, 16 * (n % P::kSteps), 16 * (n / P::kSteps));
    };
    const auto query = [&](int g, int d) {
      if constexpr (P::kHoldsQueries)
        return held[g][d];
      else
        return load_rows(ctx,
                         shared.tiles + row_of_wave(ctx, first_group + g) * P::kStride + 16 * d,
                         P::kStride);
    };
    Operand<T, M, Side::kLeft> x[2] = {key(0)};
    Operand<T, M> q[2][count];
    WICK_UNROLL
    for (int g = 0; g < count; g++) q[0][g] = query(g, 0);
    WICK_UNROLL
    for (int d = 0; d < kFragmentsD; d++) {
      WICK_UNROLL
      for (int j = 0; j < P::kSteps; j++) {
        const int n = d * P::kSteps + j;
        if (n + 1 < kCount) x[(n + 1) % 2] = key(n + 1);
        if (j + 1 == P::kSteps && d + 1 < kFragmentsD) {
          WICK_UNROLL
          for (int g = 0; g < count; g++) q[(d + 1) % 2][g] = query(g, d + 1);
        }
        ctx.keep_order();
        WICK_UNROLL
        for (int g = 0; g < count; g++) multiply(ctx, scores[g][j], x[n % 2], q[d % 2][g]);
      }
    }
  }
  /// result += vᵀ weights, of the rounded weights.
  template <class Ctx, int count>
  static WICK_INLINE void add_values(const Ctx& ctx, const T* values_at,
                                     const typename Parts<Ctx>::Scores (&weights)[count],
                                     Group<Ctx> (&group)[count]) {
    using P = Parts<Ctx>;
    using M = typename P::Matrix;
    constexpr int kCount = kFragmentsD * P::kSteps;
    const auto value = [&](int n) {
      return P::V::load_values(ctx, values_at, 16 * (n % kFragmentsD), 16 * (n / kFragmentsD));
    };
    Operand<T, M, Side::kLeft> x[2] = {value(0)};
    Operand<T, M> p[count];
    WICK_UNROLL
    for (int j = 0; j < P::kSteps; j++) {
      WICK_UNROLL
      for (int g = 0; g < count; g++) p[g] = rounded_operand<T>(ctx, weights[g][j]);
      WICK_UNROLL
      for (int d = 0; d < kFragmentsD; d++) {
        const int n = j * kFragmentsD + d;
        if (n + 1 < kCount) x[(n + 1) % 2] = value(n + 1);
        ctx.keep_order();
        WICK_UNROLL
        for (int g = 0; g < count; g++) multiply(ctx, group[g].result[d], x[n % 2], p[g]);
      }
    }
  }

  template <class Ctx>
  static WICK_DEVICE void store_ranges(const Ctx& ctx, Shared<Ctx>& shared, const Args& a,
                                       const QueryRows& place) {
    WICK_ROLL
    for (int r = ctx.thread(); r < kRows; r += Ctx::kThreads) {
      const SeenKeys seen = a.shape.seen(a.positions, place.b, place.row(a, r).t);
      shared.first[r] = seen.first, shared.end[r] = seen.end;
      if constexpr (masked) shared.bias[r] = place.row(a, r).offset(a.bias_strides, place.b);
    }
  }
  template <class Ctx>
  static WICK_DEVICE KeyRange range_of(const Ctx& ctx, const Shared<Ctx>& shared, const Args& a,
                                       const QueryRows& place) {
    KeyRange x = key_range(ctx, shared.first, shared.end, kRows, a.shape.keys);
    const int32 end = place.first_key + a.split_length;
    x.first = x.first > place.first_key ? x.first : place.first_key;
    x.end = x.end < end ? x.end : end;
    x.all_end = x.all_end < x.end ? x.all_end : x.end;
    return x;
  }

  /// Loads the queries into shared memory, or into registers.
  template <class Ctx>
  static WICK_DEVICE void load_queries(const Ctx& ctx, Shared<Ctx>& shared, const Args& a,
                                       const QueryRows& place, typename Parts<Ctx>::Query& held) {
    using P = Parts<Ctx>;
    using M = typename P::Matrix;
    if constexpr (P::kHoldsQueries) {
      WICK_UNROLL
      for (int g = 0; g < kGroups; g++) {
        const int r = row_of_wave(ctx, g) + M::row(ctx.lane(), 0);
        const T* const from = a.query + place.row(a, r).offset(a.q, place.b);
        WICK_UNROLL
        for (int d = 0; d < kFragmentsD; d++) {
          const int at = 16 * d + M::k(ctx.lane(), 0);
          Pack<T, M::kOperand> pack{};
          if (at < a.shape.head_dim) pack = load_pack<M::kOperand>(from + at);
          for (int e = 0; e < M::kOperand; e++) held[g][d].v[e] = pack.v[e];
        }
      }
    } else {
      WICK_ROLL
      for (int p = ctx.thread(); p < kRows * bucket / 8; p += Ctx::kThreads) {
        const int r = p / (bucket / 8), d = p % (bucket / 8) * 8;
        Pack<T, 8> pack{};
        if (d < a.shape.head_dim)
          pack = load_pack<8>(a.query + place.row(a, r).offset(a.q, place.b) + d);
        store_pack(shared.tiles + r * P::kStride + d, pack);
      }
    }
  }

  /// Scaled and capped scores. tanh(x) = 1 - 2 / (1 + e^2x) errs by some 2^-23 of 1, as products of
  /// the scores' size do.
  template <class Ctx>
  static WICK_INLINE void transform(const Ctx& ctx, const Args& a,
                                    typename Parts<Ctx>::Scores& scores) {
    using M = typename Ctx::Matrix;
    const bool caps = a.soft_cap > 0;
    const float twice = caps ? a.scale * (2 * kLog2E) / a.soft_cap : 0;
    WICK_UNROLL
    for (int j = 0; j < Parts<Ctx>::kSteps; j++) {
      WICK_UNROLL
      for (int i = 0; i < M::kAccumulator; i++) {
        float& x = scores[j].v[i];
        x = caps ? a.soft_cap * (1 - 2 * Ctx::reciprocal(1 + Ctx::exp2(x * twice))) : x * a.scale;
      }
      ctx.keep_order();
    }
  }
  /// The biases of a tile's keys; of keys beyond the last, which no row sees, the last one's.
  template <class Ctx>
  static WICK_INLINE void load_bias(const Ctx& ctx, const Shared<Ctx>& shared, const Args& a,
                                    int tile, int g, typename Parts<Ctx>::Scores& biases) {
    using M = typename Ctx::Matrix;
    const float* row[M::kColumns];
    WICK_UNROLL
    for (int i = 0; i < M::kAccumulator; i++)
      row[M::column(i)] = a.bias + shared.bias[row_of_wave(ctx, g) + M::n(ctx.lane(), i)];
    const int last = a.shape.keys - 1;
    WICK_UNROLL
    for (int j = 0; j < Parts<Ctx>::kSteps; j++) {
      WICK_UNROLL
      for (int i = 0; i < M::kAccumulator; i++) {
        const int s = tile + 16 * j + M::m(ctx.lane(), i);
        biases[j].v[i] = row[M::column(i)][(s < last ? s : last) * a.bias_key];
      }
    }
  }
  /// Adds biases to transformed scores.
  template <class Ctx>
  static WICK_INLINE void add_bias(const typename Parts<Ctx>::Scores& biases,
                                   typename Parts<Ctx>::Scores& scores) {
    WICK_UNROLL
    for (int j = 0; j < Parts<Ctx>::kSteps; j++) WICK_UNROLL
    for (int i = 0; i < Ctx::Matrix::kAccumulator; i++) scores[j].v[i] += biases[j].v[i];
  }
  /// Sets the scores of keys that a row does not see to -inf.
  template <class Ctx>
  static WICK_INLINE void hide(const Ctx& ctx, int tile, const Group<Ctx>& group,
                               typename Parts<Ctx>::Scores& scores) {
    using M = typename Ctx::Matrix;
    WICK_UNROLL
    for (int j = 0; j < Parts<Ctx>::kSteps; j++) WICK_UNROLL
    for (int i = 0; i < M::kAccumulator; i++) {
      const int s = tile + 16 * j + M::m(ctx.lane(), i), c = M::column(i);
      if (s < group.first[c] || s >= group.end[c]) scores[j].v[i] = -__builtin_inff();
    }
  }
  /// Turns scores into weights, 2^(factor (score - reference) + kRaise).
  template <class Ctx>
  static WICK_INLINE void weigh(const Ctx& ctx, float factor, Group<Ctx>& group,
                                typename Parts<Ctx>::Scores& scores) {
    using M = typename Ctx::Matrix;
    float larger[M::kColumns], shift[M::kColumns];
    WICK_UNROLL
    for (int c = 0; c < M::kColumns; c++) larger[c] = group.reference[c];
    WICK_UNROLL
    for (int j = 0; j < Parts<Ctx>::kSteps; j++) WICK_UNROLL
    for (int i = 0; i < M::kAccumulator; i++)
      larger[M::column(i)] = Ctx::larger(larger[M::column(i)], scores[j].v[i]);
    combine_columns(ctx, larger, [](float x, float y) { return Ctx::larger(x, y); });
    raise_references<Ctx>(factor, larger, group);
    WICK_UNROLL
    for (int c = 0; c < M::kColumns; c++)
      shift[c] =
          (group.reference[c] == -__builtin_inff() ? 0 : group.reference[c] * factor) - kRaise;
    WICK_UNROLL
    for (int j = 0; j < Parts<Ctx>::kSteps; j++) WICK_UNROLL
    for (int i = 0; i < M::kAccumulator; i++) {
      scores[j].v[i] = Ctx::exp2(fma(scores[j].v[i], factor, -shift[M::column(i)]));
      group.sum[M::column(i)] += scores[j].v[i];
    }
  }
  /// Where a maximum is more than kSlack above its reference, makes it the reference, and scales
  /// the sums to it.
  template <class Ctx>
  static WICK_INLINE void raise_references(float factor,
                                           const float (&max)[Group<Ctx>::M::kColumns],
                                           Group<Ctx>& group) {
    using M = typename Ctx::Matrix;
    bool rises[M::kColumns], any = false;
    WICK_UNROLL
    for (int c = 0; c < M::kColumns; c++) {
      rises[c] = (max[c] - group.reference[c]) * factor > kSlack;
      any = any || rises[c];
    }
    if (!any) return;
    float scale[M::kColumns];
    WICK_UNROLL
    for (int c = 0; c < M::kColumns; c++) {
      scale[c] = rises[c] ? Ctx::exp2((group.reference[c] - max[c]) * factor) : 1;
      group.reference[c] = rises[c] ? max[c] : group.reference[c];
      group.sum[c] *= scale[c];
    }
    WICK_UNROLL
    for (int d = 0; d < kFragmentsD; d++) WICK_UNROLL
    for (int i = 0; i < M::kAccumulator; i++) group.result[d].v[i] *= scale[M::column(i)];
  }

  /// The score of weight 1, as SdpaMerge and l have the maximum: scaled.
  static WICK_DEVICE float scaled(const Args& a, float reference) {
    return (a.transforms ? reference : reference * a.scale) - kRaise / kLog2E;
  }
  template <class Ctx>
  static WICK_INLINE void store_results(const Ctx& ctx, Shared<Ctx>& shared, const Args& a,
                                        const QueryRows& place, int lane, int g,
                                        const Group<Ctx>& group) {
    using P = Parts<Ctx>;
    using M = typename P::Matrix;
    T* const own = shared.tiles + P::kResultsAt + ctx.wave() * 16 * P::kStride;
    SoftmaxState<float> state[M::kColumns];
    float sinks[M::kColumns], inverse[M::kColumns];
    WICK_UNROLL
    for (int i = 0; i < M::kAccumulator; i++)
      sinks[M::column(i)] =
          a.sinks ? a.sinks[place.row(a, row_of_wave(ctx, g) + M::n(lane, i)).h] : 0;
    WICK_UNROLL
    for (int c = 0; c < M::kColumns; c++) {
      state[c] = {scaled(a, group.reference[c]), group.sum[c]};
      const float factor = a.sinks ? state[c].add_sink(sinks[c]) : 1;
      inverse[c] = state[c].sum == 0 ? 0 : factor / state[c].sum;
    }
    WICK_UNROLL
    for (int d = 0; d < kFragmentsD; d++) {
      WICK_UNROLL
      for (int i = 0; i < M::kAccumulator; i++)
        own[M::n(lane, i) * P::kStride + P::V::dim_of(16 * d + M::m(lane, i))] =
            round_to<T>(group.result[d].v[i] * inverse[M::column(i)]);
    }
    WICK_UNROLL
    for (int i = 0; i < M::kAccumulator; i++) {
      const int r = row_of_wave(ctx, g) + M::n(lane, i), c = M::column(i);
      if (M::m(lane, i) != 0 || !place.is_row(a, r)) continue;
      a.l[place.row(a, r).index(a.shape, place.b)] = state[c].log_sum();
    }
    ctx.sync_shared();
    WICK_ROLL
    for (int p = lane; p < 16 * bucket / 8; p += Ctx::kWave) {
      const int n = p / (bucket / 8), d = p % (bucket / 8) * 8, r = row_of_wave(ctx, g) + n;
      if (d >= a.shape.value_dim || !place.is_row(a, r)) continue;
      store_pack(a.out + place.row(a, r).offset(a.y, place.b) + d,
                 load_pack<8>(own + n * P::kStride + d));
    }
  }
  /// Stores partial results for SdpaMerge.
  template <class Ctx>
  static WICK_INLINE void store_partials(const Ctx& ctx, const Args& a, const QueryRows& place,
                                         int lane, int g, const Group<Ctx>& group) {
    using M = typename Ctx::Matrix;
    const int32 size = a.shape.value_dim + 2;
    float* to[M::kColumns];  // nullptr: not a row
    WICK_UNROLL
    for (int i = 0; i < M::kAccumulator; i++) {
      const int r = row_of_wave(ctx, g) + M::n(lane, i), c = M::column(i);
      const int64 row = place.row(a, r).index(a.shape, place.b) * a.splits + ctx.block().y;
      to[c] = place.is_row(a, r) ? a.partials + row * size : nullptr;
      if (M::m(lane, i) == 0 && to[c])
        to[c][size - 2] = scaled(a, group.reference[c]), to[c][size - 1] = group.sum[c];
    }
    WICK_UNROLL
    for (int d = 0; d < kFragmentsD; d++) {
      WICK_UNROLL
      for (int i = 0; i < M::kAccumulator; i++) {
        const int at = Parts<Ctx>::V::dim_of(16 * d + M::m(lane, i)), c = M::column(i);
        if (at < a.shape.value_dim && to[c]) to[c][at] = group.result[d].v[i];
      }
    }
  }
};

template <class T, bool masked = false, class S = T>
struct SdpaTilesLaunch {
  using Stream = SdpaStreamLaunch<T, masked, S>;
  static constexpr Signature signature = Stream::signature;

  static const char* accepts(const Call& call, const DeviceInfo& info) {
    if (const char* why = Stream::accepts(call, info)) return why;
    const AttentionCall c = Stream::attention(call);
    if (c.has_blocks() && c.attributes.block < kMaxTileKeys) return "blocks are too small";
    if (c.q.shape[3] % 8 != 0 || c.v.shape[3] % 8 != 0) return "D is no multiple of 8";
    if ((masked || !kSame<S, T>)&&c.larger_dim() > 128)
      return "D is above 128, which leaves biases and wider elements no registers";
    return heads_are_aligned(c.q) && heads_are_aligned(c.k) && heads_are_aligned(call.in[2]) &&
                   heads_are_aligned(call.out[0])
               ? nullptr
               : "a row is not aligned to 16 bytes";
  }
  static int64 scratch_bytes(const Call& call, const DeviceInfo&) {
    const AttentionCall c = Stream::attention(call);
    return cut_of(c).template scratch_bytes<float>(c);
  }
  static Status run(const Call& call) {
    const int64 head_dim = Stream::attention(call).larger_dim();
    if (call.in[0].numel() == 0) return {};
    if (head_dim <= 64) return run_groups<64>(call);
    if constexpr (!masked && kSame<S, T>)  // fewer kernels to compile
      if (head_dim <= 96) return run_groups<96>(call);
    if (masked || !kSame<S, T> || head_dim <= 128) return run_groups<128>(call);
    if constexpr (!masked && kSame<S, T>) return run_kernel<256, 1>(call);
  }

 private:
  // Blocks of 64 rows, three at a time on each of some 128 multiprocessors; of 128 rows two.
  static constexpr int64 kSmallBlocks = 384, kLargeBlocks = 256;
  static int groups_of(const AttentionCall& c) {
    const AttentionShape shape = c.shape();
    if (masked && shape.larger_dim() > 64) return 1;  // two groups' biases have no registers
    const int64 large = shape.batch * shape.key_heads.divisor * ceil_div<int64>(shape.rows(), 128);
    return shape.larger_dim() <= 128 && shape.rows() > 64 && 4 * large >= 3 * kLargeBlocks ? 2 : 1;
  }
  static SdpaCut cut_of(const AttentionCall& c) {
    const int groups = groups_of(c);
    return SdpaCut::of(c.shape(), 64 * groups, 64, groups == 1 ? kSmallBlocks : kLargeBlocks);
  }
  template <int bucket>
  static Status run_groups(const Call& call) {
    if constexpr (!masked || bucket <= 64)
      if (groups_of(Stream::attention(call)) == 2) return run_kernel<bucket, 2>(call);
    return run_kernel<bucket, 1>(call);
  }
  template <int bucket, int groups>
  static Status run_kernel(const Call& call) {
    using K = SdpaTiles<T, bucket, groups, masked, S>;
    static_assert(K::kRows == 64 * groups);
    const AttentionCall c = Stream::attention(call);
    const SdpaCut cut = cut_of(c);
    typename K::Args args{};
    Stream::set(args, call, cut);
    args.transforms = c.attributes.soft_cap > 0 || !(args.scale > 0) || masked;
    args.factor = args.transforms ? kLog2E : args.scale * kLog2E;
    if (const Status status = launch<K>(args, call); !status.ok()) return status;
    return Stream::merge(args, call);
  }
};

}  // namespace wick::gpu
