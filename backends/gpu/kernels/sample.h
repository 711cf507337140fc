// sample: an id per row of [B, V], one block per row. Finds the thresholds of top_k and top_p
// without sorting, digit by digit of the logits' ordered bits, from each digit's counts or weights.
// Each thread adds up its own, so the result does not depend on scheduling.
#pragma once
#include "kernels/row_groups.h"
#include "wick/abi/ops/sample.h"

namespace wick::gpu {

/// A logit's key in the order of logits: NaN is the largest, the zeros are equal.
template <class T>
struct LogitKey {
  using C = Compute<T>;
  using Key = Bits<sizeof(C)>;
  /// The number of low bits of C that T lacks.
  static constexpr int kDropped = kSame<T, f8e5m2>   ? 21
                                  : kSame<T, f8e4m3> ? 20
                                  : kSame<T, bf16>   ? 16
                                  : kSame<T, f16>    ? 13
                                                     : 0;
  static constexpr int kBits = 8 * sizeof(C) - kDropped;
  static WICK_DEVICE Key of(C x) {
    constexpr Key sign = Key(1) << (8 * sizeof(C) - 1);
    const Key bits = __builtin_bit_cast(Key, x + C(0));  // -0 + 0 = 0
    const Key ordered = x != x ? ~Key(0) : (bits & sign) != 0 ? ~bits : bits | sign;
    return ordered >> kDropped;
  }
};

/// A key and the first id that has it.
template <class Key>
struct FirstLargest {
  Key key;
  uint32 id;
  struct Step {
    /// By value: with references clang 19 selects an address, which puts both operands into memory.
    WICK_DEVICE FirstLargest operator()(FirstLargest a, FirstLargest b) const {
      const bool first = a.key > b.key || (a.key == b.key && a.id < b.id);
      return {first ? a.key : b.key, first ? a.id : b.id};
    }
  };
};
template <int mask, class Ctx, class Key>
WICK_DEVICE FirstLargest<Key> exchange(const Ctx& ctx, const FirstLargest<Key>& v) {
  return {ctx.template shuffle_xor<mask>(v.key), ctx.template shuffle_xor<mask>(v.id)};
}
struct SmallerId {
  WICK_DEVICE uint32 operator()(uint32 a, uint32 b) const { return a < b ? a : b; }
};
struct LargerId {
  WICK_DEVICE uint32 operator()(uint32 a, uint32 b) const { return a > b ? a : b; }
};

template <class T>
struct Sample {
  using C = Compute<T>;
  using Keys = LogitKey<T>;
  using Key = typename Keys::Key;
  struct Args {
    int64* ids;
    const T* logits;
    const float* uniform;
    int64 stride;  // of rows
    int32 rows;
    uint32 columns;
    C temperature, top_p;
    uint32 top_k;  // 0: no limit
    bool aligned;
  };
  static constexpr Signature signature{kSample, kDTypeOf<T>};
  static constexpr int kThreads = 512;  // with 1024 a thread has too few registers
  static constexpr int kPack = kFloatPack<T>;
  static constexpr int kDigitBits = 3, kDigits = 1 << kDigitBits;
  static constexpr uint32 kNone = ~0u;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {a.rows}; }
  template <class Ctx>
  struct Shared {
    static_assert(Ctx::kWaves >= kDigits);  // each adds up one digit
    union {
      C weights[kDigits][kThreads];
      uint32 counts[kDigits][kThreads];
    } sums;
    union {
      C weights[kDigits];
      uint32 counts[kDigits];
    } totals;
    FirstLargest<Key> largest[Ctx::kWaves];
    double waves[Ctx::kWaves];
    uint32 ids[Ctx::kWaves];
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const T* const x = a.logits + ctx.block().x * a.stride;
    const FirstLargest<Key> largest = first_largest(ctx, shared, a, x);
    uint32 id = largest.id;
    if (a.temperature > C(0)) {
      const Weigher weigh{widen<C>(x[largest.id]), a.temperature};
      Key least = 0;  // the smallest key that is kept
      if (a.top_k > 0 && a.top_k < a.columns)
        least = edge(
            ctx, shared.sums.counts, shared.totals.counts, a, x, least, [](C) { return 1u; },
            [&](uint32) { return a.top_k; });
      if (a.top_p < C(1))
        least = edge(ctx, shared.sums.weights, shared.totals.weights, a, x, least, weigh,
                     [&](C total) { return a.top_p * total; });
      id = draw(ctx, shared, a, x, least, weigh);
      if (id == kNone) id = largest.id;  // the weights are NaN
    }
    if (ctx.thread() == 0) a.ids[ctx.block().x] = id;
  }

