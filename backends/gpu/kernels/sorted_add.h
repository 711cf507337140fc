// scatter_add in a fixed order: the same bits in every run, on every card. Each column's ids are
// sorted, stably, so that the ids of one target stand side by side, in the order of j: a
// segment. One thread adds a segment to its target, from the first of j to the last. Long segments
// are first summed in tiles of kSumTile sorted places: their thread adds one sum per tile.
#pragma once
#include "kernels/scatter_chunks.h"
#include "kernels/sort.h"

namespace wick::gpu {

// The key of each id, [o, i, j]: its target, counted from `first`; `targets` if it adds to another
// target. The launch for the first targets reports ids out of range.
struct KeyIds : IdKernel {
  struct Args {
    IdColumns columns;
    uint32* keys;
    int64 first;
    uint32 targets;
  };
  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const uint32 p = ctx.block().x * kThreads + ctx.thread();
    if (p >= a.columns.count) return;
    const IdColumns::Id id = a.columns.at(p);
    const bool in_range = a.columns.holds(id);
    if (!in_range && a.first == 0) a.columns.report(ctx, id);
    const bool here = in_range && id.value >= a.first && id.value - a.first < a.targets;
    const uint32 column = id.o * a.columns.inner.divisor + id.i;
    a.keys[column * a.columns.along.divisor + id.j] = here ? uint32(id.value - a.first) : a.targets;
  }
};

/// Sorted places that are summed beforehand where a segment goes on from the tile before. A segment
/// of n adds n / kSumTile + kSumTile numbers one after the other, at most.
inline constexpr uint32 kSumTile = 128;

/// A launch over [o, place, i] or [o, i, place], or over tiles instead of places.
template <class T, class Sum>
struct SegmentArgs {
  const T* src;
  const uint32* keys;   // [o, i, place], ascending in a row
  const int64* places;  // j
  Sum* y;
  Sum* tiles;      // [tile, o, i] of all launches, without the first tile
  Indexer<5> at;   // of the operands below
  int64 first[3];  // of kRow, kColumn and kPlace
  int64 src_stride, y_stride;
  int64 columns;  // of tiles
  uint32 length;  // of a row
  uint32 targets;
  int32 numel;

  enum Operand { kSource, kTarget, kRow, kColumn, kPlace };

  /// sum plus the elements from the place on, up to the end of its segment or tile.
  WICK_DEVICE Sum add_to(Sum sum, const T* column, int64 row, uint32 place) const {
    const uint32 key = keys[row + place], end_of_tile = (place / kSumTile + 1) * kSumTile;
    const uint32 end = end_of_tile < length ? end_of_tile : length;
    do sum += widen<Sum>(column[places[row + place] * src_stride]);
    while (++place < end && keys[row + place] == key);
    return sum;
  }
};

template <class T, class Sum>
struct SegmentKernel {
  using Args = SegmentArgs<T, Sum>;
  static constexpr int kThreads = 256;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {ceil_div(a.numel, kThreads)}; }
  template <class Ctx>
  struct Shared {};
};

// The sum of a tile's first segment, if it began in an earlier tile. One thread per column's tile.
template <class T, class Sum>
struct SumTiles : SegmentKernel<T, Sum> {
  using Args = SegmentArgs<T, Sum>;
  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, typename SumTiles::template Shared<Ctx>&,
                              const Args& a) {
    const int index = ctx.block().x * SumTiles::kThreads + ctx.thread();
    if (index >= a.numel) return;
    uint32 offset[5];
    a.at.locate(index, offset);
    const int64 row = a.first[0] + offset[Args::kRow];
    const int64 tile = a.first[2] + offset[Args::kPlace];  // without the first
    const uint32 place = uint32(tile + 1) * kSumTile;
    const uint32 key = a.keys[row + place];
    if (key == a.targets || a.keys[row + place - 1] != key) return;
    // -0 + x is x, of every x.
    a.tiles[tile * a.columns + a.first[1] + offset[Args::kColumn]] =
        a.add_to(Sum(-0.0f), a.src + offset[Args::kSource], row, place);
  }
};

