// sample: an id per row of [B, V], in three launches.
//
// 1. SampleAdjust: blocks share a row in chunks. Each applies the bias, the penalties and the mask,
//    and each of its waves finds the largest logit of its part.
// 2. SampleKeep: the blocks weigh their logits, exp((x - largest) / temperature), and write those
//    that the row may still keep, in ascending order of ids. The waves' largest logits bound the
//    top_k: its edge is no smaller than the k-th of them.
// 3. SampleDraw: a block a row finds the edges of top_k and top_p among the few that are left and
//    draws. Where a thread has one logit, it compares it with all others; where there are more of
//    them, the block goes digit by digit of the logits' ordered bits.
//
// Weights are added up as integers, so that no sum depends on an order. A greedy row takes no part
// in the second launch, and in the third only compares the waves' largest logits.
#pragma once
#include "kernels/block_scan.h"
#include "kernels/logit_key.h"
#include "kernels/row_groups.h"
#include "scalar/philox.h"
#include "wick/abi/ops/sample.h"

namespace wick::gpu {

/// The largest of some logits.
template <class Key>
struct LargestLogit {
  Key key;    // after bias, penalties and mask
  Key given;  // the largest before them
  uint32 id;  // the first one of `key`
  struct Step {
    /// By value: with references clang 19 selects an address, which puts both operands into memory.
    WICK_DEVICE LargestLogit operator()(LargestLogit a, LargestLogit b) const {
      const bool first = a.key > b.key || (a.key == b.key && a.id < b.id);
      return {first ? a.key : b.key, a.given > b.given ? a.given : b.given, first ? a.id : b.id};
    }
  };
};
template <int mask, class Ctx, class Key>
WICK_DEVICE LargestLogit<Key> exchange(const Ctx& ctx, const LargestLogit<Key>& v) {
  return {ctx.template shuffle_xor<mask>(v.key), ctx.template shuffle_xor<mask>(v.given),
          ctx.template shuffle_xor<mask>(v.id)};
}
/// How the rows are cut, and the scratch memory between the launches. C: f32 or f64.
template <class C>
struct SamplePlan {
  using Keys = LogitKey<C>;
  using Key = typename Keys::Key;
  using Largest = LargestLogit<Key>;
  static constexpr int kThreads = 256, kItems = 8, kTile = kThreads * kItems;
  static constexpr int kMaxChunks = 128;

  /// A chunk's weights.
  struct Chunk {
    uint64 all, kept;  // sums
    uint64 count;      // of the kept
  };
  const SampleSettings* settings;  // [rows]
  C* x;         // [rows, chunks, length]: adjusted; after SampleKeep the chunk's kept logits
  uint32* ids;  // of the kept logits
  Key *largest, *given;  // [rows, groups]: of LargestLogit, in arrays of their own since cards
  uint32* largest_ids;   // load 12 bytes slowly
  Chunk* kept;           // [rows, chunks]
  FastDivide chunks;     // per row
  uint32 length;         // of a chunk, a multiple of kTile
  int32 groups;          // waves of a row's chunks
  int32 rows;
  uint32 columns;
  int32 fraction_bits;  // of weights

  static SamplePlan of(const Call& call) {
    const View& logits = call.in[0];
    const int64 rows = logits.shape[0], columns = logits.shape[1];
    const int64 tiles = ceil_div<int64>(columns, kTile);
    const int64 length = ceil_div<int64>(tiles, kMaxChunks) * kTile;
    const int64 chunks = ceil_div(columns, length);
    SamplePlan plan{};
    plan.settings = call.in[1].template as<const SampleSettings>();
    plan.chunks = FastDivide::by(chunks);
    plan.length = uint32(length);
    plan.groups = int32(chunks * (kThreads / wave_of(call.device)));
    plan.rows = int32(rows);
    plan.columns = uint32(columns);
    plan.fraction_bits = 62;  // a row's weights add up to at most 2^63
    while (columns > int64(1) << (62 - plan.fraction_bits)) plan.fraction_bits--;
    if (plan.fraction_bits > 52) plan.fraction_bits = 52;
    plan.place(static_cast<char*>(call.scratch));
    return plan;
  }
  int64 bytes() const {
    SamplePlan plan = *this;
    return plan.place(nullptr);
  }

