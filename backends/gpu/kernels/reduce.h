// y[k] = reduction over r of x[k, r]; reduce_values.h defines the reductions. Two forms: contiguous
// reduced elements (lanes of a wave or a block per output), and any strides (a block has some
// outputs times some parts of the reduction). Few outputs of many elements are split into pieces,
// whose results are combined in scratch memory. Shape and strides fix the order of every addition.
#pragma once
#include "kernels/reduce_values.h"

namespace wick::gpu {

/// Per-thread accumulators over packs of n elements. Inexact reductions keep two banks of n, used
/// for alternate packs, so the order of combination is fixed.
template <class R, int n>
class ThreadTotals {
 public:
  using In = typename R::In;
  using Total = typename R::Total;
  WICK_DEVICE explicit ThreadTotals(int64 first_place) {
    for (auto& totals : totals_)
      for (Total& total : totals) total = R::identity(first_place);
  }
  /// Adds a pack. u: the bank, 0 and 1 alternately.
  template <int u>
  WICK_DEVICE void add(const ReduceParams& params, const In (&x)[n], int64 place) {
    if constexpr (R::kExact)
      R::add(params, totals_[0][0], x, place);
    else
      for (int e = 0; e < n; e++) totals_[u][e] = R::combine(totals_[u][e], R::load(params, x[e]));
  }
  /// Reads and adds only the first `count` elements of a pack.
  template <int u>
  WICK_DEVICE void add_some(const ReduceParams& params, const In* x, uint32 count, int64 place) {
    for (uint32 e = 0; e < n; e++) {
      if (e >= count) continue;
      if constexpr (R::kExact) {
        const In one[1] = {x[e]};
        R::add(params, totals_[0][0], one, place + e);
      } else {
        totals_[u][e] = R::combine(totals_[u][e], R::load(params, x[e]));
      }
    }
  }
  WICK_DEVICE Total total() {
    if constexpr (!R::kExact) {
      for (int e = 0; e < n; e++) totals_[0][e] = R::combine(totals_[0][e], totals_[1][e]);
      for (int half = n / 2; half > 0; half /= 2)
        for (int e = 0; e < half; e++)
          totals_[0][e] = R::combine(totals_[0][e], totals_[0][e + half]);
    }
    return totals_[0][0];
  }

 private:
  Total totals_[R::kExact ? 1 : 2][R::kExact ? 1 : n];
};

/// Combines this lane's elements of x[0, size): packs of neighbours `step` packs apart, two at a
/// time. An element's accumulator depends on its position alone, not on the alignment.
template <class R>
struct LaneTotal {
  using In = typename R::In;
  static constexpr int kPack = kPackSize<In> < 8 ? kPackSize<In> : 8;

  static WICK_DEVICE typename R::Total over(const ReduceParams& params, const In* x, uint32 first,
                                            uint32 step, uint32 size, bool aligned, int64 place) {
    ThreadTotals<R, kPack> totals(first * kPack < size ? place + first * kPack : kNowhere);
    const uint32 whole = size / kPack;
    uint32 i = first;
    for (; aligned && i + step < whole; i += 2 * step) {
      const auto a = load_pack<kPack>(x + i * kPack), b = load_pack<kPack>(x + (i + step) * kPack);
      totals.template add<0>(params, a.v, place + i * kPack);
      totals.template add<1>(params, b.v, place + (i + step) * kPack);
    }
    for (bool odd = false; i * kPack < size; odd = !odd, i += step) {
      // Not one call with u = odd: a run-time index would put the totals into memory.
      const uint32 at = i * kPack;
      if (odd)
        totals.template add_some<1>(params, x + at, size - at, place + at);
      else
        totals.template add_some<0>(params, x + at, size - at, place + at);
    }
    return totals.total();
  }
};

// Contiguous reduced elements: 2^log_lanes lanes of a wave per output.
template <class R>
struct ReduceGroups {
  using In = typename R::In;
  using Total = typename R::Total;
  struct Args {
    ReduceParams params;
    void* out;  // contiguous
    const In* in;
    Indexer<1> rows;
    int64 first_place;
    int32 outputs;
    uint32 length;
    int32 log_lanes;
    bool aligned;  // the packs of every row are aligned
  };
  static constexpr int kThreads = 256;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {ceil_div(a.outputs, kThreads >> a.log_lanes)}; }
  template <class Ctx>
  struct Shared {};

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const int lanes = 1 << a.log_lanes, lane = ctx.thread() & (lanes - 1);
    const int output = (ctx.block().x * kThreads + ctx.thread()) >> a.log_lanes;
    Total total = R::identity(kNowhere);
    if (output < a.outputs) {
      uint32 offset[1];
      a.rows.locate(output, offset);
      total = LaneTotal<R>::over(a.params, a.in + offset[0], lane, lanes, a.length, a.aligned,
                                 a.first_place);
    }
    masks_down<Ctx::kWave / 2, 1>([&]<int mask>() {
      if (mask < lanes) total = R::combine(total, exchange<mask>(ctx, total));
    });
    if (output < a.outputs && lane == 0) R::store(a.params, a.out, output, total);
  }
};

