// The gradients of sdpa on matrix units, by the formulas of attention_gradient.h. A block owns
// tiles of rows (queries, or keys) and goes over tiles of the others (keys, or queries),
// recomputing scores from l. All products are transposed, other x own, as in attention_tiles.h:
// accumulators of weights and of their gradients are then, rounded, operands of the products that
// add up the block's results. No atomics: the results do not depend on the schedule. Source: Dao
// 2023, arXiv:2307.08691.
#pragma once
#include "device/mma.h"
#include "kernels/attention_gradient.h"
#include "kernels/attention_tiles.h"

namespace wick::gpu {

/// A row's l (in powers of 2 unless there are biases), its sum over d of gy y, and the keys that it
/// attends to.
struct alignas(16) GradientRow {
  float l, delta;
  int32 first, end;
};
/// A tile of that many rows of a key head has a KeyRange.
inline constexpr int kRangeRows = 64;

/// Rows of q, gy, k or v: row i belongs to query i / heads and head i % heads.
template <class T>
struct HeadRows {
  const T* base;
  int64 row, head;
  FastDivide heads;
  int32 count, size;  // rows; elements of a row

  WICK_DEVICE const T* at(int32 i) const {
    const int32 t = int32(heads.quotient(i));
    return base + t * row + (i - t * int32(heads.divisor)) * head;
  }
};

template <class T>
struct GradientTileArgs : GradientArgs<T> {
  GradientRow* rows;  // [B, G, tiles, kRangeRows]
  KeyRange* ranges;   // [B, G, tiles]
  int32 tiles;
  const T* y;
  HeadStrides y_strides;
  float factor;  // 2^(factor q k) is the weight of a pair, but for l; where scores are not capped
};

/// Rows and ranges, for the other kernels: a block for each tile of kRangeRows rows of a key head.
template <class T>
struct SdpaGradientRows {
  static constexpr int kThreads = 256;
  using Args = GradientTileArgs<T>;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) {
    return {int(a.shape.batch * a.shape.key_heads.divisor * a.tiles)};
  }
  template <class Ctx>
  struct Shared {
    int32 first[kRangeRows], end[kRangeRows];
  };
  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const int32 head = int32(a.chunks.quotient(ctx.block().x));
    const int32 first_row = (ctx.block().x - head * a.tiles) * kRangeRows;
    const int32 b = int32(a.shape.key_heads.quotient(head));
    const int32 g = head - b * int32(a.shape.key_heads.divisor);
    for (int r = ctx.wave(); r < kRangeRows; r += Ctx::kWaves) {
      const bool is_row = first_row + r < a.shape.rows();
      const AttentionRow row =
          AttentionRow::of(a.shape, g, is_row ? first_row + r : a.shape.rows() - 1);
      const T* const gy = a.gy + row.offset(a.gy_strides, b);
      const T* const y = a.y + row.offset(a.y_strides, b);
      float sum[1] = {};
      for (int d = ctx.lane(); d < a.shape.value_dim; d += Ctx::kWave)
        sum[0] = fma(widen<float>(gy[d]), widen<float>(y[d]), sum[0]);
      add_lanes<Ctx::kWave>(ctx, sum);
      if (ctx.lane() != 0) continue;
      const SeenKeys seen = is_row ? a.shape.seen(a.positions, b, row.t) : SeenKeys::none();
      shared.first[r] = seen.first, shared.end[r] = seen.end;
      const float l = a.l[row.index(a.shape, b)];
      a.rows[ctx.block().x * kRangeRows + r] = {a.bias ? shift_of(l) : l * kLog2E, sum[0],
                                                seen.first, seen.end};
    }
    ctx.sync_shared();
    if (ctx.wave() != 0) return;
    const KeyRange range = key_range(ctx, shared.first, shared.end, kRangeRows, a.shape.keys);
    if (ctx.lane() == 0) a.ranges[ctx.block().x] = range;
  }
};

/// `rows` rows on their way into shared memory: by asynchronous copies, or through registers.
/// Shared memory holds [row][d], and [slot of d][row] if products need columns that load badly.
template <class Ctx, class T, int bucket, int rows, bool by_columns>
struct GradientTile {
  using Matrix = typename Ctx::Matrix;
  static constexpr bool kTransposes = by_columns && !Matrix::kLoadsColumns;
  static constexpr int kPad = 8;  // spreads rows over the banks; they stay 16-byte aligned
  static constexpr int kStride = bucket + kPad, kColumnStride = rows + kPad;
  static constexpr int kColumnsAt = rows * kStride;
  static constexpr int kElements = kColumnsAt + (kTransposes ? bucket * kColumnStride : 0);
  static constexpr int kTogether = kTransposes ? 2 : 1;
  static constexpr int kAllPacks = rows * bucket / 8;
  static constexpr int kPacks =
      ceil_div(kAllPacks, Ctx::kThreads* kTogether) * kTogether;  // of a thread
  static constexpr bool kPadsThreads = kPacks * Ctx::kThreads != kAllPacks;

  const HeadRows<T>& from;
  int32 first = 0;  // of the tile on its way
  using Words = typename Ctx::Words;
  Words words[Ctx::kCopiesAsync ? 1 : kPacks];

  explicit WICK_DEVICE GradientTile(const HeadRows<T>& source) : from(source) {}