  WICK_DEVICE int64 begin(int row, int chunk) const {
    return (int64(row) * chunks.divisor + chunk) * length;
  }
  /// The largest logit of a row, in every thread of the block.
  template <class Ctx>
  WICK_DEVICE Largest largest_of_row(const Ctx& ctx, Largest (&shared)[Ctx::kWaves],
                                     int row) const {
    const int64 first = int64(row) * groups;
    Largest all{0, 0, ~0u};
    for (int64 g = first + ctx.thread(); g < first + groups; g += Ctx::kThreads)
      all = typename Largest::Step()(all, Largest{largest[g], given[g], largest_ids[g]});
    return combine_block<typename Largest::Step>(ctx, shared, all);
  }
  /// Whether the row takes its largest logit's id.
  static WICK_DEVICE bool is_greedy(const SampleSettings& s, const Largest& of_row) {
    return !(s.temperature > 0) || !Keys::is_finite(of_row.key);
  }

 private:
  /// Sets the pointers into scratch memory. Returns its size.
  int64 place(char* from) {
    int64 used = 0;
    const auto take = [&]<class T>(T*& p, int64 count) {
      if (from) p = reinterpret_cast<T*>(from + used);
      used += round_up<int64>(count * int64(sizeof(T)), 16);
    };
    const int64 all = int64(rows) * chunks.divisor;
    take(x, all * length);
    take(ids, all * length);
    take(largest, int64(rows) * groups);
    take(given, int64(rows) * groups);
    take(largest_ids, int64(rows) * groups);
    take(kept, all);
    return used;
  }
};

// x = the adjusted logits; largest = each wave's largest one. Block: a chunk of a row.
template <class T>
struct SampleAdjust {
  using C = Compute<T>;
  using Plan = SamplePlan<C>;
  using Keys = typename Plan::Keys;
  using Largest = typename Plan::Largest;
  struct Args {
    Plan plan;
    const T* logits;
    int64 stride;  // of rows
    bool aligned;
    const SampleState* state;
    const int64* tokens;  // nullptr: left out
    int64 tokens_length;
    const int64* bias_ids;
    const float* bias;
    int32 biases;       // per row
    const int32* mask;  // nullptr: all are allowed
  };
  static constexpr int kThreads = Plan::kThreads, kTile = Plan::kTile, kPack = kFloatPack<T>;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {a.plan.rows * int(a.plan.chunks.divisor)}; }
  template <class Ctx>
  struct Shared {
    uint32 counts[kTile];
    float bias[kTile];
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const Plan& plan = a.plan;
    const int row = plan.chunks.quotient(ctx.block().x);
    const int chunk = ctx.block().x - row * plan.chunks.divisor;
    const SampleSettings settings = plan.settings[row];
    const int64 seen = settings.penalizes() ? seen_of(a, row) : 0;
    const bool stores = settings.temperature > 0;
    const T* const from = a.logits + row * a.stride;
    C* const to = plan.x + plan.begin(row, chunk);
    const uint32 begin = chunk * plan.length;
    Largest largest{0, 0, ~0u};
    for (uint32 tile = begin; tile < begin + plan.length && tile < plan.columns; tile += kTile) {
      if (seen > 0 || a.biases > 0) gather(ctx, shared, a, row, seen, tile);
      WICK_UNROLL
      for (int k = 0; k < Plan::kItems / kPack; k++) {
        const uint32 within = (k * kThreads + ctx.thread()) * kPack, first = tile + within;
        C v[kPack];
        load_part(from, first, plan.columns, a.aligned, C(0), v);
        WICK_UNROLL
        for (int e = 0; e < kPack; e++) {
          const uint32 id = first + e;
          if (id >= plan.columns) continue;
          const auto given = Keys::of(v[e]);
          if (a.biases > 0) v[e] += C(shared.bias[within + e]);
          if (seen > 0 && shared.counts[within + e] > 0)
            v[e] = settings.penalized(v[e], shared.counts[within + e]);
          if (a.mask && !allows(a, row, id)) v[e] = -__builtin_bit_cast(C, Keys::kInfinity);
          largest = typename Largest::Step()(largest, Largest{Keys::of(v[e]), given, id});
          if (stores) to[first - begin + e] = v[e];
        }
      }
      ctx.sync();  // before the next tile's counts
    }
    masks_down<Ctx::kWave / 2, 1>([&]<int mask>() {
      largest = typename Largest::Step()(largest, exchange<mask>(ctx, largest));
    });
    if (ctx.lane() != 0) return;
    const int64 group = int64(row) * plan.groups + chunk * Ctx::kWaves + ctx.wave();
    plan.largest[group] = largest.key;
    plan.given[group] = largest.given;
    plan.largest_ids[group] = largest.id;
  }

