// sort and topk of the rows of [N, D]: a stable radix sort by digits of 8 bits, the lowest first.
// Rows that fit into a block's shared memory are sorted there, several short ones together. Longer
// rows are sorted in passes over memory: each pass counts the digits in each piece of a row, scans
// the counts, and moves the elements.
#pragma once
#include "kernels/radix.h"
#include "wick/abi/ops/sort.h"

namespace wick::gpu {

/// Rows of any strides. ids: nullptr if an element's id is its index.
template <class U, class Id>
struct SortRows {
  U* x;
  Id* ids;
  int64 row, step;          // strides of x
  int64 ids_row, ids_step;  // strides of ids
};

/// The elements per tile, by element size: as many as shared memory holds.
template <class U>
inline constexpr int kSortItems = sizeof(U) == 8 ? 8 : 16;

// Sorts rows of at most a tile, rows_per_block of them per block: all together by their digits,
// then by their row.
template <class U>
struct SortShort {
  static constexpr int kThreads = kDigits, kItems = kSortItems<U>, kTile = kThreads * kItems;
  struct Args {
    SortRows<U, int64> from, to;
    int64 rows;
    int32 rows_per_block;
    FastDivide length;  // D
    uint32 wanted;      // K
    int32 passes;       // digits that elements differ in, the lowest ones
    KeyRule rule;
  };
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {int(ceil_div<int64>(a.rows, a.rows_per_block))}; }
  template <class Ctx>
  struct Shared {
    DigitCounts<Ctx> digits;
    U x[kTile];
    uint16 places[kTile];
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const uint32 length = a.length.divisor;
    const int64 first_row = int64(ctx.block().x) * a.rows_per_block, left = a.rows - first_row;
    const int rows = left < a.rows_per_block ? int(left) : a.rows_per_block;
    const int count = rows * int(length), rounds = ceil_div(count, kThreads);
    for (int e = ctx.thread(); e < count; e += kThreads) {
      const uint32 row = a.length.quotient(e);
      shared.x[e] = a.from.x[(first_row + row) * a.from.row + (e - row * length) * a.from.step];
      shared.places[e] = uint16(e);
    }
    ctx.sync();
    const int passes = a.passes + (rows > 1 ? 1 : 0);
    for (int pass = 0; pass < passes; pass++)
      sort_by(ctx, shared, count, rounds, [&](U bits, uint32 place) {
        return pass < a.passes ? a.rule.digit(bits, pass) : a.length.quotient(place);
      });
    for (int e = ctx.thread(); e < count; e += kThreads) {
      const uint32 row = a.length.quotient(e), begin = row * length, rank = e - begin;
      if (rank >= a.wanted) continue;
      a.to.x[(first_row + row) * a.to.row + rank * a.to.step] = shared.x[e];
      a.to.ids[(first_row + row) * a.to.ids_row + rank * a.to.ids_step] = shared.places[e] - begin;
    }
  }

 private:
  template <class Ctx, class Digit>
  static WICK_DEVICE void sort_by(const Ctx& ctx, Shared<Ctx>& shared, int count, int rounds,
                                  const Digit& digit) {
    const int first = ctx.wave() * rounds * Ctx::kWave + ctx.lane();
    U x[kItems];
    uint32 places[kItems];  // the rank in the bits above the index
    shared.digits.clear(ctx);
    WICK_UNROLL
    for (int k = 0; k < kItems; k++) {
      if (k >= rounds) continue;
      const int e = first + k * Ctx::kWave;
      const bool active = e < count;
      x[k] = active ? shared.x[e] : U(0);
      places[k] = active ? shared.places[e] : 0;
      places[k] |= shared.digits.rank(ctx, digit(x[k], places[k]), active) << 16;
    }
    ctx.sync();
    shared.digits.place(ctx);
    WICK_UNROLL
    for (int k = 0; k < kItems; k++) {
      if (k >= rounds || first + k * Ctx::kWave >= count) continue;
      const uint32 place = places[k] & 0xffff;
      const uint32 to = shared.digits.begin(ctx, digit(x[k], place)) + (places[k] >> 16);
      shared.x[to] = x[k];
      shared.places[to] = uint16(place);
    }
    ctx.sync();
  }
};

/// Arguments of a pass over long rows. offsets [rows, kDigits, pieces]: first the counts, then the
/// number of elements with the digit in the pieces before; totals [rows, kDigits].
struct DigitPass {
  int64* offsets;
  int64* totals;
  int64 length;  // D
  RowPieces pieces;
  int32 pass;
  KeyRule rule;