  /// The element d of a row that slot s of a transposed tile holds.
  static WICK_DEVICE int dim_of(int slot) {
    return kTransposes ? slot % (bucket / 8) * 8 + slot / (bucket / 8) : slot;
  }
  /// Begins to load rows first_row ...; those beyond the last are zeros.
  WICK_DEVICE void fetch(const Ctx& ctx, T* shared, int32 first_row) {
    first = first_row;
    WICK_UNROLL
    for (int p = 0; p < kPacks; p++) {
      const int row = row_in_tile(ctx.thread(), p), d = dim_in_row(ctx.thread(), p);
      const bool inside = first + row < from.count && d < from.size && row < rows;
      const T* const x = from.at(inside ? first + row : 0) + (inside ? d : 0);
      if constexpr (Ctx::kCopiesAsync) {
        if (!kPadsThreads || row < rows) ctx.copy_async(shared + row * kStride + d, x, inside);
      } else {
        words[p] = *reinterpret_cast<const Words*>(x);
      }
    }
  }
  /// Ends the load of this thread's elements, unless the copies are asynchronous.
  WICK_DEVICE void deliver(const Ctx& ctx, T* shared) {
    if constexpr (!Ctx::kCopiesAsync) {
      WICK_UNROLL
      for (int p = 0; p < kPacks; p += kTogether) {
        const int row = row_in_tile(ctx.thread(), p), d = dim_in_row(ctx.thread(), p);
        if (kPadsThreads && row >= rows) continue;
        using Halves = Pack<T, 8>;
        Halves pack[kTogether];
        WICK_UNROLL
        for (int q = p; q < p + kTogether; q++) {
          pack[q - p] = first + row + q - p < from.count && d < from.size
                            ? __builtin_bit_cast(Halves, words[q])
                            : Halves{};
          store_pack(shared + (row + q - p) * kStride + d, pack[q - p]);
        }
        if constexpr (kTransposes) {
          WICK_UNROLL
          for (int e = 0; e < 8; e++)
            store_pack(shared + kColumnsAt + (e * (bucket / 8) + d / 8) * kColumnStride + row,
                       Pack<T, 2>{pack[0].v[e], pack[1].v[e]});
        }
      }
    }
  }
  /// Rows of the operand are the tile's from `row` on, k is d.
  static WICK_DEVICE auto load(const Ctx& ctx, const T* shared, int row, int d) {
    return load_rows<Side::kLeft>(ctx, shared + row * kStride + d, kStride);
  }
  /// Rows of the operand are slots from `slot` on, k is the tile's rows.
  static WICK_DEVICE auto load_transposed(const Ctx& ctx, const T* shared, int slot, int row) {
    if constexpr (kTransposes)
      return load_rows<Side::kLeft>(ctx, shared + kColumnsAt + slot * kColumnStride + row,
                                    kColumnStride);
    else
      return load_columns<Side::kLeft>(ctx, shared + row * kStride + slot, kStride);
  }

 private:
  static WICK_DEVICE int row_in_tile(int thread, int p) {
    return (p / kTogether * Ctx::kThreads + thread) / (bucket / 8) * kTogether + p % kTogether;
  }
  static WICK_DEVICE int dim_in_row(int thread, int p) {
    return (p / kTogether * Ctx::kThreads + thread) % (bucket / 8) * 8;
  }
};

/// The results of a kernel. Keys and values together take twice the registers.
enum class GradientOf { kQueries, kKeysAndValues, kKeys, kValues };

/// bucket: at least D and Dv. groups: tiles of 16 rows that a wave owns. masked: with biases.
template <class T, int bucket, int groups, GradientOf of, bool masked>
struct SdpaGradientTiles {
  static constexpr bool kUsesMatrix = true, kSumsByLayout = true;
  static constexpr bool kOwnsKeys = of != GradientOf::kQueries;
  static constexpr bool kOfProducts = of != GradientOf::kValues;  // gq or gk
  static constexpr bool kOfValues = of == GradientOf::kKeysAndValues || of == GradientOf::kValues;
  static constexpr int kResidentBlocks = of == GradientOf::kKeysAndValues || bucket > 128 ? 2 : 3;
  // Two waves own the same rows where the registers of one do not hold their results. Each has a
  // half of D of the results, and of the sums that make scores (Parts).
  static constexpr int kWaves = 4, kHalves = bucket > 128 ? 2 : 1;
  static constexpr int kGroups = groups, kRows = 16 * kGroups * kWaves / kHalves;
  static constexpr int kFragmentsD = bucket / 16, kOfWave = kFragmentsD / kHalves;
  static constexpr int kResults = kOfProducts && kOfValues ? 2 : 1;
  // f16 has few numbers below 1 to round weights to, which are at most 1.
  static constexpr float kRaise = kSame<T, f16> ? 14 : 0;
  using Args = GradientTileArgs<T>;
  static constexpr int threads(int wave) { return kWaves * wave; }
  static Grid grid(int, const Args& a) {
    return {int(a.shape.batch * a.shape.key_heads.divisor * a.chunks.divisor)};
  }