 private:
  static WICK_DEVICE int64 seen_of(const Args& a, int row) {
    if (!a.tokens) return 0;
    const int64 seen = a.state[row].seen;
    return seen < a.tokens_length ? seen : a.tokens_length;
  }
  static WICK_DEVICE bool allows(const Args& a, int row, uint32 id) {
    const int64 words = ceil_div(a.plan.columns, 32u);
    return (uint32(a.mask[row * words + id / 32]) >> (id % 32) & 1) != 0;
  }
  /// Counts the tokens, and adds up the biases, of the tile's ids.
  template <class Ctx>
  static WICK_DEVICE void gather(const Ctx& ctx, Shared<Ctx>& shared, const Args& a, int row,
                                 int64 seen, uint32 tile) {
    for (int i = ctx.thread(); i < kTile; i += kThreads) shared.counts[i] = 0, shared.bias[i] = 0;
    ctx.sync();
    const int64* const tokens = a.tokens + (a.tokens ? row * a.tokens_length : 0);
    constexpr int kTogether = 4;  // loads on their way
    for (int64 t = ctx.thread(); t < seen; t += kThreads * kTogether) {
      uint64 places[kTogether];
      WICK_UNROLL
      for (int k = 0; k < kTogether; k++)
        places[k] = t + k * kThreads < seen ? uint64(tokens[t + k * kThreads]) - tile : kTile;
      WICK_UNROLL
      for (int k = 0; k < kTogether; k++)
        if (places[k] < kTile) Ctx::atomic_add(&shared.counts[places[k]], uint32(1));
    }
    for (int i = ctx.thread(); i < a.biases; i += kThreads) {
      const uint64 place = uint64(a.bias_ids[int64(row) * a.biases + i]) - tile;
      if (place < kTile) Ctx::atomic_add(&shared.bias[place], a.bias[int64(row) * a.biases + i]);
    }
    ctx.sync();
  }
};

/// The weights of a row's logits, as integers: the largest logit weighs 2^fraction_bits.
template <class C>
struct LogitWeight {
  C largest, temperature, scale;

  WICK_DEVICE LogitWeight(C largest, const SampleSettings& s, int fraction_bits)
      : largest(largest), temperature(C(s.temperature)), scale(C(uint64(1) << fraction_bits)) {}
  WICK_DEVICE C real(C x) const { return exp((x - largest) / temperature); }
  /// At least 1 unless `real` is 0.
  static WICK_DEVICE uint64 whole(C real, C scale) {
    if (!(real > C(0))) return 0;
    const uint64 whole = uint64(real * scale);
    return whole > 0 ? whole : 1;
  }
  WICK_DEVICE uint64 operator()(C x) const { return whole(real(x), scale); }
};