  static const char* accepts(const Call& call, const DeviceInfo&) {
    const View& x = call.in[0];
    if (x.rank != 2 || x.shape[1] == 0) return "the logits are not [B, V]";
    if (const char* why = check_rows(x)) return why;
    return check_vectors(x.shape[0], call.in[1], call.out[0]);
  }
  static Status run(const Call& call) {
    const View& x = call.in[0];
    const auto& attributes = *static_cast<const SampleAttributes*>(call.attributes);
    if (x.shape[0] == 0) return {};
    const int64 top_k = attributes.top_k < x.shape[1] ? attributes.top_k : 0;
    return launch<Sample>({call.out[0].as<int64>(), x.as<T>(), call.in[1].as<float>(), x.strides[0],
                           int32(x.shape[0]), uint32(x.shape[1]), C(attributes.temperature),
                           C(attributes.top_p), uint32(top_k), rows_are_aligned(x)},
                          call);
  }

 private:
  struct Weigher {
    C max, temperature;
    WICK_DEVICE C operator()(C x) const { return exp((x - max) / temperature); }
  };

  /// Calls f(logit, id) for this thread's part of the row, in ascending order of ids.
  template <class Ctx, class F>
  static WICK_DEVICE void for_each(const Ctx& ctx, const Args& a, const T* x, const F& f) {
    for (uint32 i = ctx.thread() * kPack; i < a.columns; i += kThreads * kPack) {
      C v[kPack];
      load_part(x, i, a.columns, a.aligned, C(0), v);
      for (int e = 0; e < kPack; e++)
        if (i + e < a.columns) f(v[e], i + e);
    }
  }

  template <class Ctx>
  static WICK_DEVICE FirstLargest<Key> first_largest(const Ctx& ctx, Shared<Ctx>& shared,
                                                     const Args& a, const T* x) {
    Key largest = 0;
    uint32 first = kNone;
    for_each(ctx, a, x, [&](C logit, uint32 id) {
      const Key key = Keys::of(logit);
      const bool is_first = key > largest || first == kNone;
      largest = is_first ? key : largest;
      first = is_first ? id : first;
    });
    return combine_block<typename FirstLargest<Key>::Step>(ctx, shared.largest,
                                                           FirstLargest<Key>{largest, first});
  }

  /// Finds, among the logits with keys from `least` on, the largest key such that the weights from
  /// that key on reach the target, a share of the total weight.
  template <class Ctx, class W, class Weigh, class Target>
  static WICK_DEVICE Key edge(const Ctx& ctx, W (&sums)[kDigits][kThreads], W (&totals)[kDigits],
                              const Args& a, const T* x, Key least, const Weigh& weigh,
                              const Target& target_of) {
    Key found = 0;  // the upper digits, the others are 0
    W above = 0, target = 0;
    for (int shift = Keys::kBits; shift > 0;) {
      const int upper = shift, width = shift < kDigitBits ? shift : kDigitBits;
      shift -= width;
      for (int digit = 0; digit < kDigits; digit++) sums[digit][ctx.thread()] = 0;
      for_each(ctx, a, x, [&](C logit, uint32) {
        const Key key = Keys::of(logit);
        // In two steps: a shift by all bits is undefined.
        if (key < least || ((key ^ found) >> (upper - 1)) >> 1 != 0) return;
        sums[int(key >> shift) & ((1 << width) - 1)][ctx.thread()] += weigh(logit);
      });
      ctx.sync();
      add_digit(ctx, sums, totals);
      ctx.sync();
      if (upper == Keys::kBits) {
        W all = 0;
        for (int digit = 0; digit < kDigits; digit++) all += totals[digit];
        target = target_of(all);
      }
      // Rounding may keep the weights below the target: then the lowest digit that occurs.
      int digit = kDigits - 1, lowest = 0;
      for (; digit >= 0; digit--) {
        if (totals[digit] > W(0)) {
          if (above + totals[digit] >= target) break;
          lowest = digit;
        }
        above += totals[digit];
      }
      if (digit < 0) {
        digit = lowest;
        above -= totals[digit];
      }
      found |= Key(digit) << shift;
      ctx.sync();
    }
    return found > least ? found : least;
  }
  /// Wave w adds up digit w over all threads.
  template <class Ctx, class W>
  static WICK_DEVICE void add_digit(const Ctx& ctx, const W (&sums)[kDigits][kThreads],
                                    W (&totals)[kDigits]) {
    if (ctx.wave() >= kDigits) return;  // the whole wave
    W sum = 0;
    for (int i = ctx.lane(); i < kThreads; i += Ctx::kWave) sum += sums[ctx.wave()][i];
    masks_down<Ctx::kWave / 2, 1>([&]<int mask>() { sum += ctx.template shuffle_xor<mask>(sum); });
    if (ctx.lane() == 0) totals[ctx.wave()] = sum;
  }