  /// The differences between devices. AMD's have 64 KiB of shared memory for all blocks of a
  /// compute unit; those with waves of 64 have registers for the own rows too. Where two waves have
  /// a half of D each, they pass each other their sums, and hold the half of own rows; gfx11's
  /// operands take too many registers, and there both waves multiply all of D.
  template <class Ctx>
  struct Parts {
    using Matrix = typename Ctx::Matrix;
    static constexpr bool kSharesScores = kHalves > 1 && Matrix::kOperand <= 8;
    static constexpr int kScoresOfWave = kSharesScores ? kOfWave : kFragmentsD;  // fragments of D
    static constexpr bool kHoldsOwn = Ctx::kWave == 64 || kSharesScores;
    static constexpr int kOthers =  // rows of a tile
        kHalves > 1                 ? (of == GradientOf::kQueries && Ctx::kCopiesAsync ? 32 : 16)
        : Ctx::kCopiesAsync         ? (bucket <= 64 && kGroups == 1 ? 64 : 32)
        : kHoldsOwn || bucket <= 64 ? 32
                                    : 16;
    static constexpr int kSteps = kOthers / 16, kStages = Ctx::kCopiesAsync ? 2 : 1;
    using First = GradientTile<Ctx, T, bucket, kOthers, kOfProducts>;  // k, or q
    using Second = GradientTile<Ctx, T, bucket, kOthers, kOfValues>;   // v, or gy
    using Columns = GradientTile<Ctx, T, bucket, kOthers, true>;  // either, where results need it
    static constexpr int kStride = bucket + 8;                    // of own rows and results
    static constexpr int kOwn = kHoldsOwn ? 0 : kRows * kStride;  // of q and gy, or k and v, each
    static constexpr int kStage = First::kElements + Second::kElements;
    static constexpr int kOwnTiles = kOfProducts ? 2 * kOwn : kOwn;
    static constexpr int kTiles = kOwnTiles + kStages * kStage,
                         kStored = 16 * kWaves / kHalves * kStride;
    static constexpr int kElements = kTiles > kStored ? kTiles : kStored;
    using Own = Operand<T, Matrix>[2][kHoldsOwn ? kGroups : 1][kHoldsOwn ? kScoresOfWave : 1];
    using Scores = Sums<Matrix>[kSteps];
    // Packs that a wave passes to the other one: the sums of its lanes.
    static constexpr int kLanePacks =
        (kOfProducts ? 2 : 1) * kGroups * kSteps * Matrix::kAccumulator / 4;
    static constexpr int kPassed = kSharesScores ? kLanePacks * Ctx::kWave : 0;
    static constexpr int kQueries = kOwnsKeys ? kStages * kOthers : kRows;  // in shared memory
  };
  template <class Ctx>
  struct Shared {
    alignas(16) T tiles[Parts<Ctx>::kElements];  // own rows, then the stages; at the end results
    // The other rows', and after the last one the KeyRange of their tile.
    GradientRow rows[kOwnsKeys ? Parts<Ctx>::kStages : 1][kOwnsKeys ? Parts<Ctx>::kOthers + 1 : 1];
    int64 bias[masked ? Parts<Ctx>::kQueries : 1];  // where a query's biases begin
    Pack<float, 4> passed[kWaves * Parts<Ctx>::kPassed + (Parts<Ctx>::kPassed == 0)];
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    using P = Parts<Ctx>;
    const OwnRows place(ctx.block(), a);
    const HeadRows<T> queries[2] = {rows_of(a, place, a.q, a.q_strides, a.shape.head_dim),
                                    rows_of(a, place, a.gy, a.gy_strides, a.shape.value_dim)};
    const HeadRows<T> keys[2] = {keys_of(a, place, a.k, a.k_strides, a.shape.head_dim),
                                 keys_of(a, place, a.v, a.v_strides, a.shape.value_dim)};
    const HeadRows<T>(&own)[2] = kOwnsKeys ? keys : queries;
    const HeadRows<T>(&others)[2] = kOwnsKeys ? queries : keys;

    typename P::Own held;
    load_own(ctx, shared, place, own, held);
    Group<Ctx> group[kGroups];
    WICK_UNROLL
    for (int g = 0; g < kGroups; g++) group[g].begin(ctx, a, place, row_of_wave(ctx, g));
    if constexpr (masked && !kOwnsKeys)
      store_bias_rows<kRows>(ctx, shared.bias, a, place, place.first);