// x, ids = the logits that the row may keep, and their ids. Block: a chunk of a row.
template <class C>
struct SampleKeep {
  using Plan = SamplePlan<C>;
  using Keys = typename Plan::Keys;
  using Key = typename Plan::Key;
  using Largest = typename Plan::Largest;
  struct Args {
    Plan plan;
  };
  static constexpr int kThreads = Plan::kThreads, kItems = Plan::kItems, kTile = Plan::kTile;
  static constexpr int kMaxGroups = Plan::kMaxChunks * (kThreads / 32);
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {a.plan.rows * int(a.plan.chunks.divisor)}; }
  template <class Ctx>
  struct Shared {
    Key groups[kMaxGroups];
    Key keys[Ctx::kWaves];
    Largest largest[Ctx::kWaves];
    uint64 sums[Ctx::kWaves];
    uint32 counts[Ctx::kWaves];
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const Plan& plan = a.plan;
    const int row = plan.chunks.quotient(ctx.block().x);
    const int chunk = ctx.block().x - row * plan.chunks.divisor;
    const SampleSettings s = plan.settings[row];
    const Largest of_row = plan.largest_of_row(ctx, shared.largest, row);
    if (Plan::is_greedy(s, of_row)) return;
    const bool has_top_k = s.top_k >= 1 && s.top_k < float(plan.columns);
    const Key least = has_top_k && s.top_k <= float(plan.groups)
                          ? bound_of_top_k(ctx, shared, plan, row, int(s.top_k))
                          : Key(0);
    const LogitWeight<C> weigh(Keys::value(of_row.key), s, plan.fraction_bits);
    const C lightest = lightest_kept(s, has_top_k, plan.columns);
    C* const x = plan.x + plan.begin(row, chunk);
    uint32* const ids = plan.ids + plan.begin(row, chunk);
    const uint32 begin = chunk * plan.length;
    const uint32 length = plan.columns - begin < plan.length ? plan.columns - begin : plan.length;
    uint64 all = 0, kept = 0;
    uint32 count = 0;
    for (uint32 tile = 0; tile < length; tile += kTile) {
      const uint32 first = tile + ctx.thread() * kItems;
      C v[kItems];
      uint32 own = 0, chosen = 0;
      load_part(x, first, length, true, C(0), v);
      WICK_UNROLL
      for (int e = 0; e < kItems; e++) {
        if (first + e >= length) continue;
        const C real = weigh.real(v[e]);
        const uint64 weight = weigh.whole(real, weigh.scale);
        all += weight;
        if (weight == 0 || Keys::of(v[e]) < least || real < lightest) continue;
        kept += weight;
        own++;
        chosen |= 1u << e;
      }
      // Ends with a sync, before which every thread has loaded: no kept logit moves up.
      const Scanned<uint32> place = scan_threads<Plus>(ctx, shared.counts, own, uint32(0));
      uint32 to = count + place.before;
      WICK_UNROLL
      for (int e = 0; e < kItems; e++) {
        if ((chosen >> e & 1) == 0) continue;
        x[to] = v[e];
        ids[to] = begin + first + e;
        to++;
      }
      count += place.total;
    }
    all = combine_block<Plus>(ctx, shared.sums, all);
    kept = combine_block<Plus>(ctx, shared.sums, kept);
    if (ctx.thread() == 0) plan.kept[int64(row) * plan.chunks.divisor + chunk] = {all, kept, count};
  }

 private:
  /// The k-th largest of the waves' largest logits: k logits of the row are no smaller.
  template <class Ctx>
  static WICK_DEVICE Key bound_of_top_k(const Ctx& ctx, Shared<Ctx>& shared, const Plan& plan,
                                        int row, int k) {
    for (int g = ctx.thread(); g < plan.groups; g += kThreads)
      shared.groups[g] = plan.largest[int64(row) * plan.groups + g];
    ctx.sync();
    Key bound = 0;
    for (int g = ctx.thread(); g < plan.groups; g += kThreads) {
      const Key key = shared.groups[g];
      int as_large = 0;
      for (int other = 0; other < plan.groups; other++) as_large += shared.groups[other] >= key;
      if (as_large >= k && key > bound) bound = key;
    }
    return combine_block<LargerKey>(ctx, shared.keys, bound);
  }
  /// A weight below which no logit is kept. Those below (1 - top_p) / V add up to less than 1 -
  /// top_p, a share that top_p leaves out since the weights add up to at least 1; half of it, for
  /// rounding. The edge of top_p among a top_k depends on all weights of the top_k.
  static WICK_DEVICE C lightest_kept(const SampleSettings& s, bool has_top_k, uint32 columns) {
    const bool has_top_p = s.top_p < 1;
    C lightest = s.min_p > 0 ? C(s.min_p < 1 ? s.min_p : 1.0f) : C(0);
    if (has_top_p && has_top_k) return C(0);
    if (has_top_p) {
      const C left_out = (C(1) - C(s.top_p)) / (C(2) * C(columns));
      if (left_out > lightest) lightest = left_out;
    }
    return lightest;
  }
};