/// The destination of an output's total.
template <class R>
struct ReduceResult {
  void* out;
  typename R::Total* partials;  // [outputs, all_pieces], or nullptr: the total is the result
  int32 first_piece, all_pieces;
  WICK_DEVICE void store(const ReduceParams& params, int output, int piece,
                         const typename R::Total& total) const {
    if (partials)
      partials[int64(output) * all_pieces + first_piece + piece] = total;
    else
      R::store(params, out, output, total);
  }
};

// Contiguous reduced elements: one block per piece of an output. Block x: the output, block
// y: the piece.
template <class R>
struct ReduceBlocks {
  using In = typename R::In;
  using Total = typename R::Total;
  struct Args {
    ReduceParams params;
    ReduceResult<R> result;
    const In* in;
    Indexer<1> rows;
    int64 first_place;
    int32 outputs, pieces;
    uint32 length, piece_length;
    bool aligned;
  };
  static constexpr int kThreads = 256;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {a.outputs, a.pieces}; }
  template <class Ctx>
  struct Shared {
    Total partial[Ctx::kWaves];
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const int output = ctx.block().x, piece = ctx.block().y;
    uint32 offset[1];
    a.rows.locate(output, offset);
    const uint32 first = piece * a.piece_length, left = a.length - first;
    const uint32 size = left < a.piece_length ? left : a.piece_length;
    Total total = LaneTotal<R>::over(a.params, a.in + offset[0] + first, ctx.thread(), kThreads,
                                     size, a.aligned, a.first_place + first);
    masks_down<Ctx::kWave / 2, 1>(
        [&]<int mask>() { total = R::combine(total, exchange<mask>(ctx, total)); });
    if (ctx.lane() == 0) shared.partial[ctx.wave()] = total;
    ctx.sync();
    if (ctx.thread() != 0) return;
    for (int w = 1; w < Ctx::kWaves; w++) total = R::combine(total, shared.partial[w]);
    a.result.store(a.params, output, piece, total);
  }
};