    const Span span = span_of(ctx, a, place);
    typename P::First first(others[0]);
    typename P::Second second(others[1]);
    typename Ctx::Words row_on_its_way;
    T* const stages = shared.tiles + P::kOwnTiles;
    const auto fetch = [&](int tile, int stage) {
      T* const to = stages + stage * P::kStage;
      first.fetch(ctx, to, tile);
      second.fetch(ctx, to + P::First::kElements, tile);
      if constexpr (kOwnsKeys) {  // 16 bytes of rows and range alike
        const int r = ctx.thread() < P::kOthers ? ctx.thread() : P::kOthers;
        const void* const from =
            r < P::kOthers ? static_cast<const void*>(a.rows + place.first_of_rows(a) + tile + r)
                           : a.ranges + place.first_tile(a) + tile / kRangeRows;
        if constexpr (!Ctx::kCopiesAsync)
          row_on_its_way = *static_cast<const typename Ctx::Words*>(from);
        else if (ctx.thread() <= P::kOthers)
          ctx.copy_async(&shared.rows[stage][r], from, true);
      }
      if constexpr (Ctx::kCopiesAsync) ctx.commit_copies();
    };
    if (span.first < span.end) fetch(span.first, 0);
    int stage = 0;
    WICK_ROLL
    for (int tile = span.first; tile < span.end; tile += P::kOthers) {
      T* const here = stages + stage * P::kStage;
      if constexpr (Ctx::kCopiesAsync) {
        ctx.template wait_copies<0>();
      } else {
        first.deliver(ctx, here);
        second.deliver(ctx, here + P::First::kElements);
        if (kOwnsKeys && ctx.thread() <= P::kOthers)
          shared.rows[0][ctx.thread()] = __builtin_bit_cast(GradientRow, row_on_its_way);
      }
      int64* const bias = shared.bias + (masked && kOwnsKeys ? stage * P::kOthers : 0);
      if constexpr (masked && kOwnsKeys) store_bias_rows<P::kOthers>(ctx, bias, a, place, tile);
      ctx.sync_shared();  // and all are done with the stage before
      if (tile + P::kOthers < span.end) fetch(tile + P::kOthers, P::kStages - 1 - stage);
      typename P::Scores weights[kGroups] = {}, slopes[kGroups] = {};
      multiply_own(ctx, shared, held, 0, here, weights);
      if constexpr (kOfProducts)
        multiply_own(ctx, shared, held, 1, here + P::First::kElements, slopes);
      if constexpr (P::kSharesScores) add_other_half(ctx, shared, weights, slopes);
      const GradientRow* const rows = shared.rows[kOwnsKeys ? stage : 0];
      const bool whole = is_whole<P::kOthers>(rows, place, span, tile);
      WICK_UNROLL
      for (int g = 0; g < kGroups; g++) {
        const Biases<Ctx> biases(ctx, a, bias, place, row_of_wave(ctx, g), tile);
        if (a.soft_cap > 0)
          weigh<true>(ctx, rows, a, group[g], biases, weights[g], slopes[g]);
        else
          weigh<false>(ctx, rows, a, group[g], biases, weights[g], slopes[g]);
        if (!whole)
          hide(ctx, rows, place, group[g], row_of_wave(ctx, g), tile, weights[g], slopes[g]);
      }
      if constexpr (kOfProducts) add_products<0>(ctx, here, slopes, group);
      if constexpr (kOfValues)
        add_products<kResults - 1>(ctx, here + P::First::kElements, weights, group);
      if constexpr (P::kStages == 1)
        ctx.sync_shared();  // all are done with the tile
      else
        stage = 1 - stage;
    }
    WICK_UNROLL
    for (int g = 0; g < kGroups; g++) {
      if constexpr (!kOwnsKeys)
        store(ctx, shared, a, place, g, group[g].result[0], a.gq, a.gq_strides, a.shape.head_dim,
              a.scale);
      else if constexpr (kOfProducts)
        store(ctx, shared, a, place, g, group[g].result[0], a.gk, a.gk_strides, a.shape.head_dim,
              a.scale);
      if constexpr (kOfValues)
        store(ctx, shared, a, place, g, group[g].result[kResults - 1], a.gv, a.gv_strides,
              a.shape.value_dim, 1 / float(1 << int(kRaise)));
    }
  }

 private:
  struct OwnRows {
    int32 b, g, first;  // first: own row
    WICK_DEVICE OwnRows(const Grid& block, const Args& a) {
      const int32 head = int32(a.chunks.quotient(block.x));
      const int32 chunk = block.x - head * int32(a.chunks.divisor);
      // The chunks with the most pairs come first: the last rows, the first keys.
      first = (kOwnsKeys ? chunk : int32(a.chunks.divisor) - 1 - chunk) * kRows;
      b = int32(a.shape.key_heads.quotient(head));
      g = head - b * int32(a.shape.key_heads.divisor);
    }
    WICK_DEVICE int64 first_tile(const Args& a) const {
      return int64(b * int32(a.shape.key_heads.divisor) + g) * a.tiles;
    }
    WICK_DEVICE int64 first_of_rows(const Args& a) const { return first_tile(a) * kRangeRows; }
  };
  static WICK_DEVICE HeadRows<T> rows_of(const Args& a, const OwnRows& place, const T* x,
                                         const HeadStrides& strides, int32 size) {
    const int64 head = place.g * int64(a.shape.heads.divisor);
    return {x + place.b * strides.batch + head * strides.head,
            strides.row,
            strides.head,
            a.shape.heads,
            a.shape.rows(),
            size};
  }
  static WICK_DEVICE HeadRows<T> keys_of(const Args& a, const OwnRows& place, const T* x,
                                         const HeadStrides& strides, int32 size) {
    return {x + place.b * strides.batch + place.g * strides.head,
            strides.row,
            0,
            {1, (1u << 31) + 1, 0},
            a.shape.keys,
            size};
  }
  template <class Ctx>
  static WICK_DEVICE int row_of_wave(const Ctx& ctx, int g) {
    return (ctx.wave() / kHalves * kGroups + g) * 16;
  }
  /// The first of the fragments of D of a wave's results, and of its part of scores.
  template <class Ctx>
  static WICK_DEVICE int first_of_wave(const Ctx& ctx) {
    return kHalves == 1 ? 0 : ctx.wave() % kHalves * kOfWave;
  }
  template <class Ctx>
  static WICK_DEVICE int first_of_scores(const Ctx& ctx) {
    return Parts<Ctx>::kSharesScores ? first_of_wave(ctx) : 0;
  }