// ids = the drawn ids. Block: a row.
template <class C>
struct SampleDraw {
  using Plan = SamplePlan<C>;
  using Keys = typename Plan::Keys;
  using Key = typename Plan::Key;
  using Largest = typename Plan::Largest;
  struct Args {
    Plan plan;
    int64* ids;
    const SampleState* state;  // nullptr: uniform has the numbers
    const float* uniform;
    bool marks;
  };
  static constexpr int kThreads = 512;
  static constexpr int kDigitBits = 3, kDigits = 1 << kDigitBits;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {a.plan.rows}; }
  template <class Ctx>
  struct Shared {
    static_assert(Ctx::kWaves >= kDigits);  // each adds up one digit
    uint64 sums[kDigits][kThreads];
    uint64 totals[kDigits];
    uint64 chunks[Plan::kMaxChunks];
    Largest largest[Ctx::kWaves];
    uint64 waves[Ctx::kWaves];
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const Plan& plan = a.plan;
    const int row = ctx.block().x;
    const SampleSettings s = plan.settings[row];
    const Largest largest = plan.largest_of_row(ctx, shared.largest, row);
    int64 id = largest.id;
    if (!Plan::is_greedy(s, largest)) id = draw(ctx, shared, a, row, s, largest);
    if (a.marks && !Keys::is_finite(largest.key)) id = kUnusableIds;
    if (a.marks && !Keys::is_finite(largest.given)) id = kUnusableLogits;
    if (ctx.thread() == 0) a.ids[row] = id;
  }

 private:
  template <class Ctx>
  static WICK_DEVICE uint32 draw(const Ctx& ctx, Shared<Ctx>& shared, const Args& a, int row,
                                 const SampleSettings& s, const Largest& largest) {
    const Plan& plan = a.plan;
    const LogitWeight<C> weigh(Keys::value(largest.key), s, plan.fraction_bits);
    const Logits logits{plan, row};
    uint64 all = 0, count = 0;
    for (int c = ctx.thread(); c < int(plan.chunks.divisor); c += kThreads) {
      const auto& chunk = logits.chunk(c);
      all += chunk.all, count += chunk.count;
      shared.chunks[c] = chunk.kept;
    }
    all = combine_block<Plus>(ctx, shared.waves, all);
    count = combine_block<Plus>(ctx, shared.waves, count);

    Key least = 0;  // the smallest key that is kept
    const bool has_top_k = s.top_k >= 1 && s.top_k < float(plan.columns);
    const auto one = [](C) { return uint64(1); };
    const bool cuts = has_top_k && uint64(s.top_k) < count;
    const Few few(ctx, shared, logits, count);
    const auto edge = [&](const auto& weight, uint64 target) {
      return few.all ? few.edge(ctx, shared, least, weight, target)
                     : edge_of_many(ctx, shared, logits, least, weight, target);
    };
    if (cuts) least = edge(one, uint64(s.top_k));
    if (s.top_p < 1) {
      if (has_top_k) {
        all = 0;
        logits.each(ctx, [&](C x, uint32) { all += Keys::of(x) >= least ? weigh(x) : 0; });
        all = combine_block<Plus>(ctx, shared.waves, all);
      }
      const double target = double(s.top_p) * double(all);
      least = edge(weigh, target >= 1 ? uint64(target) : 1);
    }
    const C lightest = s.min_p > 0 ? C(s.min_p < 1 ? s.min_p : 1.0f) : C(0);
    const auto kept = [&](C x) {
      const C real = weigh.real(x);
      return Keys::of(x) >= least && real >= lightest ? weigh.whole(real, weigh.scale) : 0;
    };
    if (cuts || s.top_p < 1) {
      for (int c = ctx.wave(); c < int(plan.chunks.divisor); c += Ctx::kWaves) {
        uint64 sum = 0;
        logits.each_of_chunk(ctx, c, [&](C x, uint32) { sum += kept(x); });
        masks_down<Ctx::kWave / 2, 1>(
            [&]<int mask>() { sum += ctx.template shuffle_xor<mask>(sum); });
        if (ctx.lane() == 0) shared.chunks[c] = sum;
      }
      ctx.sync();
    }
    const float uniform =
        a.state ? philox_uniform(uint64(a.state[row].seed), uint64(a.state[row].index))
                : a.uniform[row];
    return pick(ctx, shared, logits, kept, uniform, largest.id);
  }

  /// The logits of a row that SampleKeep kept.
  struct Logits {
    const Plan& plan;
    int row;

    WICK_DEVICE const typename Plan::Chunk& chunk(int c) const {
      return plan.kept[int64(row) * plan.chunks.divisor + c];
    }
    /// Calls f(logit, place) for this lane's logits of a chunk.
    template <class Ctx, class F>
    WICK_DEVICE void each_of_chunk(const Ctx& ctx, int c, const F& f) const {
      constexpr int kTogether = 4;  // loads on their way
      const C* const x = plan.x + plan.begin(row, c);
      const auto count = uint32(chunk(c).count);
      for (uint32 i = ctx.lane(); i < count; i += Ctx::kWave * kTogether) {
        C v[kTogether];
        WICK_UNROLL
        for (int k = 0; k < kTogether; k++) {
          const uint32 at = i + k * Ctx::kWave;
          v[k] = at < count ? x[at] : C(0);
        }
        WICK_UNROLL
        for (int k = 0; k < kTogether; k++)
          if (i + k * Ctx::kWave < count) f(v[k], i + k * Ctx::kWave);
      }
    }
    /// The same for the thread's logits of the row: a wave takes whole chunks.
    template <class Ctx, class F>
    WICK_DEVICE void each(const Ctx& ctx, const F& f) const {
      for (int c = ctx.wave(); c < int(plan.chunks.divisor); c += Ctx::kWaves)
        each_of_chunk(ctx, c, f);
    }
  };

  /// The logits of a row that SampleKeep kept, each in a thread, if there are enough threads.
  struct Few {
    bool all;  // whether every logit has a thread
    uint32 count;
    C x;  // of the thread, if it is one of the first `count`

    template <class Ctx>
    WICK_DEVICE Few(const Ctx& ctx, Shared<Ctx>& shared, const Logits& logits, uint64 left)
        : all(left <= uint64(kThreads)), count(uint32(left)), x(0) {
      if (!all) return;
      const int chunks = int(logits.plan.chunks.divisor);
      uint32* const counts = reinterpret_cast<uint32*>(shared.sums[2]);
      for (int c = ctx.thread(); c < chunks; c += kThreads)
        counts[c] = uint32(logits.chunk(c).count);
      ctx.sync();
      auto place = uint32(ctx.thread());
      if (place >= count) return;
      int c = 0;
      while (place >= counts[c]) place -= counts[c++];
      x = logits.plan.x[logits.plan.begin(logits.row, c) + place];
    }
    /// As edge_of_many.
    template <class Ctx, class Weigh>
    WICK_DEVICE Key edge(const Ctx& ctx, Shared<Ctx>& shared, Key least, const Weigh& weigh,
                         uint64 target) const {
      uint64 *const keys = shared.sums[0], *const weights = shared.sums[1];
      const uint64 key = Keys::of(x);
      const bool takes_part = uint32(ctx.thread()) < count && key >= least;
      keys[ctx.thread()] = key;
      weights[ctx.thread()] = takes_part ? weigh(x) : 0;
      ctx.sync();
      uint64 from_key_on = 0;
      for (uint32 i = 0; i < count; i++) from_key_on += keys[i] >= key ? weights[i] : 0;
      const uint64 reaches = takes_part && from_key_on >= target ? key : 0;
      const uint64 found = combine_block<LargerKey>(ctx, shared.waves, reaches);
      if (found > 0) return Key(found);
      const uint64 smallest = ~combine_block<LargerKey>(ctx, shared.waves, takes_part ? ~key : 0);
      return smallest == ~uint64(0) ? least : Key(smallest);
    }
  };

  /// Finds, among the logits with keys from `least` on, the largest key such that the weights from
  /// that key on reach the target, or the smallest key if they do not.
  template <class Ctx, class Weigh>
  static WICK_DEVICE Key edge_of_many(const Ctx& ctx, Shared<Ctx>& shared, const Logits& logits,
                                      Key least, const Weigh& weigh, uint64 target) {
    Key found = 0;  // the upper digits, the others are 0
    uint64 above = 0;
    for (int shift = Keys::kBits; shift > 0;) {
      const int upper = shift, width = shift < kDigitBits ? shift : kDigitBits;
      shift -= width;
      for (int digit = 0; digit < kDigits; digit++) shared.sums[digit][ctx.thread()] = 0;
      logits.each(ctx, [&](C x, uint32) {
        const Key key = Keys::of(x);
        // In two steps: a shift by all bits is undefined.
        if (key < least || ((key ^ found) >> (upper - 1)) >> 1 != 0) return;
        shared.sums[int(key >> shift) & ((1 << width) - 1)][ctx.thread()] += weigh(x);
      });
      ctx.sync();
      add_digit(ctx, shared);
      ctx.sync();
      int digit = kDigits - 1, lowest = 0;
      for (; digit >= 0; digit--) {
        const uint64 here = shared.totals[digit];
        if (here > 0) {
          if (above + here >= target) break;
          lowest = digit;
        }
        above += here;
      }
      if (digit < 0) {
        digit = lowest;
        above -= shared.totals[digit];
      }
      found |= Key(digit) << shift;
      ctx.sync();
    }
    return found > least ? found : least;
  }
  /// Wave w adds up digit w over all threads.
  template <class Ctx>
  static WICK_DEVICE void add_digit(const Ctx& ctx, Shared<Ctx>& shared) {
    if (ctx.wave() >= kDigits) return;  // the whole wave
    uint64 sum = 0;
    for (int i = ctx.lane(); i < kThreads; i += Ctx::kWave) sum += shared.sums[ctx.wave()][i];
    masks_down<Ctx::kWave / 2, 1>([&]<int mask>() { sum += ctx.template shuffle_xor<mask>(sum); });
    if (ctx.lane() == 0) shared.totals[ctx.wave()] = sum;
  }

  /// The first id up to which the weights exceed the uniform number's share of all. Every wave
  /// searches the chunk that has it. otherwise: if all weights are 0.
  template <class Ctx, class Kept>
  static WICK_DEVICE uint32 pick(const Ctx& ctx, const Shared<Ctx>& shared, const Logits& logits,
                                 const Kept& kept, float uniform, uint32 otherwise) {
    const int chunks = int(logits.plan.chunks.divisor);
    uint64 total = 0;
    for (int c = 0; c < chunks; c++) total += shared.chunks[c];
    if (total == 0) return otherwise;
    const double share = uniform > 0 ? double(uniform) * double(total) : 0;
    const uint64 target = share < double(total) ? uint64(share) : total - 1;
    uint64 before = 0;
    int c = 0;
    while (c + 1 < chunks && before + shared.chunks[c] <= target) before += shared.chunks[c++];
    const C* const x = logits.plan.x + logits.plan.begin(logits.row, c);
    const uint32* const ids = logits.plan.ids + logits.plan.begin(logits.row, c);
    const auto count = uint32(logits.chunk(c).count);
    const int lane = ctx.lane();
    for (uint32 first = 0; first < count; first += Ctx::kWave) {
      uint64 up_to = first + lane < count ? kept(x[first + lane]) : 0;
      for (int step = 1; step < Ctx::kWave; step *= 2) {
        const uint64 lower = ctx.shuffle(up_to, lane >= step ? lane - step : lane);
        if (lane >= step) up_to += lower;
      }
      const uint64 beyond = ctx.ballot(before + up_to > target);
      if (beyond != 0) return ids[first + Ctx::count_bits((beyond & (~beyond + 1)) - 1)];
      before += ctx.shuffle(up_to, Ctx::kWave - 1);
    }
    return otherwise;
  }
};

