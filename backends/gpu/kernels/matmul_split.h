// Products on matrix units whose k may be split among blocks: where there are few tiles, each part
// of k has blocks of its own, and a second kernel adds their sums in the order of k.
#pragma once
#include "device/mma.h"
#include "kernels/matmul.h"

namespace wick::gpu {

template <class T>
struct SplitProductArgs : ProductArgs<T> {
  int32 blocks;                // per part of k
  int32 splits, split_length;  // of k
  Compute<T>* partials;        // [splits, batches, m, n], if there are several

  /// Where the sums [m, n] of a part of k belong.
  WICK_DEVICE Compute<T>* partial(int split, int batch) const {
    const int64 batches = blocks / (this->blocks_m * this->blocks_n);
    return partials + (split * batches + batch) * (int64(this->m) * this->n);
  }
};

// c = the sum of the partial results, in the order of k. whole_epilogue: not just its bias.
template <class T, bool whole_epilogue>
struct SplitSum {
  static constexpr int kThreads = 256;
  struct Args {
    T* c;
    const Compute<T>* partials;
    int64 count;  // of c
    int32 splits;
    Epilogue<T> epilogue;
    int32 n;  // columns
  };
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {int(ceil_div<int64>(a.count, kThreads))}; }
  template <class Ctx>
  struct Shared {};
  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const int64 i = int64(ctx.block().x) * kThreads + ctx.thread();
    if (i >= a.count) return;
    Compute<T> sum = 0;
    for (int s = 0; s < a.splits; s++) sum += a.partials[s * a.count + i];
    const int column = a.epilogue.bias ? int(i % a.n) : 0;
    if constexpr (whole_epilogue)
      a.epilogue.store(a.c, i, column, 1, false, Pack<Compute<T>, 1>{{sum}});
    else
      a.c[i] = narrow<T>(a.epilogue.with_bias(sum, column));
  }
};

/// Parts of k, so that `blocks` tiles become as many blocks as the card holds at once.
inline int64 splits_of(int64 k, int64 blocks, int64 held) {
  constexpr int kLeastSplit = 256;  // of k
  const int64 fill = blocks > 0 ? held / blocks : 1, most = k / kLeastSplit;
  const int64 splits = fill < most ? fill : most;
  return splits > 1 ? splits : 1;
}
template <class T>
int64 split_scratch(const Call& call, int64 splits) {
  return splits > 1 ? splits * call.out[0].numel() * int64(sizeof(Compute<T>)) : 0;
}

/// How a kernel divides a product: into tiles of m x n, and parts of k that are multiples of k.
struct SplitTile {
  int m, n, k;
};
/// Runs a kernel K with SplitProductArgs<T>, whose packs have `pack` elements. k is split if the
/// call has split_scratch's memory.
template <class K, class T, int pack>
Status run_split(const Product& p, const SplitTile& tile, const Call& call) {
  SplitProductArgs<T> split{};
  split.splits = 1, split.split_length = int32(p.k);
  const int64 count = call.out[0].numel();
  if (call.scratch_bytes > 0) {
    const int64 splits = call.scratch_bytes / (count * int64(sizeof(Compute<T>)));
    split.partials = static_cast<Compute<T>*>(call.scratch);
    split.split_length = int32(ceil_div<int64>(ceil_div(p.k, splits), tile.k) * tile.k);
    split.splits = int32(ceil_div<int64>(p.k, split.split_length));
  }
  const Status status =
      p.for_each_launch<T, pack>(tile.m, tile.n, [&](const ProductArgs<T>& args, int32 blocks) {
        typename K::Args here = split;
        static_cast<ProductArgs<T>&>(here) = args;
        here.blocks = blocks;
        return launch<K>(here, call);
      });
  if (!status.ok() || !split.partials) return status;
  const auto add_parts = [&]<bool whole_epilogue>() {
    return launch<SplitSum<T, whole_epilogue>>(
        {call.out[0].as<T>(), split.partials, count, split.splits, p.epilogue<T>(), int32(p.n)},
        call);
  };
  if constexpr (kSame<Compute<T>, float>)
    if (p.epilogue<T>().is_more_than_bias()) return add_parts.template operator()<true>();
  return add_parts.template operator()<false>();
}

/// Calls run.operator()<a, b>() with the inner dims of both operands.
template <class Run>
Status with_inner_dims(const Product& p, const Run& run) {
  constexpr Inner kK = Inner::kAlongK, kRows = Inner::kAlongRows;
  // An operand with stride 1 along k is read along k, whatever its other stride is.
  const bool a_rows = p.a.row == 1 && p.a.k != 1, b_rows = p.b.row == 1 && p.b.k != 1;
  if (a_rows && b_rows) return run.template operator()<kRows, kRows>();
  if (a_rows) return run.template operator()<kRows, kK>();
  if (b_rows) return run.template operator()<kK, kRows>();
  return run.template operator()<kK, kK>();
}

}  // namespace wick::gpu