  WICK_DEVICE int64 end(int64 begin) const {
    const int64 left = length - begin;
    return begin + (left < pieces.length ? left : pieces.length);
  }
};

// Counts the elements of each digit in a piece. Block x: the piece, block y: the row.
template <class U>
struct CountDigits {
  struct Args : DigitPass {
    SortRows<U, uint32> from;
    int32 rows;
  };
  static constexpr int kThreads = kDigits, kItems = 8;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {a.pieces.count, a.rows}; }
  template <class Ctx>
  struct Shared {
    uint32 counts[Ctx::kWaves][kDigits];  // per wave, for fewer conflicts
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const int thread = ctx.thread(), piece = ctx.block().x, row = ctx.block().y;
    for (int w = 0; w < Ctx::kWaves; w++) shared.counts[w][thread] = 0;
    ctx.sync();
    const U* const x = a.from.x + row * a.from.row;
    const int64 begin = piece * a.pieces.length, end = a.end(begin);
    for (int64 tile = begin + thread; tile < end; tile += kThreads * kItems) {
      U bits[kItems];
      for (int k = 0; k < kItems; k++)
        if (tile + k * kThreads < end) bits[k] = x[(tile + k * kThreads) * a.from.step];
      for (int k = 0; k < kItems; k++)
        if (tile + k * kThreads < end)
          Ctx::atomic_add(&shared.counts[ctx.wave()][a.rule.digit(bits[k], a.pass)], uint32(1));
    }
    ctx.sync();
    int64 count = 0;
    for (int w = 0; w < Ctx::kWaves; w++) count += shared.counts[w][thread];
    a.offsets[(int64(row) * kDigits + thread) * a.pieces.count + piece] = count;
  }
};

// Scans the counts of a digit over the pieces of a row. Block x: the digit, block y: the row.
struct ScanDigits {
  struct Args : DigitPass {
    int32 rows;
  };
  static constexpr int kThreads = 256;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {kDigits, a.rows}; }
  template <class Ctx>
  struct Shared {
    int64 partial[Ctx::kWaves];
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const int64 line = int64(ctx.block().y) * kDigits + ctx.block().x;
    int64* const counts = a.offsets + line * a.pieces.count;
    int64 carry = 0;
    for (int tile = 0; tile < a.pieces.count; tile += kThreads) {
      const int piece = tile + ctx.thread();
      const int64 count = piece < a.pieces.count ? counts[piece] : 0;
      const Scanned<int64> scanned = scan_threads<Plus>(ctx, shared.partial, count, int64(0));
      if (piece < a.pieces.count) counts[piece] = carry + scanned.before;
      carry += scanned.total;
    }
    if (ctx.thread() == 0) a.totals[line] = carry;
  }
};