  /// The other rows that matter to a block, and of keys those that all own rows attend to.
  struct Span {
    int32 first, end, all_first, all_end;
  };
  template <class Ctx>
  static WICK_DEVICE Span span_of(const Ctx& ctx, const Args& a, const OwnRows& place) {
    const KeyRange* const ranges = a.ranges + place.first_tile(a);
    const auto smaller = [](int32 p, int32 q) { return p < q ? p : q; };
    const auto larger = [](int32 p, int32 q) { return p > q ? p : q; };
    Span x{kOwnsKeys ? a.tiles : a.shape.keys, 0, 0, a.shape.keys};
    if constexpr (kOwnsKeys) {
      WICK_ROLL
      for (int t = ctx.lane(); t < a.tiles; t += Ctx::kWave) {
        const KeyRange range = ranges[t];
        if (range.first >= place.first + kRows || range.end <= place.first) continue;
        x.first = smaller(x.first, t), x.end = larger(x.end, t + 1);
      }
    } else {
      constexpr int kTilesOwn = ceil_div(kRows, kRangeRows);  // that hold the own rows
      static_assert((kRows % kRangeRows == 0 || kRangeRows % kRows == 0) &&
                    kTilesOwn <= Ctx::kWave);
      const int32 t = place.first / kRangeRows + ctx.lane();
      if (ctx.lane() < kTilesOwn) {
        const KeyRange range = t < a.tiles ? ranges[t] : KeyRange{a.shape.keys, 0, 0, 0};
        x = {range.first, range.end, range.all_first, range.all_end};
      }
    }
    masks_down<Ctx::kWave / 2, 1>([&]<int mask>() {
      x.first = smaller(x.first, ctx.template shuffle_xor<mask>(x.first));
      x.end = larger(x.end, ctx.template shuffle_xor<mask>(x.end));
      x.all_first = larger(x.all_first, ctx.template shuffle_xor<mask>(x.all_first));
      x.all_end = smaller(x.all_end, ctx.template shuffle_xor<mask>(x.all_end));
    });
    if constexpr (kOwnsKeys) {
      x.first *= kRangeRows;
      x.end = smaller(x.end * kRangeRows, a.shape.rows());
    }
    return x;
  }
  /// Whether all pairs of the own rows and a tile of others matter.
  template <int others>
  static WICK_DEVICE bool is_whole(const GradientRow* rows, const OwnRows& place, const Span& span,
                                   int tile) {
    if constexpr (kOwnsKeys) {
      const KeyRange range = __builtin_bit_cast(KeyRange, rows[others]);
      return range.all_first <= place.first && place.first + kRows <= range.all_end;
    } else {
      return span.all_first <= tile && tile + others <= span.all_end;
    }
  }

  /// A wave's results for its 16 own rows of a group.
  template <class Ctx>
  struct Group {
    using M = typename Ctx::Matrix;
    Sums<M> result[kResults][kOfWave];
    GradientRow row[kOwnsKeys ? 1 : M::kColumns];

    WICK_DEVICE void begin(const Ctx& ctx, const Args& a, const OwnRows& place, int own) {
      WICK_UNROLL
      for (int x = 0; x < kResults; x++) WICK_UNROLL
      for (int d = 0; d < kOfWave; d++) result[x][d] = {};
      if constexpr (!kOwnsKeys) {
        WICK_UNROLL
        for (int i = 0; i < M::kAccumulator; i++) {
          const int32 r = place.first + own + M::n(ctx.lane(), i);
          // Rows beyond the last tile attend to no key, like the last tile's unused rows.
          row[M::column(i)] = r < a.tiles * kRangeRows ? a.rows[place.first_of_rows(a) + r]
                                                       : GradientRow{0, 0, 0, 0};
        }
      }
    }
  };

  /// Loads the own rows into shared memory, or into registers. Rows beyond the last are zeros.
  template <class Ctx>
  static WICK_DEVICE void load_own(const Ctx& ctx, Shared<Ctx>& shared, const OwnRows& place,
                                   const HeadRows<T> (&own)[2], typename Parts<Ctx>::Own& held) {
    using P = Parts<Ctx>;
    using M = typename P::Matrix;
    constexpr int kOwn = kOfProducts ? 2 : 1;
    WICK_UNROLL
    for (int x = 0; x < kOwn; x++) {
      if constexpr (P::kHoldsOwn) {
        constexpr int kRun = M::kRun < 8 ? M::kRun : 8;
        WICK_UNROLL
        for (int g = 0; g < kGroups; g++) WICK_UNROLL
        for (int i = 0; i < M::kOperand; i += kRun) {
          const int32 r = place.first + row_of_wave(ctx, g) + M::row(ctx.lane(), i);
          const T* const from = own[x].at(r < own[x].count ? r : 0);
          WICK_UNROLL
          for (int d = 0; d < P::kScoresOfWave; d++) {
            const int at = 16 * (first_of_scores(ctx) + d) + M::k(ctx.lane(), i);
            Pack<T, kRun> pack{};
            if (at < own[x].size && r < own[x].count) pack = load_pack<kRun>(from + at);
            for (int e = 0; e < kRun; e++) held[x][g][d].v[i + e] = pack.v[e];
          }
        }
        for (int g = 0; g < kGroups; g++) WICK_UNROLL
        for (int d = 0; d < P::kScoresOfWave; d++) keep_whole(ctx, held[x][g][d]);
      } else {
        WICK_ROLL
        for (int p = ctx.thread(); p < kRows * bucket / 8; p += Ctx::kThreads) {
          const int r = p / (bucket / 8), d = p % (bucket / 8) * 8;
          Pack<T, 8> pack{};
          if (d < own[x].size && place.first + r < own[x].count)
            pack = load_pack<8>(own[x].at(place.first + r) + d);
          store_pack(shared.tiles + x * P::kOwn + r * P::kStride + d, pack);
        }
        if (x + 1 == kOwn) ctx.sync_shared();
      }
    }
  }