  /// Loops twice over the ids in tiles of the block's packs. The first pass adds up all weights,
  /// the second finds the first id up to which they exceed the uniform's share: in f64, where a
  /// uniform just below 1 stays below 1. kNone if all weights are 0.
  template <class Ctx>
  static WICK_DEVICE uint32 draw(const Ctx& ctx, Shared<Ctx>& shared, const Args& a, const T* x,
                                 Key least, const Weigher& weigh) {
    double total = 0;
    uint32 last = 0;  // one more than the last id of nonzero weight
    for (uint32 tile = 0; tile < a.columns; tile += kThreads * kPack) {
      const Part part(ctx, a, x, tile, least, weigh);
      if (part.last != kNone) last = part.last + 1;
      total += Scan(ctx, shared, part.sum).total;
    }
    last = combine_block<LargerId>(ctx, shared.ids, last);
    if (!(total > 0)) return kNone;
    const double target = double(a.uniform[ctx.block().x]) * total;
    double before = 0;
    for (uint32 tile = 0; tile < a.columns; tile += kThreads * kPack) {
      const Part part(ctx, a, x, tile, least, weigh);
      const Scan scan(ctx, shared, part.sum);
      if (before + scan.total > target) {
        uint32 id = kNone;
        if (part.sum > 0 && before + (scan.here + part.sum) > target)
          id = part.find(before + scan.here, target);
        id = combine_block<SmallerId>(ctx, shared.ids, id);
        if (id != kNone) return id;
      }
      before += scan.total;
    }
    return last - 1;
  }
  /// The weights of this thread's pack of a tile; 0 for ids that are not kept.
  struct Part {
    C weights[kPack];
    double sum = 0;
    uint32 first, last = kNone;  // last: of nonzero weight
    template <class Ctx>
    WICK_DEVICE Part(const Ctx& ctx, const Args& a, const T* x, uint32 tile, Key least,
                     const Weigher& weigh)
        : first(tile + ctx.thread() * kPack) {
      C v[kPack];
      load_part(x, first, a.columns, a.aligned, C(0), v);
      for (int e = 0; e < kPack; e++) {
        const bool kept = first + e < a.columns && Keys::of(v[e]) >= least;
        weights[e] = kept ? weigh(v[e]) : C(0);
        sum += weights[e];
        if (weights[e] > C(0)) last = first + e;
      }
    }
    /// The first id up to which the weights exceed the target.
    WICK_DEVICE uint32 find(double before, double target) const {
      uint32 id = last;
      for (int e = kPack - 1; e >= 0; e--) {
        double sum_to = before;
        for (int i = 0; i <= e; i++) sum_to += weights[i];
        if (weights[e] > C(0) && sum_to > target) id = first + e;
      }
      return id;
    }
  };
  /// The sum over the threads before this one, and over all threads, in thread order.
  struct Scan {
    double here, total;
    template <class Ctx>
    WICK_DEVICE Scan(const Ctx& ctx, Shared<Ctx>& shared, double sum) {
      const int lane = ctx.lane();
      double up_to = sum;
      for (int step = 1; step < Ctx::kWave; step *= 2) {
        const double lower = ctx.shuffle(up_to, lane >= step ? lane - step : lane);
        if (lane >= step) up_to += lower;
      }
      if (lane == Ctx::kWave - 1) shared.waves[ctx.wave()] = up_to;
      const double lower = ctx.shuffle(up_to, lane > 0 ? lane - 1 : 0);
      ctx.sync();
      total = 0, here = 0;
      for (int w = 0; w < Ctx::kWaves; w++) {
        if (w == ctx.wave()) here = total;
        total += shared.waves[w];
      }
      if (lane > 0) here += lower;
      ctx.sync();
    }
  };
};

}  // namespace wick::gpu