// Any strides: 2^log_columns neighbouring threads of a block have `wide` outputs each, its
// other threads have other parts of the reduction. Block y: the piece. A thread's outputs are
// neighbours in memory.
template <class R, int wide>
struct ReduceStrided {
  using In = typename R::In;
  using Total = typename R::Total;
  using ReducedIndexer = Indexer<R::kPlaces ? 2 : 1>;  // the element's offset, and its place
  struct Args {
    ReduceParams params;
    ReduceResult<R> result;
    const In* in;
    Indexer<1> kept;
    ReducedIndexer reduced;
    int64 first_place;
    int32 outputs, log_columns, pieces;
    uint32 length, piece_length;
  };
  static constexpr int kThreads = 256, kUnroll = wide == 1 ? 8 : 4;
  static constexpr int kTotals = R::kExact ? 1 : wide == 1 ? kUnroll : 2;  // of each output
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) {
    return {ceil_div(a.outputs, wide << a.log_columns), a.pieces};
  }
  template <class Ctx>
  struct Shared {
    Total partial[wide][kThreads];
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const int columns = 1 << a.log_columns, thread = ctx.thread();
    const int column = ctx.block().x * columns + (thread & (columns - 1)), piece = ctx.block().y;
    const int output = column * wide;
    const uint32 rows = kThreads >> a.log_columns;
    const uint32 first = piece * a.piece_length, left = a.length - first;
    const uint32 end = first + (left < a.piece_length ? left : a.piece_length);
    uint32 r = first + (uint32(thread) >> a.log_columns);
    Total totals[kTotals][wide];
    const int64 first_place =
        R::kPlaces && output < a.outputs && r < end ? Element(a, nullptr, r).place : kNowhere;
    for (int t = 0; t < kTotals; t++)
      for (int c = 0; c < wide; c++) totals[t][c] = R::identity(first_place);
    if (output < a.outputs) {
      uint32 start[1];
      a.kept.locate(output, start);
      const In* x = a.in + start[0];
      for (; r + (kUnroll - 1) * rows < end; r += kUnroll * rows) {
        Pack<In, wide> now[kUnroll];
        int64 place[kUnroll];
        for (int u = 0; u < kUnroll; u++) {
          const Element element(a, x, r + u * rows);
          now[u] = load_pack<wide>(element.in);
          place[u] = element.place;
        }
        for (int u = 0; u < kUnroll; u++) add(a.params, totals[u % kTotals], now[u], place[u]);
      }
      for (int u = 0; u < kUnroll - 1; u++, r += rows) {
        if (r >= end) continue;
        const Element element(a, x, r);
        add(a.params, totals[u % kTotals], load_pack<wide>(element.in), element.place);
      }
    }
    for (int half = kTotals / 2; half > 0; half /= 2)
      for (int t = 0; t < half; t++)
        for (int c = 0; c < wide; c++) totals[t][c] = R::combine(totals[t][c], totals[t + half][c]);
    for (int c = 0; c < wide; c++) shared.partial[c][thread] = totals[0][c];
    for (int half = kThreads / 2; half >= columns; half /= 2) {
      ctx.sync();
      if (thread >= half) continue;
      for (int c = 0; c < wide; c++)
        shared.partial[c][thread] =
            R::combine(shared.partial[c][thread], shared.partial[c][thread + half]);
    }
    if (thread >= columns || output >= a.outputs) return;
    // No sync: each thread reads its own last write.
    for (int c = 0; c < wide; c++)
      a.result.store(a.params, output + c, piece, shared.partial[c][thread]);
  }

 private:
  struct Element {
    const In* in;
    int64 place;
    WICK_DEVICE Element(const Args& a, const In* x, uint32 r) {
      uint32 offset[R::kPlaces ? 2 : 1];
      a.reduced.locate(r, offset);
      in = x + offset[0];
      place = R::kPlaces ? a.first_place + offset[R::kPlaces ? 1 : 0] : 0;
    }
  };
  static WICK_DEVICE void add(const ReduceParams& params, Total (&totals)[wide],
                              const Pack<In, wide>& x, int64 place) {
    for (int c = 0; c < wide; c++) {
      if constexpr (R::kExact) {
        const In one[1] = {x.v[c]};
        R::add(params, totals[c], one, place);
      } else {
        totals[c] = R::combine(totals[c], R::load(params, x.v[c]));
      }
    }
  }
};

/// A call on the host. kept: the kept dims of out and in. reduced: the reduced dims of in, with the
/// elements' positions.
struct ReduceCall {
  Operands<2> kept, reduced;
  int64 outputs = 1, length = 1;

  explicit ReduceCall(const Call& call) {
    const View &in = call.in[0], &out = call.out[0];
    const int dims = static_cast<const ReduceAttributes*>(call.attributes)->kept;
    kept.data[0] = static_cast<char*>(out.data);
    kept.data[1] = reduced.data[0] = static_cast<char*>(in.data);
    kept.element_bytes[0] = dtype_size(out.dtype);
    kept.element_bytes[1] = reduced.element_bytes[0] = dtype_size(in.dtype);
    int64 strides[kMaxRank], places[kMaxRank];
    for (int d = dims; d-- > 0;) strides[d] = outputs, outputs *= in.shape[d];
    for (int d = in.rank; d-- > dims;) places[d] = length, length *= in.shape[d];
    for (int d = 0; d < dims; d++) kept.push_dim(in.shape[d], {strides[d], in.strides[d]});
    for (int d = dims; d < in.rank; d++) reduced.push_dim(in.shape[d], {in.strides[d], places[d]});
  }
  static const char* check(const Call& call) {
    const View &in = call.in[0], &out = call.out[0];
    if (!call.attributes) return "there are no attributes";
    const int dims = static_cast<const ReduceAttributes*>(call.attributes)->kept;
    if (dims < 0 || dims > in.rank) return "kept is not between 0 and the rank";
    int64 outputs = 1;
    for (int d = 0; d < dims; d++) outputs *= in.shape[d];
    if (!out.contiguous() || out.numel() != outputs) return "the output is not contiguous [K...]";
    return nullptr;
  }
};

/// The number and length of a reduction's pieces.
struct Pieces {
  int32 count;
  uint32 length;
  /// Enough pieces to occupy any card. `blocks` blocks work on each piece; a piece has at
  /// least `least` elements.
  static Pieces of(int64 length, int64 blocks, int64 least) {
    constexpr int64 kBlocks = 1024;
    int64 count = kBlocks / blocks < length / least ? kBlocks / blocks : length / least;
    if (count < 1) count = 1;
    constexpr int64 kStep = 64;  // keeps alignment
    const int64 piece = ceil_div(ceil_div(length, count), kStep) * kStep;
    return {piece > 0 ? int32(ceil_div(length, piece)) : 1, uint32(piece)};
  }
};