  /// sums = others ownᵀ over the wave's part of D, of first or second. The next operand is loaded
  /// before the one before it is multiplied.
  template <class Ctx>
  static WICK_INLINE void multiply_own(const Ctx& ctx, const Shared<Ctx>& shared,
                                       const typename Parts<Ctx>::Own& held, int which,
                                       const T* tile,
                                       typename Parts<Ctx>::Scores (&sums)[kGroups]) {
    using P = Parts<Ctx>;
    using M = typename P::Matrix;
    constexpr int kCount = P::kScoresOfWave * P::kSteps;
    const int first = 16 * first_of_scores(ctx);
    const auto other = [&](int n) {
      return P::First::load(ctx, tile, 16 * (n % P::kSteps), first + 16 * (n / P::kSteps));
    };
    const auto own = [&](int g, int d) {
      if constexpr (P::kHoldsOwn)
        return held[which][g][d];
      else
        return load_rows(ctx,
                         shared.tiles + which * P::kOwn + row_of_wave(ctx, g) * P::kStride + 16 * d,
                         P::kStride);
    };
    Operand<T, M, Side::kLeft> x[2] = {other(0)};
    Operand<T, M> y[2][kGroups];
    WICK_UNROLL
    for (int g = 0; g < kGroups; g++) y[0][g] = own(g, 0);
    WICK_UNROLL
    for (int d = 0; d < P::kScoresOfWave; d++) {
      WICK_UNROLL
      for (int j = 0; j < P::kSteps; j++) {
        const int n = d * P::kSteps + j;
        if (n + 1 < kCount) x[(n + 1) % 2] = other(n + 1);
        if (j + 1 == P::kSteps && d + 1 < P::kScoresOfWave) {
          WICK_UNROLL
          for (int g = 0; g < kGroups; g++) y[(d + 1) % 2][g] = own(g, d + 1);
        }
        ctx.keep_order();
        WICK_UNROLL
        for (int g = 0; g < kGroups; g++) multiply(ctx, sums[g][j], x[n % 2], y[d % 2][g]);
      }
    }
  }

  /// Adds the sums over the other half of D, which the other wave of the same rows has.
  template <class Ctx>
  static WICK_INLINE void add_other_half(const Ctx& ctx, Shared<Ctx>& shared,
                                         typename Parts<Ctx>::Scores (&weights)[kGroups],
                                         typename Parts<Ctx>::Scores (&slopes)[kGroups]) {
    using P = Parts<Ctx>;
    constexpr int kPacks = P::Matrix::kAccumulator / 4;
    const auto each_pack = [&](const auto& pass) {
      WICK_UNROLL
      for (int n = 0; n < P::kLanePacks; n++) {
        const int fragment = n / kPacks % (kGroups * P::kSteps);
        auto& sums = (n < kGroups * P::kSteps * kPacks ? weights : slopes)[fragment / P::kSteps];
        pass(n, sums[fragment % P::kSteps].v + n % kPacks * 4);
      }
    };
    each_pack([&](int n, const float* x) {
      shared.passed[ctx.wave() * P::kPassed + n * Ctx::kWave + ctx.lane()] = {x[0], x[1], x[2],
                                                                              x[3]};
    });
    ctx.sync_shared();
    each_pack([&](int n, float* x) {
      const Pack<float, 4> other =
          shared.passed[(ctx.wave() ^ 1) * P::kPassed + n * Ctx::kWave + ctx.lane()];
      WICK_UNROLL
      for (int e = 0; e < 4; e++) x[e] += other.v[e];
    });
  }

  /// Where the biases of `count` queries from row `first` on begin. Rows past the end use the last.
  template <int count, class Ctx>
  static WICK_DEVICE void store_bias_rows(const Ctx& ctx, int64* to, const Args& a,
                                          const OwnRows& place, int32 first) {
    WICK_ROLL
    for (int r = ctx.thread(); r < count; r += Ctx::kThreads) {
      const int32 row = first + r < a.shape.rows() ? first + r : a.shape.rows() - 1;
      to[r] = AttentionRow::of(a.shape, place.g, row).offset(a.bias_strides, place.b);
    }
  }
  /// The biases of a tile's scores.
  template <class Ctx>
  struct Biases {
    using M = typename Ctx::Matrix;
    const Args& a;
    const int64* queries;  // where their biases begin
    const float* column[M::kColumns];
    int32 key[M::kColumns];  // the own key, or the tile's first one of this lane

    WICK_DEVICE Biases(const Ctx& ctx, const Args& args, const int64* begins, const OwnRows& place,
                       int own, int tile)
        : a(args), queries(begins) {
      if constexpr (masked) {
        WICK_UNROLL
        for (int i = 0; i < M::kAccumulator; i++) {
          const int n = own + M::n(ctx.lane(), i), c = M::column(i);
          key[c] = kOwnsKeys ? place.first + n : tile + M::m(ctx.lane(), 0);
          column[c] = a.bias + (kOwnsKeys ? 0 : queries[n]) + key[c] * a.bias_key;
        }
      }
    }
    /// The biases of the other rows from 16 j on; 0 for keys beyond the last.
    WICK_DEVICE Sums<M> load(const Ctx& ctx, int j) const {
      Sums<M> x;
      WICK_UNROLL
      for (int i = 0; i < M::kAccumulator; i++) {
        const int m = 16 * j + M::m(ctx.lane(), i), c = M::column(i);
        const int ahead = m - M::m(ctx.lane(), 0);  // the same for all lanes
        const bool inside = key[c] + (kOwnsKeys ? 0 : ahead) < a.shape.keys;
        x.v[i] = inside ? column[c][kOwnsKeys ? queries[m] : ahead * a.bias_key] : 0;
      }
      return x;
    }
  };