// Moves a piece's elements and ids to the positions of their digits. A tile is first ordered in
// shared memory, so that neighbouring threads store neighbouring elements. Block x: the piece, y:
// the row. Id: the id type of the result, i64 in the last pass.
template <class U, class Id>
struct MoveDigits {
  struct Args : DigitPass {
    SortRows<U, uint32> from;
    SortRows<U, Id> to;
    int64 wanted;  // K
    int32 rows;
  };
  static constexpr int kThreads = kDigits, kItems = kSortItems<U>, kTile = kThreads * kItems;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {a.pieces.count, a.rows}; }
  template <class Ctx>
  struct Shared {
    DigitCounts<Ctx> digits;
    int64 next[kDigits];  // the next position of a digit, minus the position in the tile
    int64 partial[Ctx::kWaves];
    union {
      U x[kTile];
      uint32 ids[kTile];
    };
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const int thread = ctx.thread(), piece = ctx.block().x, row = ctx.block().y;
    const int64 line = int64(row) * kDigits + thread;
    int64 next = scan_threads<Plus>(ctx, shared.partial, a.totals[line], int64(0)).before +
                 a.offsets[line * a.pieces.count + piece];  // of this thread's digit
    const int64 begin = piece * a.pieces.length, end = a.end(begin);
    for (int64 tile = begin; tile < end; tile += kTile) {
      const int count = end - tile < kTile ? int(end - tile) : kTile;
      const int first = ctx.wave() * kItems * Ctx::kWave + ctx.lane();
      const U* const x = a.from.x + row * a.from.row + tile * a.from.step;
      U bits[kItems];
      uint32 ranks[kItems];
      WICK_UNROLL
      for (int k = 0; k < kItems; k++) {
        const int e = first + k * Ctx::kWave;
        bits[k] = e < count ? x[e * a.from.step] : U(0);
      }
      shared.digits.clear(ctx);
      WICK_UNROLL
      for (int k = 0; k < kItems; k++)
        ranks[k] =
            shared.digits.rank(ctx, a.rule.digit(bits[k], a.pass), first + k * Ctx::kWave < count);
      ctx.sync();
      const Scanned<uint32> mine = shared.digits.place(ctx);
      shared.next[thread] = next - mine.before;
      next += mine.total;
      WICK_UNROLL
      for (int k = 0; k < kItems; k++) {
        ranks[k] += shared.digits.begin(ctx, a.rule.digit(bits[k], a.pass));
        if (first + k * Ctx::kWave < count) shared.x[ranks[k]] = bits[k];
      }
      ctx.sync();
      int64 to[kItems];  // targets of the elements that this thread stores; -1: no element
      WICK_UNROLL
      for (int k = 0; k < kItems; k++) {
        const int e = thread + k * kThreads;
        to[k] = -1;
        if (e >= count) continue;
        const U stored = shared.x[e];
        to[k] = shared.next[a.rule.digit(stored, a.pass)] + e;
        if (to[k] >= a.wanted) to[k] = -1;
        if (to[k] >= 0) a.to.x[row * a.to.row + to[k] * a.to.step] = stored;
      }
      ctx.sync();
      const uint32* const ids = a.from.ids + row * a.from.ids_row + tile;
      WICK_UNROLL
      for (int k = 0; k < kItems; k++) {
        const int e = first + k * Ctx::kWave;
        if (e < count) shared.ids[ranks[k]] = a.from.ids ? ids[e] : uint32(tile + e);
      }
      ctx.sync();
      WICK_UNROLL
      for (int k = 0; k < kItems; k++)
        if (to[k] >= 0)
          a.to.ids[row * a.to.ids_row + to[k] * a.to.ids_step] =
              Id(shared.ids[thread + k * kThreads]);
      ctx.sync();
    }
  }
};

/// A call on the host.
struct SortCall {
  const View &x, &y, &ids;
  int64 rows, length, wanted;
  int passes;  // digits that elements differ in, the lowest ones

  explicit SortCall(const Call& call)
      : SortCall(call.in[0], call.out[0], call.out[1], dtype_size(call.in[0].dtype)) {}
  SortCall(const View& x, const View& y, const View& ids, int passes)
      : x(x),
        y(y),
        ids(ids),
        rows(x.shape[0]),
        length(x.shape[1]),
        wanted(y.shape[1]),
        passes(passes) {}
  static const char* check(const Call& call) {
    const View &x = call.in[0], &y = call.out[0], &ids = call.out[1];
    if (!call.attributes) return "there are no attributes";
    if (x.rank != 2 || y.rank != 2 || ids.rank != 2) return "operands are not of rank 2";
    if (y.shape[0] != x.shape[0] || ids.shape[0] != x.shape[0] || ids.shape[1] != y.shape[1])
      return "operands differ in shape";
    if (y.shape[1] > x.shape[1]) return "more is wanted than a row has";
    if (x.shape[1] >= int64(1) << 32) return "a row has 2^32 elements or more";
    return nullptr;
  }
};

/// How long rows are sorted: `rows` at a time, in scratch memory.
template <class U>
struct LongSort {
  static constexpr int kTile = kDigits * kSortItems<U>;
  int64 rows;  // at a time
  RowPieces pieces;
  int buffers;  // each of rows * D elements and ids

  explicit LongSort(const SortCall& c) {
    constexpr int64 kElements = int64(1) << 27;
    rows = kElements / c.length < 1 ? 1 : kElements / c.length;
    if (rows > c.rows) rows = c.rows;
    if (rows > 32768) rows = 32768;
    pieces = RowPieces::of(rows, c.length, kTile);
    buffers = c.passes == 1 ? 0 : c.passes == 2 ? 1 : 2;
  }
  static int64 whole(int64 bytes) { return ceil_div<int64>(bytes, 256) * 256; }
  int64 elements_bytes(const SortCall& c) const { return whole(rows * c.length * sizeof(U)); }
  int64 ids_bytes(const SortCall& c) const { return whole(rows * c.length * 4); }
  int64 offsets() const { return rows * kDigits * pieces.count; }
  int64 totals() const { return rows * kDigits; }
  int64 scratch_bytes(const SortCall& c) const {
    return buffers * (elements_bytes(c) + ids_bytes(c)) + 8 * (offsets() + totals());
  }
};

