// searchsorted: a binary search per value. nonzero: counts the true elements in each piece of the
// mask, then each piece writes its indices after the indices of earlier pieces.
#pragma once
#include "kernels/radix.h"
#include "wick/abi/ops/search.h"

namespace wick::gpu {

/// Strides of y or ids [N, J], or of x [N, D].
struct SearchStrides {
  int64 row, step;
};

// ids[n, j] = the insertion point of values[n, j] in sorted[n]. NaN is larger than every number.
template <class U>
struct SearchSorted {
  struct Args {
    const U* sorted;
    const U* values;
    int64* ids;
    SearchStrides sorted_strides, values_strides, ids_strides;
    int64 length;     // D
    FastDivide each;  // J
    int32 numel;
    bool right;
    KeyRule rule;
  };
  static constexpr int kThreads = 256;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {ceil_div(a.numel, kThreads)}; }
  template <class Ctx>
  struct Shared {};

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const int i = ctx.block().x * kThreads + ctx.thread();
    if (i >= a.numel) return;
    const int64 row = a.each.quotient(i), j = i - row * a.each.divisor;
    const U* const x = a.sorted + row * a.sorted_strides.row;
    const U value = a.rule.key(a.values[row * a.values_strides.row + j * a.values_strides.step]);
    int64 first = 0, rest = a.length;
    while (rest > 0) {
      const int64 half = rest / 2;
      const U at = a.rule.key(x[(first + half) * a.sorted_strides.step]);
      const bool goes_on = a.right ? !(value < at) : at < value;
      first = goes_on ? first + half + 1 : first;
      rest = goes_on ? rest - half - 1 : half;
    }
    a.ids[row * a.ids_strides.row + j * a.ids_strides.step] = first;
  }
};

template <class T>
struct SearchLaunch {
  using U = Bits<sizeof(T)>;
  static constexpr Signature signature{kSearchSorted, kDTypeOf<T>};
  static const char* accepts(const Call& call, const DeviceInfo&) {
    const View &sorted = call.in[0], &values = call.in[1], &ids = call.out[0];
    if (!call.attributes) return "there are no attributes";
    if (sorted.rank != 2 || values.rank != 2 || ids.rank != 2) return "operands are not of rank 2";
    if (values.shape[0] != sorted.shape[0] || ids.shape[0] != sorted.shape[0] ||
        ids.shape[1] != values.shape[1])
      return "operands differ in shape";
    return nullptr;
  }
  static Status run(const Call& call) {
    const View &sorted = call.in[0], &values = call.in[1], &ids = call.out[0];
    const bool right = static_cast<const SearchAttributes*>(call.attributes)->right != 0;
    const int64 rows = values.shape[0], each = values.shape[1];
    if (rows * each == 0) return {};
    const int64 most_columns = each < kLaunchLimit ? each : kLaunchLimit;
    const int64 most_rows = kLaunchLimit / most_columns;
    for (int64 row = 0; row < rows; row += most_rows) {
      for (int64 j = 0; j < each; j += most_columns) {
        const int64 columns = each - j < most_columns ? each - j : most_columns;
        const int64 here = rows - row < most_rows ? rows - row : most_rows;
        const Status status = launch<SearchSorted<U>>(
            {sorted.as<U>() + row * sorted.strides[0],
             values.as<U>() + row * values.strides[0] + j * values.strides[1],
             ids.as<int64>() + row * ids.strides[0] + j * ids.strides[1],
             {sorted.strides[0], sorted.strides[1]},
             {values.strides[0], values.strides[1]},
             {ids.strides[0], ids.strides[1]},
             sorted.shape[1],
             FastDivide::by(columns),
             int32(here * columns),
             right,
             KeyRule::of<T>(false)},
            call);
        if (!status.ok()) return status;
      }
    }
    return {};
  }
};

// The indices at which a mask is true. A block has one piece; neighbouring threads have
// neighbouring elements of it, kItems each.
struct NonzeroPieces {
  struct Args {
    uint64 op;  // its id
    const uint8* mask;
    int64* ids;
    int64* counts;  // one per piece
    int64 mask_step, ids_step;
    int64 length;  // N
    int64 room;    // M
    RowPieces pieces;
    bool writes;  // false: counts
  };
  static constexpr Signature signature{kNonzero, DType::kBool};
  static constexpr int kThreads = 256, kItems = 16, kTile = kThreads * kItems;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {a.pieces.count}; }
  template <class Ctx>
  struct Shared {
    int64 totals[Ctx::kWaves];
    uint32 counts[Ctx::kWaves];
    uint16 places[kTile];  // indices of the tile's true elements
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const int thread = ctx.thread(), piece = ctx.block().x;
    const int64 begin = piece * a.pieces.length, left = a.length - begin;
    const int64 end = begin + (left < a.pieces.length ? left : a.pieces.length);
    int64 done = a.writes ? total_of<Plus>(ctx, shared.totals, a.counts, piece, int64(0)) : 0;
    for (int64 tile = begin; tile < end; tile += kTile) {
      const uint32 truths = load(a, tile + thread * kItems, end);
      const Scanned<uint32> found =
          scan_threads<Plus>(ctx, shared.counts, uint32(Ctx::count_bits(truths)), uint32(0));
      if (a.writes) {
        uint32 place = found.before;
        for (int k = 0; k < kItems; k++)
          if (truths >> k & 1) shared.places[place++] = uint16(thread * kItems + k);
        ctx.sync();
        for (uint32 k = thread; k < found.total; k += kThreads)
          if (done + k < a.room) a.ids[(done + k) * a.ids_step] = tile + shared.places[k];
        ctx.sync();
      }
      done += found.total;
    }
    if (thread != 0) return;
    if (!a.writes)
      a.counts[piece] = done;
    else if (piece == a.pieces.count - 1 && done != a.room)
      ctx.fail(StatusCode::kInvalidArgument, a.op, 0, done, a.room);
  }

  static const char* accepts(const Call& call, const DeviceInfo&) {
    if (call.in[0].rank != 1 || call.out[0].rank != 1) return "operands are not of rank 1";
    return nullptr;
  }
  static RowPieces pieces_of(const Call& call) {
    return RowPieces::of(1, call.in[0].shape[0], kTile, 1);
  }
  static int64 scratch_bytes(const Call& call, const DeviceInfo&) {
    return 8 * int64(pieces_of(call).count);
  }
  static Status run(const Call& call) {
    const View &mask = call.in[0], &ids = call.out[0];
    if (mask.shape[0] == 0) return {};
    Args args{call.op->id,     mask.as<uint8>(),
              ids.as<int64>(), static_cast<int64*>(call.scratch),
              mask.strides[0], ids.strides[0],
              mask.shape[0],   ids.shape[0],
              pieces_of(call), false};
    if (const Status status = launch<NonzeroPieces>(args, call); !status.ok()) return status;
    args.writes = true;
    return launch<NonzeroPieces>(args, call);
  }

 private:
  /// Bit k: whether element n + k is before `end` and true.
  static WICK_DEVICE uint32 load(const Args& a, int64 n, int64 end) {
    uint32 truths = 0;
    if (a.mask_step == 1 && n + kItems <= end &&
        reinterpret_cast<uint64>(a.mask + n) % kItems == 0) {
      const auto pack = load_pack<kItems>(a.mask + n);
      for (int k = 0; k < kItems; k++) truths |= uint32(pack.v[k] != 0) << k;
    } else {
      for (int k = 0; k < kItems; k++)
        if (n + k < end) truths |= uint32(a.mask[(n + k) * a.mask_step] != 0) << k;
    }
    return truths;
  }
};

}  // namespace wick::gpu