/// The work of one launch: some outputs, and a part of the reduced elements, split into pieces.
template <class R>
struct ReducePart {
  ReduceParams params;
  ReduceResult<R> result;
  const typename R::In* in;
  const Operands<2>&kept, &reduced;
  Pieces pieces;
};

template <class R>
Status launch_groups(const ReduceParams& params, void* out, const typename R::In* in,
                     const Indexer<1>& rows, int64 outputs, int64 length, bool aligned,
                     int64 first_place, const Call& call) {
  const int64 packs = ceil_div<int64>(length, LaneTotal<R>::kPack);
  int log_lanes = 0;
  while (4 << log_lanes < packs && 2 << log_lanes <= wave_of(call.device)) log_lanes++;
  return launch<ReduceGroups<R>>(
      {params, out, in, rows, first_place, int32(outputs), uint32(length), log_lanes, aligned},
      call);
}

/// The form for contiguous reduced elements.
struct RowsForm {
  static const char* accepts(const ReduceCall& c) {
    const bool side_by_side =
        c.length <= 1 || (c.reduced.rank == 1 && c.reduced.strides[0][0] == 1);
    return side_by_side ? nullptr : "the reduced elements do not lie side by side";
  }
  template <class R>
  static Pieces pieces(const ReduceCall& c, const Operands<2>& reduced) {
    return Pieces::of(reduced.numel(), c.outputs, 4096);
  }
  template <class R>
  static Status launch_part(const ReduceCall&, const ReducePart<R>& part, const Call& call) {
    constexpr int pack = LaneTotal<R>::kPack;
    const int64 outputs = part.kept.numel(), length = part.reduced.numel();
    const int64 first_place = part.reduced.begin[1];
    bool aligned = is_aligned(part.in, pack * sizeof(typename R::In));
    for (int d = 0; d < part.kept.rank; d++) aligned &= part.kept.strides[1][d] % pack == 0;
    const Indexer<1> rows = part.kept.indexer_of(1);
    if (!part.result.partials && length <= 8 * pack * wave_of(call.device)) {
      return launch_groups<R>(part.params, part.result.out, part.in, rows, outputs, length, aligned,
                              first_place, call);
    }
    return launch<ReduceBlocks<R>>(
        {part.params, part.result, part.in, rows, first_place, int32(outputs), part.pieces.count,
         uint32(length), part.pieces.length, aligned},
        call);
  }
};

/// The form for any strides.
struct StridedForm {
  static constexpr int kThreads = 256;
  /// Outputs per thread if they are contiguous: several for narrow elements, since accesses of one
  /// or two bytes do not saturate the memory.
  template <class R>
  static constexpr int kWide = sizeof(typename R::In) <= 2 ? 4 : 1;

  static const char* accepts(const ReduceCall& c) {
    return c.length > 0 ? nullptr : "nothing is reduced: the rows form writes what that gives";
  }
  template <class R>
  static Pieces pieces(const ReduceCall& c, const Operands<2>& reduced) {
    const int64 length = reduced.numel();
    const int wide = lie_wide<R>(c.kept, c.reduced) ? kWide<R> : 1;
    const int log = log_columns(c, length, wide);
    return Pieces::of(length, ceil_div<int64>(c.outputs, wide << log), 32 * (kThreads >> log));
  }
  template <class R>
  static Status launch_part(const ReduceCall& c, const ReducePart<R>& part, const Call& call) {
    if constexpr (kWide < R >> 1) {
      if (lie_wide<R>(part.kept, part.reduced)) return launch_wide<R, kWide<R>>(c, part, call);
    }
    return launch_wide<R, 1>(c, part, call);
  }