template <class U>
Status run_sort_long(const SortCall& c, const KeyRule& rule, const Call& call) {
  const LongSort<U> plan(c);
  char* free = static_cast<char*>(call.scratch);
  SortRows<U, uint32> buffers[2] = {};
  for (int b = 0; b < plan.buffers; b++) {
    buffers[b] = {reinterpret_cast<U*>(free),
                  reinterpret_cast<uint32*>(free + plan.elements_bytes(c)),
                  c.length,
                  1,
                  c.length,
                  1};
    free += plan.elements_bytes(c) + plan.ids_bytes(c);
  }
  int64* const offsets = reinterpret_cast<int64*>(free);
  for (int64 first = 0; first < c.rows; first += plan.rows) {
    const int32 rows = int32(c.rows - first < plan.rows ? c.rows - first : plan.rows);
    SortRows<U, uint32> from{
        c.x.as<U>() + first * c.x.strides[0], nullptr, c.x.strides[0], c.x.strides[1], 0, 0};
    const SortRows<U, int64> to{c.y.as<U>() + first * c.y.strides[0],
                                c.ids.as<int64>() + first * c.ids.strides[0],
                                c.y.strides[0],
                                c.y.strides[1],
                                c.ids.strides[0],
                                c.ids.strides[1]};
    for (int pass = 0; pass < c.passes; pass++) {
      const DigitPass args{offsets, offsets + plan.offsets(), c.length, plan.pieces, pass, rule};
      Status status = launch<CountDigits<U>>({args, from, rows}, call);
      if (status.ok()) status = launch<ScanDigits>({args, rows}, call);
      if (!status.ok()) return status;
      if (pass + 1 < c.passes) {
        const SortRows<U, uint32>& next = buffers[pass % 2];
        status = launch<MoveDigits<U, uint32>>({args, from, next, c.length, rows}, call);
        from = next;
      } else {
        status = launch<MoveDigits<U, int64>>({args, from, to, c.wanted, rows}, call);
      }
      if (!status.ok()) return status;
    }
  }
  return {};
}

template <class U>
Status run_sort_short(const SortCall& c, const KeyRule& rule, const Call& call) {
  using K = SortShort<U>;
  int64 together = K::kTile / c.length;
  if (together > kDigits) together = kDigits;
  // Short rows run faster in more blocks than combined into fewer.
  while (together > 1 && c.rows / together < 1024 && together * c.length > 512) together /= 2;
  constexpr int64 kMaxRows = int64(1) << 30;
  for (int64 first = 0; first < c.rows; first += kMaxRows) {
    const int64 rows = c.rows - first < kMaxRows ? c.rows - first : kMaxRows;
    const Status status = launch<K>(
        {{c.x.as<U>() + first * c.x.strides[0], nullptr, c.x.strides[0], c.x.strides[1], 0, 0},
         {c.y.as<U>() + first * c.y.strides[0], c.ids.as<int64>() + first * c.ids.strides[0],
          c.y.strides[0], c.y.strides[1], c.ids.strides[0], c.ids.strides[1]},
         rows,
         int32(together),
         FastDivide::by(c.length),
         uint32(c.wanted),
         c.passes,
         rule},
        call);
    if (!status.ok()) return status;
  }
  return {};
}

template <class U>
bool is_short(const SortCall& c) {
  return c.length <= SortShort<U>::kTile;
}
template <class U>
int64 sort_scratch_bytes(const SortCall& c) {
  return is_short<U>(c) || c.rows * c.wanted == 0 ? 0 : LongSort<U>(c).scratch_bytes(c);
}
/// Sorts elements of U's size, in call's scratch memory.
template <class U>
Status run_sort(const SortCall& c, const KeyRule& rule, const Call& call) {
  if (c.rows * c.wanted == 0) return {};
  return is_short<U>(c) ? run_sort_short<U>(c, rule, call) : run_sort_long<U>(c, rule, call);
}

/// sort, or its first K elements (topk).
template <class T>
struct SortLaunch {
  using U = Bits<sizeof(T)>;
  static const char* accepts(const Call& call, const DeviceInfo&) { return SortCall::check(call); }
  static int64 scratch_bytes(const Call& call, const DeviceInfo&) {
    return sort_scratch_bytes<U>(SortCall(call));
  }
  static Status run(const Call& call) {
    const auto& attributes = *static_cast<const SortAttributes*>(call.attributes);
    return run_sort<U>(SortCall(call), KeyRule::of<T>(attributes.descending != 0), call);
  }
};

}  // namespace wick::gpu