template <class T>
struct Sample {
  using C = Compute<T>;
  using Plan = SamplePlan<C>;
  static constexpr Signature signature{kSample, kDTypeOf<T>};

  static const char* accepts(const Call& call, const DeviceInfo&) {
    const View& x = call.in[0];
    if (x.rank != 2 || x.shape[1] == 0) return "the logits are not [B, V]";
    if (const char* why = check_rows(x)) return why;
    if (x.shape[0] * ceil_div<int64>(x.shape[1], Plan::kTile) > kLaunchLimit)
      return "there is more than a launch covers";
    for (int i = 1; i < call.num_in; i++)
      if (!call.in[i].contiguous()) return "an operand is not contiguous";
    return check_vectors(x.shape[0], call.out[0]);
  }
  static int64 scratch_bytes(const Call& call, const DeviceInfo&) { return Plan::of(call).bytes(); }
  static Status run(const Call& call) {
    const View &x = call.in[0], &state = call.in[2], &uniform = call.in[3], &tokens = call.in[4],
               &bias_ids = call.in[5], &bias = call.in[6], &mask = call.in[7];
    if (x.shape[0] == 0) return {};
    const Plan plan = Plan::of(call);
    const auto* states = part<SampleState>(state);
    typename SampleAdjust<T>::Args adjust{plan,
                                          x.as<T>(),
                                          x.strides[0],
                                          rows_are_aligned(x),
                                          states,
                                          states ? part<int64>(tokens) : nullptr,
                                          tokens.shape[tokens.rank - 1],
                                          part<int64>(bias_ids),
                                          part<float>(bias),
                                          bias.numel() > 0 ? int32(bias.shape[1]) : 0,
                                          part<int32>(mask)};
    if (const Status status = launch<SampleAdjust<T>>(adjust, call); !status.ok()) return status;
    if (const Status status = launch<SampleKeep<C>>({plan}, call); !status.ok()) return status;
    const auto& attributes = *static_cast<const SampleAttributes*>(call.attributes);
    return launch<SampleDraw<C>>(
        {plan, call.out[0].as<int64>(), states, part<float>(uniform), attributes.marks != 0}, call);
  }