  /// Turns the products q k and gy v into raised weights and the unscaled gradients of q k.
  template <bool caps, class Ctx>
  static WICK_INLINE void weigh(const Ctx& ctx, const GradientRow* rows, const Args& a,
                                const Group<Ctx>& group, [[maybe_unused]] const Biases<Ctx>& biases,
                                typename Parts<Ctx>::Scores& weights,
                                typename Parts<Ctx>::Scores& slopes) {
    using M = typename Ctx::Matrix;
    const float twice = caps ? a.scale * (2 * kLog2E) / a.soft_cap : 0, cap = a.soft_cap * kLog2E;
    [[maybe_unused]] Sums<M> bias[2];
    if constexpr (masked) bias[0] = biases.load(ctx, 0);
    WICK_UNROLL
    for (int j = 0; j < Parts<Ctx>::kSteps; j++) {
      if constexpr (masked)
        if (j + 1 < Parts<Ctx>::kSteps) bias[(j + 1) % 2] = biases.load(ctx, j + 1);
      WICK_UNROLL
      for (int i = 0; i < M::kAccumulator; i++) {
        const GradientRow& row =
            kOwnsKeys ? rows[16 * j + M::m(ctx.lane(), i)] : group.row[M::column(i)];
        float& w = weights[j].v[i];
        float& s = slopes[j].v[i];
        if constexpr (caps) {
          const float t = 1 - 2 * Ctx::reciprocal(1 + Ctx::exp2(w * twice));
          if constexpr (masked)
            w = Ctx::exp2((fma(a.soft_cap, t, bias[j % 2].v[i]) - row.l) * kLog2E);
          else
            w = Ctx::exp2(fma(cap, t, -row.l));
          s = w * (s - row.delta) * (1 - t * t);
        } else {
          if constexpr (masked)
            w = Ctx::exp2((fma(w, a.scale, bias[j % 2].v[i]) - row.l) * kLog2E);
          else
            w = Ctx::exp2(fma(w, a.factor, -row.l));
          s = w * (s - row.delta);
        }
        if constexpr (kRaise > 0 && kOfValues) w *= float(1 << int(kRaise));
      }
      ctx.keep_order();
    }
  }
  /// Sets the weights of pairs that do not attend to 0.
  template <class Ctx>
  static WICK_INLINE void hide(const Ctx& ctx, const GradientRow* rows, const OwnRows& place,
                               const Group<Ctx>& group, int own, int tile,
                               typename Parts<Ctx>::Scores& weights,
                               typename Parts<Ctx>::Scores& slopes) {
    using M = typename Ctx::Matrix;
    WICK_UNROLL
    for (int j = 0; j < Parts<Ctx>::kSteps; j++) WICK_UNROLL
    for (int i = 0; i < M::kAccumulator; i++) {
      const int m = 16 * j + M::m(ctx.lane(), i);
      const GradientRow& row = kOwnsKeys ? rows[m] : group.row[M::column(i)];
      const int key = kOwnsKeys ? place.first + own + M::n(ctx.lane(), i) : tile + m;
      if (row.first <= key && key < row.end) continue;
      weights[j].v[i] = 0, slopes[j].v[i] = 0;
    }
  }

  /// result += othersᵀ x, of the rounded x.
  template <int which, class Ctx>
  static WICK_INLINE void add_products(const Ctx& ctx, const T* tile,
                                       const typename Parts<Ctx>::Scores (&sums)[kGroups],
                                       Group<Ctx> (&group)[kGroups]) {
    using P = Parts<Ctx>;
    using M = typename P::Matrix;
    constexpr int kCount = kOfWave * P::kSteps;
    const int first = 16 * first_of_wave(ctx);
    const auto other = [&](int n) {
      return P::Columns::load_transposed(ctx, tile, first + 16 * (n % kOfWave), 16 * (n / kOfWave));
    };
    Operand<T, M, Side::kLeft> x[2] = {other(0)};
    Operand<T, M> y[kGroups];
    WICK_UNROLL
    for (int j = 0; j < P::kSteps; j++) {
      WICK_UNROLL
      for (int g = 0; g < kGroups; g++) y[g] = rounded_operand<T>(ctx, sums[g][j]);
      WICK_UNROLL
      for (int d = 0; d < kOfWave; d++) {
        const int n = j * kOfWave + d;
        if (n + 1 < kCount) x[(n + 1) % 2] = other(n + 1);
        ctx.keep_order();
        WICK_UNROLL
        for (int g = 0; g < kGroups; g++) multiply(ctx, group[g].result[which][d], x[n % 2], y[g]);
      }
    }
  }