// y += src. One thread per place of a column; the one of a segment's first place adds the segment.
template <class T, class Sum>
struct AddSegments : SegmentKernel<T, Sum> {
  using Args = SegmentArgs<T, Sum>;
  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, typename AddSegments::template Shared<Ctx>&,
                              const Args& a) {
    const int index = ctx.block().x * AddSegments::kThreads + ctx.thread();
    if (index >= a.numel) return;
    uint32 offset[5];
    a.at.locate(index, offset);
    const int64 row = a.first[0] + offset[Args::kRow];
    const uint32 place = uint32(a.first[2] + offset[Args::kPlace]), key = a.keys[row + place];
    if (key == a.targets || (place > 0 && a.keys[row + place - 1] == key)) return;
    Sum* const y = a.y + offset[Args::kTarget] + key * a.y_stride;
    Sum sum = a.add_to(*y, a.src + offset[Args::kSource], row, place);
    const Sum* const sums = a.tiles + a.first[1] + offset[Args::kColumn];
    for (uint32 tile = place / kSumTile + 1;
         tile * kSumTile < a.length && a.keys[row + tile * kSumTile] == key; tile++)
      sum += sums[(tile - 1) * a.columns];
    *y = sum;
  }
};

/// Adds src at ids to y, whose elements are of type Sum, in the order of j. Ids come in chunks of
/// at most so many, and so do targets.
template <class T, class Sum, int64 most_ids, int64 most_targets>
struct ChunkedSortedAdd {
  static_assert(most_targets < int64(1) << 32);  // the key most_targets means: no target
  static int64 scratch_bytes(const IndexedCall& c) {
    const ScatterChunks<most_ids> chunks(c);
    int64 most = 0;
    chunks.for_each([&](const ScatterChunk& part) -> Status {
      const int64 bytes = Plan(chunks, part).bytes;
      if (bytes > most) most = bytes;
      return {};
    });
    return most;
  }
  static Status run(const IndexedCall& c, const Call& call) {
    const ScatterChunks<most_ids> chunks(c);
    return chunks.for_each([&](const ScatterChunk& part) -> Status {
      const IdColumns columns = chunks.columns(part, call.op->id);
      const Plan plan(chunks, part);
      const View src = chunks.cut(c.moved, part, true);
      View y = chunks.cut(c.addressed, part, false);
      int64 first = 0;
      do {  // without targets too: every id is out of range then, and an error
        const int64 left = c.addressed.shape[1] - first;
        const int64 targets = left < most_targets ? left : most_targets;
        if (const Status status = plan.sort(columns, first, uint32(targets), call); !status.ok())
          return status;
        if (const Status status = plan.add(src, y, uint32(targets), call); !status.ok())
          return status;
        y.data = static_cast<char*>(y.data) + bytes_of(y.dtype, targets * y.strides[1]);
        first += targets;
      } while (first < c.addressed.shape[1]);
      return {};
    });
  }

 private:
  /// The layout of a chunk's scratch memory, in bytes from its beginning, and the launches in it.
  struct Plan {
    int64 keys = 0, sorted, places, tiles, sort_scratch, bytes;
    int64 size[3];             // of the ids
    int64 outer, inner;        // of src and y
    int64 count_tiles;         // of a row, without the first
    int passes;                // of the sort
    View from, to, to_places;  // [o i, j]; without memory