 private:
  template <class P>
  static const P* part(const View& x) {
    return x.numel() > 0 ? x.as<const P>() : nullptr;
  }
};

// append_tokens. Thread: a row.
struct AppendTokens {
  static constexpr Signature signature{kAppendTokens, DType::kI64, kKernelAccumulates};
  struct Args {
    const int64 *drawn, *grows;
    int64 *tokens, *marked, *positions;
    SampleState* state;
    int64* history;
    int64 length;  // of a history
    int32 rows;
  };
  static constexpr int kThreads = 64;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {ceil_div(a.rows, kThreads)}; }
  template <class Ctx>
  struct Shared {};

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const int row = ctx.block().x * kThreads + ctx.thread();
    if (row >= a.rows) return;
    const AppendedToken next(a.drawn[row], a.grows[row] != 0, a.tokens[row], a.positions[row]);
    a.tokens[row] = next.token;
    a.marked[row] = next.marked;
    a.positions[row] = next.position;
    a.state[row].index += next.grows;
    a.state[row].seen += next.grows;
    if (0 <= next.position && next.position < a.length)
      a.history[row * a.length + next.position] = next.token;
  }

  static const char* accepts(const Call& call, const DeviceInfo&) {
    for (int i = 0; i < call.num_in; i++)
      if (!call.in[i].contiguous()) return "an operand is not contiguous";
    for (int i = 0; i < call.num_out; i++)
      if (!call.out[i].contiguous()) return "an operand is not contiguous";
    return call.in[0].numel() <= kLaunchLimit ? nullptr : "there is more than a launch covers";
  }
  static Args args(const Call& call) {
    const auto column = [&](int out) { return call.out[out].as<int64>(); };
    return {call.in[0].as<int64>(),
            call.in[1].as<int64>(),
            column(0),
            column(1),
            column(2),
            call.out[3].as<SampleState>(),
            column(4),
            call.out[4].shape[1],
            int32(call.in[0].numel())};
  }
};

}  // namespace wick::gpu
