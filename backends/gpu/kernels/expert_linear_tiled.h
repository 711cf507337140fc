// Products whose rows select their weights, of any number of rows, without matrix units: one launch
// sorts the rows by their experts, a second one multiplies tiles of neighbours in that order. The
// host does not know how many tiles each expert has, so that it launches as many as there can be.
#pragma once
#include "kernels/block_scan.h"
#include "kernels/expert_linear.h"
#include "kernels/linear_tiled.h"

namespace wick::gpu {

/// Rows sorted by their experts, in device memory. Those whose id is out of range come last, as of
/// an expert E.
struct SortedRows {
  int32* order;  // [rows]
  int32* begin;  // [E + 2]: the first of each expert, and the end

  static int64 begin_bytes(int64 experts) {
    return ceil_div<int64>((experts + 2) * int64(sizeof(int32)), 256) * 256;
  }
  static int64 bytes(int64 rows, int64 experts) {
    return begin_bytes(experts) + rows * int64(sizeof(int32));
  }
  static SortedRows in(void* memory, int64 experts) {
    return {reinterpret_cast<int32*>(static_cast<char*>(memory) + begin_bytes(experts)),
            static_cast<int32*>(memory)};
  }
};

// One block per expert e, which reads all ids: begin[e] counts lower ids; order has e's rows.
struct SortByExpert {
  struct Args {
    SortedRows sorted;
    const int64* ids;
    int32 rows, experts;

    WICK_DEVICE int expert(int row) const {
      return 0 <= ids[row] && ids[row] < experts ? int(ids[row]) : experts;
    }
  };
  static constexpr int kThreads = 256;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {a.experts + 1}; }
  template <class Ctx>
  struct Shared {
    int32 partial[Ctx::kWaves];
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const int expert = ctx.block().x;
    int32 lower = 0;
    for (int row = ctx.thread(); row < a.rows; row += kThreads) lower += a.expert(row) < expert;
    int32 next = scan_threads<Plus>(ctx, shared.partial, lower, 0).total;
    if (ctx.thread() == 0) a.sorted.begin[expert] = next;
    for (int first = 0; first < a.rows; first += kThreads) {
      const int row = first + ctx.thread();
      const bool own = row < a.rows && a.expert(row) == expert;
      const Scanned<int32> place = scan_threads<Plus>(ctx, shared.partial, int32(own), 0);
      if (own) a.sorted.order[next + place.before] = row;
      if (own && expert == a.experts)
        ctx.fail(StatusCode::kIdOutOfRange, kExpertLinear.id, row, a.ids[row], a.experts);
      next += place.total;
    }
    if (expert == a.experts && ctx.thread() == 0) a.sorted.begin[expert + 1] = next;
  }
};

// One block per tile of rows of one expert.
struct ExpertTiled {
  using Product = LinearTiled;
  static constexpr PlainTile tile = Product::tile;
  struct Args : ExpertArgs {
    SortedRows sorted;
  };
  static constexpr int threads(int wave) { return Product::threads(wave); }
  static Grid grid(int, const Args& a) { return {a.blocks_m * a.blocks_n}; }
  template <class Ctx>
  struct Shared {
    typename Product::template Shared<Ctx> product;
    int32 partial[Ctx::kWaves];
    int32 expert, tile;  // the block's expert and which of its tiles; -1: there is no tile
  };
  /// The most tiles of `rows` rows: each expert's, and the rows without one, are rounded up.
  static int64 most_tiles(int64 rows, int64 experts) {
    const int64 most = rows / tile.m + experts + 1;
    return most < rows ? most : rows;
  }

  template <class Ctx>
  static WICK_INLINE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& args) {
    const auto block = args.place(ctx.block().x);
    find_tile(ctx, shared, args, block.m);
    const int expert = shared.expert;
    if (expert < 0) return;
    const int first = args.sorted.begin[expert] + shared.tile * tile.m;
    const int rows = args.sorted.begin[expert + 1] - first, first_n = block.n * tile.n;
    const auto row_of = [&](int i) { return args.sorted.order[first + (i < rows ? i : rows - 1)]; };
    if (expert == args.experts) {
      for (int i = ctx.thread(); i < tile.m * tile.n; i += Ctx::kThreads)
        if (i / tile.n < rows && first_n + i % tile.n < args.n)
          args.store(row_of(i / tile.n), first_n + i % tile.n, 0);
      return;
    }
    Product::multiply(
        ctx, shared.product, args, args.weights_of(expert),
        [&](int i) { return args.x_of(row_of(i)); }, first_n, rows,
        [&](int i, int n, float sum) { args.store(row_of(i), n, sum); });
  }

 private:
  template <class Ctx>
  static WICK_DEVICE void find_tile(const Ctx& ctx, Shared<Ctx>& shared, const Args& args,
                                    int index) {
    if (ctx.thread() == 0) shared.expert = -1;
    ctx.sync();
    int before = 0;
    for (int first = 0; first <= args.experts; first += Ctx::kThreads) {
      const int expert = first + ctx.thread();
      int32 tiles = 0;
      if (expert <= args.experts)
        tiles = ceil_div(args.sorted.begin[expert + 1] - args.sorted.begin[expert], tile.m);
      const Scanned<int32> place = scan_threads<Plus>(ctx, shared.partial, tiles, 0);
      const int own = index - before - place.before;
      if (0 <= own && own < tiles) shared.expert = expert, shared.tile = own;
      before += place.total;
    }
    ctx.sync();
  }
};

struct ExpertTiledLaunch {
  static const char* accepts(const Call& call, const DeviceInfo&) {
    return ExpertCall::check(call);
  }
  static int64 scratch_bytes(const Call& call, const DeviceInfo&) {
    return SortedRows::bytes(ExpertCall::rows(call), call.in[1].shape[0]);
  }
  static Status run(const Call& call) {
    const int64 rows = ExpertCall::rows(call), experts = call.in[1].shape[0];
    const SortedRows sorted = SortedRows::in(call.scratch, experts);
    const Status status =
        launch<SortByExpert>({sorted, call.in[2].as<int64>(), int32(rows), int32(experts)}, call);
    if (!status.ok()) return status;
    return launch<ExpertTiled>(
        {ExpertCall::args(call, ExpertTiled::most_tiles(rows, experts), ExpertTiled::tile.n),
         sorted},
        call);
  }
};

}  // namespace wick::gpu