    Plan(const ScatterChunks<most_ids>& chunks, const ScatterChunk& part)
        : size{part.size[0], part.size[1], part.size[2]},
          outer(chunks.cut(chunks.call.moved, part, true).shape[0]),
          inner(chunks.cut(chunks.call.moved, part, true).shape[2]),
          count_tiles(ceil_div(int64(size[1]), int64(kSumTile)) - 1),
          from(rows(DType::kU32)),
          to(from),
          to_places(rows(DType::kI64)) {
      int64 largest_key = chunks.call.addressed.shape[1];
      if (largest_key > most_targets) largest_key = most_targets;
      passes = 1;
      while (largest_key >> (8 * passes) != 0) passes++;
      sorted = whole(part.ids() * 4);
      places = sorted + whole(part.ids() * 4);
      tiles = places + whole(part.ids() * 8);
      sort_scratch = tiles + whole(count_tiles * outer * inner * int64(sizeof(Sum)));
      bytes = sort_scratch + sort_scratch_bytes<uint32>({from, to, to_places, passes});
    }
    Status sort(const IdColumns& columns, int64 first, uint32 targets, const Call& c) const {
      if (const Status status = launch<KeyIds>({columns, at<uint32>(c, keys), first, targets}, c);
          !status.ok())
        return status;
      View x = from, y = to, ids = to_places;
      x.data = at<char>(c, keys), y.data = at<char>(c, sorted), ids.data = at<char>(c, places);
      Call within = c;
      within.scratch = at<char>(c, sort_scratch);
      return run_sort<uint32>({x, y, ids, passes}, KeyRule::of<uint32>(false), within);
    }
    Status add(const View& src, const View& y, uint32 targets, const Call& c) const {
      if (count_tiles > 0) {
        const Status status = launch_over<SumTiles<T, Sum>>(count_tiles, src, y, targets, c);
        if (!status.ok()) return status;
      }
      return launch_over<AddSegments<T, Sum>>(size[1], src, y, targets, c);
    }

   private:
    static int64 whole(int64 n) { return ceil_div<int64>(n, 256) * 256; }
    View rows(DType dtype) const {
      View view{};
      view.dtype = dtype;
      view.rank = 2;
      view.shape[0] = size[0] * size[2], view.shape[1] = size[1];
      view.strides[0] = size[1], view.strides[1] = 1;
      return view;
    }
    template <class U>
    U* at(const Call& c, int64 offset) const {
      return reinterpret_cast<U*>(static_cast<char*>(c.scratch) + offset);
    }
    /// along: places of a row, or tiles.
    template <class K>
    Status launch_over(int64 along, const View& src, const View& y, uint32 targets,
                       const Call& c) const {
      using Args = SegmentArgs<T, Sum>;
      Operands<5> all;
      all.data[Args::kSource] = src.as<char>();
      all.data[Args::kTarget] = y.as<char>();
      all.element_bytes[Args::kSource] = sizeof(T);
      all.element_bytes[Args::kTarget] = sizeof(Sum);
      const int64 row_i = size[2] > 1 ? size[1] : 0;
      const int64 row_o = size[0] > 1 ? size[2] * size[1] : 0;
      const auto add_columns = [&] {
        all.add_dim(inner, {src.strides[2], y.strides[2], row_i, 1, 0});
      };
      // Neighbouring threads have neighbouring elements of src where they share a row of ids, else
      // neighbouring ids.
      all.add_dim(outer, {src.strides[0], y.strides[0], row_o, inner, 0});
      if (row_i != 0) add_columns();
      all.add_dim(along, {0, 0, 0, 0, 1});
      if (row_i == 0) add_columns();
      const auto launch_part = [&](const Operands<5>& part) {
        Args args{};
        args.src = reinterpret_cast<const T*>(part.data[Args::kSource]);
        args.keys = at<uint32>(c, sorted);
        args.places = at<int64>(c, places);
        args.y = reinterpret_cast<Sum*>(part.data[Args::kTarget]);
        args.tiles = at<Sum>(c, tiles);
        args.at = part.indexer(part.rank);
        args.first[0] = part.begin[Args::kRow];
        args.first[1] = part.begin[Args::kColumn];
        args.first[2] = part.begin[Args::kPlace];
        args.src_stride = src.strides[1];
        args.y_stride = y.strides[1];
        args.columns = outer * inner;
        args.length = uint32(size[1]);
        args.targets = targets;
        args.numel = int32(part.numel());
        return launch<K>(args, c);
      };
      return for_each_part(all, launch_part);
    }
  };
};

template <class T, class Sum>
using SortedAdd = ChunkedSortedAdd<T, Sum, int64(1) << 26, (int64(1) << 32) - 1>;

}  // namespace wick::gpu