 private:
  static int64 inner_stride(const Operands<2>& dims, int operand) {
    const int64 stride = dims.rank > 0 ? dims.strides[operand][dims.rank - 1] : 0;
    return stride > 0 ? stride : kLaunchLimit;
  }
  /// log2 of the threads per block with different outputs. Neighbouring threads read neighbouring
  /// elements, whether these belong to different outputs or to one.
  static int log_columns(const ReduceCall& c, int64 length, int wide) {
    int log = 0;
    if (inner_stride(c.reduced, 0) < inner_stride(c.kept, 1)) {
      while ((kThreads >> log) > length && log < 8) log++;
    } else {
      const int most = length < 64 ? 8 : 5;
      while (wide << log < c.outputs && log < most) log++;
    }
    return log;
  }
  /// Whether every kWide neighbouring outputs are contiguous in memory and aligned.
  template <class R>
  static bool lie_wide(const Operands<2>& kept, const Operands<2>& reduced) {
    constexpr int wide = kWide<R>;
    const int inner = kept.rank - 1;
    if (inner < 0 || kept.strides[1][inner] != 1 || kept.shape[inner] % wide != 0) return false;
    bool aligned = is_aligned(kept.data[1], wide * sizeof(typename R::In)) &&
                   is_aligned(reduced.data[0], wide * sizeof(typename R::In));
    for (int d = 0; d < inner; d++) aligned &= kept.strides[1][d] % wide == 0;
    for (int d = 0; d < reduced.rank; d++) aligned &= reduced.strides[0][d] % wide == 0;
    return aligned;
  }
  template <class R, int wide>
  static Status launch_wide(const ReduceCall& c, const ReducePart<R>& part, const Call& call) {
    using K = ReduceStrided<R, wide>;
    const int64 length = part.reduced.numel();
    typename K::Args args{};
    args.params = part.params, args.result = part.result, args.in = part.in;
    args.kept = part.kept.indexer_of(1);
    if constexpr (R::kPlaces)
      args.reduced = part.reduced.indexer(part.reduced.rank);
    else
      args.reduced = part.reduced.indexer_of(0);
    args.first_place = part.reduced.begin[1];
    args.outputs = int32(part.kept.numel());
    args.log_columns = log_columns(c, length, wide);
    args.pieces = part.pieces.count;
    args.length = uint32(length), args.piece_length = part.pieces.length;
    return launch<K>(args, call);
  }
};

template <class R, class Form>
struct ReduceLaunch {
  using Total = typename R::Total;

  static const char* accepts(const Call& call, const DeviceInfo&) {
    if (const char* why = ReduceCall::check(call)) return why;
    return Form::accepts(ReduceCall(call));
  }
  static int64 scratch_bytes(const Call& call, const DeviceInfo&) {
    const ReduceCall c(call);
    const int64 pieces = all_pieces(c);
    return pieces > 1 ? c.outputs * pieces * int64(sizeof(Total)) : 0;
  }
  static Status run(const Call& call) {
    const ReduceCall c(call);
    if (c.outputs == 0) return {};
    const ReduceParams params = R::params(call);
    const int64 pieces = all_pieces(c);
    Total* const partials = pieces > 1 ? static_cast<Total*>(call.scratch) : nullptr;
    const auto reduce = [&](const Operands<2>& kept) {
      void* const out = kept.data[0];
      int32 done = 0;
      const auto reduce_part = [&](const Operands<2>& reduced) {
        const char* in = kept.data[1] + (reduced.data[0] - c.reduced.data[0]);
        const Pieces cut = Form::template pieces<R>(c, reduced);
        const int32 first = done;
        done += cut.count;
        return Form::template launch_part<R>(c,
                                             {params,
                                              {out, partials, first, int32(pieces)},
                                              reinterpret_cast<const typename R::In*>(in),
                                              kept,
                                              reduced,
                                              cut},
                                             call);
      };
      const Status status =
          c.length > 0 ? for_each_part(c.reduced, reduce_part) : reduce_part(c.reduced);
      if (!status.ok() || !partials) return status;
      Operands<1> rows;
      rows.add_dim(kept.numel(), {pieces});
      return launch_groups<typename R::OverTotals>(
          params.over_totals(), out, reinterpret_cast<const typename R::OverTotals::In*>(partials),
          rows.indexer(rows.rank), kept.numel(), pieces, false, 0, call);
    };
    // A launch has at least one block per output: limits them to the grid's size.
    return for_each_part(c.kept, reduce, {.numel = int64(1) << 22});
  }

 private:
  static int64 all_pieces(const ReduceCall& c) {
    int64 pieces = 0;
    const auto count = [&](const Operands<2>& reduced) {
      pieces += Form::template pieces<R>(c, reduced).count;
      return Status{};
    };
    if (c.outputs == 0 || c.length == 0) return 1;
    for_each_part(c.reduced, count);
    return pieces;
  }
};

/// Adds both forms of R for an op of dtype T.
template <class R, class T>
void add_reduction(KernelList& list, const Op& op) {
  add_kernel<ReduceLaunch<R, RowsForm>, kAllFamilies>(list, "rows", {op, kDTypeOf<T>});
  add_kernel<ReduceLaunch<R, StridedForm>, kAllFamilies>(list, "strided", {op, kDTypeOf<T>});
}

}  // namespace wick::gpu