  template <class Ctx>
  static WICK_INLINE void store(const Ctx& ctx, Shared<Ctx>& shared, const Args& a,
                                const OwnRows& place, int g,
                                const Sums<typename Ctx::Matrix> (&result)[kOfWave], T* to,
                                const HeadStrides& strides, int32 size, float scale) {
    using P = Parts<Ctx>;
    using M = typename P::Matrix;
    ctx.sync_shared();  // the memory holds tiles, or results
    const int lane = ctx.opaque(ctx.lane());
    const int half = ctx.wave() % kHalves;
    T* const own = shared.tiles + ctx.wave() / kHalves * 16 * P::kStride;
    WICK_UNROLL
    for (int d = 0; d < kOfWave; d++) {
      WICK_UNROLL
      for (int i = 0; i < M::kAccumulator; i++)
        own[M::n(lane, i) * P::kStride +
            P::Columns::dim_of(16 * (half * kOfWave + d) + M::m(lane, i))] =
            round_to<T>(result[d].v[i] * scale);
    }
    ctx.sync_shared();
    WICK_ROLL
    for (int p = half * Ctx::kWave + lane; p < 16 * bucket / 8; p += kHalves * Ctx::kWave) {
      const int n = p / (bucket / 8), d = p % (bucket / 8) * 8;
      const int32 r = place.first + row_of_wave(ctx, g) + n;
      if (d >= size || r >= (kOwnsKeys ? a.shape.keys : a.shape.rows())) continue;
      const int64 at = kOwnsKeys
                           ? place.b * strides.batch + place.g * strides.head + r * strides.row
                           : AttentionRow::of(a.shape, place.g, r).offset(strides, place.b);
      store_pack(to + at + d, load_pack<8>(own + n * P::kStride + d));
    }
  }
};

/// together: one kernel computes the gradients of keys and values above D 128 too. RDNA's registers
/// and shared memory cannot hold both, nor can the emulator's, which runs RDNA's layouts.
template <class T, bool together, bool masked = false>
struct SdpaGradientTilesLaunch : SdpaGradientCall<T, masked> {
  using Base = SdpaGradientCall<T, masked>;

  static const char* accepts(const Call& call, const DeviceInfo&) {
    if (const char* why = Base::check(call, kMaxHeadDim)) return why;
    if (masked && Base::attention(call).larger_dim() > 128)
      return "D is above 128, which leaves biases no registers";
    if (call.in[1].shape[3] % 8 != 0 || call.in[3].shape[3] % 8 != 0)
      return "D is no multiple of 8";
    const View* const rows[] = {&call.in[0],  &call.in[1],  &call.in[2], &call.in[3],
                                &call.out[0], &call.out[1], &call.out[2]};
    for (const View* x : rows)
      if (!heads_are_aligned(*x)) return "a row is not aligned to 16 bytes";
    return nullptr;
  }
  static int64 scratch_bytes(const Call& call, const DeviceInfo&) {
    const AttentionShape shape = Base::attention(call).shape();
    return all_tiles(shape) * int64(kRangeRows * sizeof(GradientRow) + sizeof(KeyRange));
  }
  static Status run(const Call& call) {
    const int64 head_dim = Base::attention(call).larger_dim();
    if (head_dim <= 64) return run_in<64>(call);
    if constexpr (!masked)  // fewer kernels to compile
      if (head_dim <= 96) return run_in<96>(call);
    if (masked || head_dim <= 128) return run_in<128>(call);
    if constexpr (!masked) return run_in<256>(call);
  }

 private:
  static int64 tiles_of(const AttentionShape& shape) {
    return ceil_div<int64>(shape.rows(), kRangeRows);
  }
  static int64 all_tiles(const AttentionShape& shape) {
    return shape.batch * shape.key_heads.divisor * tiles_of(shape);
  }
  template <int bucket>
  static Status run_in(const Call& call) {
    using Queries = SdpaGradientTiles<T, bucket, 1, GradientOf::kQueries, masked>;
    GradientTileArgs<T> args{};
    static_cast<GradientArgs<T>&>(args) = Base::args(call);
    const View& y = call.in[5];
    args.y = y.as<T>();
    args.y_strides = HeadStrides::of(y);
    args.factor = args.scale * kLog2E;
    args.tiles = int32(tiles_of(args.shape));
    args.rows = static_cast<GradientRow*>(call.scratch);
    args.ranges = reinterpret_cast<KeyRange*>(args.rows + all_tiles(args.shape) * kRangeRows);
    if (call.in[1].numel() > 0) {
      args.chunks = FastDivide::by(args.tiles);
      if (const Status status = launch<SdpaGradientRows<T>>(args, call); !status.ok())
        return status;
      args.chunks = FastDivide::by(ceil_div(args.shape.rows(), Queries::kRows));
      if (const Status status = launch<Queries>(args, call); !status.ok()) return status;
    }
    if (call.in[2].numel() == 0) return {};
    if constexpr (bucket <= 128 || together) {
      return run_keys<SdpaGradientTiles<T, bucket, 1, GradientOf::kKeysAndValues, masked>>(args,
                                                                                           call);
    } else {
      using Keys = SdpaGradientTiles<T, bucket, 1, GradientOf::kKeys, masked>;
      if (const Status status = run_keys<Keys>(args, call); !status.ok()) return status;
      return run_keys<SdpaGradientTiles<T, bucket, 1, GradientOf::kValues, masked>>(args, call);
    }
  }
  template <class Keys>
  static Status run_keys(GradientTileArgs<T>& args, const Call& call) {
    args.chunks = FastDivide::by(ceil_div(args.shape.keys, Keys::kRows));
    return launch<Keys>(args, call);
  }
};

}  // namespace wick::gpu
