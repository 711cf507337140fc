// y[k] = reduction over r of x[k, r]; steps: scalar/reduce.h. Two forms: the reduced elements of an
// output side by side (lanes of a wave or a block each output), and any strides (a block some
// outputs by some parts of the reduction). Few outputs of many elements are cut into pieces whose
// results meet in scratch. Every order of addition is fixed by shape and strides.
#pragma once
#include "kernels/common.h"
#include "scalar/reduce.h"

namespace wick::gpu {

/// What is loaded, added up and stored: In_ is T, or the total itself in the pass over scratch.
template <class R, class T, class In_>
struct Reduction {
  using Step = R;
  using Total = Accumulator<R, T>;
  using Out = Reduced<R, T>;
  using In = Either<kSame<In_, bool>, uint8, In_>;  // a bool's byte may be anything
  static WICK_DEVICE Total load(In x) {
    if constexpr (kSame<In_, bool>)
      return Total(x != 0);
    else
      return widen<Total>(x);
  }
};

/// Adds the elements of x[first, end) that fall to this lane: packs of neighbours, kUnroll of them
/// at once, `step` packs apart. Which element goes into which sum depends on the place alone, not
/// on the alignment.
template <class Reduction>
struct LaneSum {
  using In = typename Reduction::In;
  using Total = typename Reduction::Total;
  using Step = typename Reduction::Step;
  static constexpr int kPack = kPackSize<In> < 8 ? kPackSize<In> : 8, kUnroll = 2;

  static WICK_DEVICE Total over(const In* x, uint32 first, uint32 step, uint32 size, bool aligned) {
    Total sums[kUnroll][kPack];
    for (int u = 0; u < kUnroll; u++)
      for (int e = 0; e < kPack; e++) sums[u][e] = Step::template identity<Total>();
    const uint32 whole = size / kPack;
    uint32 i = first;
    for (; aligned && i + step < whole; i += 2 * step) {
      const auto a = load_pack<kPack>(x + i * kPack), b = load_pack<kPack>(x + (i + step) * kPack);
      for (int e = 0; e < kPack; e++) {
        sums[0][e] = Step()(sums[0][e], Reduction::load(a.v[e]));
        sums[1][e] = Step()(sums[1][e], Reduction::load(b.v[e]));
      }
    }
    for (int u = 0; i * kPack < size; u ^= 1, i += step)
      for (int e = 0; e < kPack; e++)
        if (i * kPack + e < size) {
          // Not sums[u]: an index known at run time would put the sums into memory.
          const Total v = Reduction::load(x[i * kPack + e]);
          if (u == 0)
            sums[0][e] = Step()(sums[0][e], v);
          else
            sums[1][e] = Step()(sums[1][e], v);
        }
    for (int e = 0; e < kPack; e++) sums[0][e] = Step()(sums[0][e], sums[1][e]);
    for (int half = kPack / 2; half > 0; half /= 2)
      for (int e = 0; e < half; e++) sums[0][e] = Step()(sums[0][e], sums[0][e + half]);
    return sums[0][0];
  }
};

// Side by side, 2^log_lanes lanes of a wave an output.
template <class Reduction>
struct ReduceGroups {
  using Out = typename Reduction::Out;
  using In = typename Reduction::In;
  using Total = typename Reduction::Total;
  struct Args {
    Out* out;  // contiguous
    const In* in;
    Indexer<1> rows;
    int32 outputs;
    uint32 length;
    int32 log_lanes;
    bool aligned;  // every row's packs
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
    Total sum = Reduction::Step::template identity<Total>();
    if (output < a.outputs) {
      uint32 offset[1];
      a.rows.locate(output, offset);
      sum = LaneSum<Reduction>::over(a.in + offset[0], lane, lanes, a.length, a.aligned);
    }
    for (int mask = lanes / 2; mask > 0; mask /= 2)
      sum = typename Reduction::Step()(sum, exchange(ctx, sum, mask));
    if (output < a.outputs && lane == 0) a.out[output] = narrow<Out>(sum);
  }
};

/// The block's sum, in its first thread. partial is the block's.
template <class Step, class Ctx, class Total>
WICK_DEVICE Total reduce_block(const Ctx& ctx, Total (&partial)[Ctx::kWaves], Total sum) {
  for (int mask = Ctx::kWave / 2; mask > 0; mask /= 2) sum = Step()(sum, exchange(ctx, sum, mask));
  if (ctx.lane() == 0) partial[ctx.wave()] = sum;
  ctx.sync();
  if (ctx.thread() == 0)
    for (int w = 1; w < Ctx::kWaves; w++) sum = Step()(sum, partial[w]);
  return sum;
}

// Side by side, a block a piece of an output: block x the output, block y the piece.
template <class Reduction>
struct ReduceBlocks {
  using Out = typename Reduction::Out;
  using In = typename Reduction::In;
  using Total = typename Reduction::Total;
  struct Args {
    Out* out;
    Total* partials;  // [outputs, all_pieces], or nullptr: the sum is the result
    const In* in;
    Indexer<1> rows;
    int32 outputs;
    int32 pieces, first_piece, all_pieces;
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
    Total sum =
        LaneSum<Reduction>::over(a.in + offset[0] + first, ctx.thread(), kThreads, size, a.aligned);
    sum = reduce_block<typename Reduction::Step>(ctx, shared.partial, sum);
    if (ctx.thread() != 0) return;
    if (a.partials)
      a.partials[int64(output) * a.all_pieces + a.first_piece + piece] = sum;
    else
      a.out[output] = narrow<Out>(sum);
  }
};

// Any strides: 2^log_columns outputs of a block side by side, its other threads parts of the
// reduction; block y the piece.
template <class Reduction>
struct ReduceStrided {
  using Out = typename Reduction::Out;
  using In = typename Reduction::In;
  using Total = typename Reduction::Total;
  struct Args {
    Out* out;
    Total* partials;  // [outputs, all_pieces], or nullptr: the sum is the result
    const In* in;
    Indexer<1> kept, reduced;
    int32 outputs;
    int32 log_columns;
    int32 pieces, first_piece, all_pieces;
    uint32 length, piece_length;
  };
  static constexpr int kThreads = 256, kUnroll = 8;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) {
    return {ceil_div(a.outputs, 1 << a.log_columns), a.pieces};
  }
  template <class Ctx>
  struct Shared {
    Total partial[kThreads];
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    using Step = typename Reduction::Step;
    const int columns = 1 << a.log_columns, thread = ctx.thread();
    const int output = ctx.block().x * columns + (thread & (columns - 1)), piece = ctx.block().y;
    const uint32 rows = kThreads >> a.log_columns;
    Total sums[kUnroll];
    for (int u = 0; u < kUnroll; u++) sums[u] = Step::template identity<Total>();
    if (output < a.outputs) {
      uint32 start[1];
      a.kept.locate(output, start);
      const In* x = a.in + start[0];
      const uint32 first = piece * a.piece_length, left = a.length - first;
      const uint32 end = first + (left < a.piece_length ? left : a.piece_length);
      uint32 r = first + (uint32(thread) >> a.log_columns);
      for (; r + (kUnroll - 1) * rows < end; r += kUnroll * rows) {
        In now[kUnroll];
        for (int u = 0; u < kUnroll; u++) now[u] = at(x, a.reduced, r + u * rows);
        for (int u = 0; u < kUnroll; u++) sums[u] = Step()(sums[u], Reduction::load(now[u]));
      }
      for (int u = 0; u < kUnroll - 1; u++, r += rows)
        if (r < end) sums[u] = Step()(sums[u], Reduction::load(at(x, a.reduced, r)));
    }
    for (int half = kUnroll / 2; half > 0; half /= 2)
      for (int u = 0; u < half; u++) sums[u] = Step()(sums[u], sums[u + half]);
    shared.partial[thread] = sums[0];
    for (int half = kThreads / 2; half >= columns; half /= 2) {
      ctx.sync();
      if (thread < half)
        shared.partial[thread] = Step()(shared.partial[thread], shared.partial[thread + half]);
    }
    if (thread >= columns || output >= a.outputs) return;
    const Total sum = shared.partial[thread];  // its own, written last by itself
    if (a.partials)
      a.partials[int64(output) * a.all_pieces + a.first_piece + piece] = sum;
    else
      a.out[output] = narrow<Out>(sum);
  }

 private:
  static WICK_DEVICE In at(const In* x, const Indexer<1>& reduced, uint32 r) {
    uint32 offset[1];
    reduced.locate(r, offset);
    return x[offset[0]];
  }
};

/// A call on the host: out's and in's kept dims, in's reduced ones.
struct ReduceCall {
  Operands<2> kept;
  Operands<1> reduced;
  int64 outputs = 1, length = 1;

  explicit ReduceCall(const Call& call) {
    const View &in = call.in[0], &out = call.out[0];
    const int dims = static_cast<const ReduceAttributes*>(call.attributes)->kept;
    kept.data[0] = static_cast<char*>(out.data);
    kept.data[1] = reduced.data[0] = static_cast<char*>(in.data);
    kept.element_bytes[0] = dtype_size(out.dtype);
    kept.element_bytes[1] = reduced.element_bytes[0] = dtype_size(in.dtype);
    int64 out_strides[kMaxRank];
    for (int d = dims; d-- > 0;) out_strides[d] = outputs, outputs *= in.shape[d];
    for (int d = 0; d < dims; d++) kept.add_dim(in.shape[d], {out_strides[d], in.strides[d]});
    for (int d = dims; d < in.rank; d++) {
      reduced.add_dim(in.shape[d], {in.strides[d]});
      length *= in.shape[d];
    }
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

/// Into how many pieces a reduction is cut, and of which length.
struct Pieces {
  int32 count;
  uint32 length;
  /// So many pieces that there is work for every card; `blocks` blocks work on one piece each,
  /// which has at least `least` elements.
  static Pieces of(int64 length, int64 blocks, int64 least) {
    constexpr int64 kBlocks = 1024;
    int64 count = kBlocks / blocks < length / least ? kBlocks / blocks : length / least;
    if (count < 1) count = 1;
    constexpr int64 kStep = 64;  // keeps alignment
    const int64 piece = ceil_div(ceil_div(length, count), kStep) * kStep;
    return {piece > 0 ? int32(ceil_div(length, piece)) : 1, uint32(piece)};
  }
};

/// One launch's share: some outputs, and a part of the reduced elements, cut into pieces.
template <class R, class T>
struct ReducePart {
  using Total = Accumulator<R, T>;
  Reduced<R, T>* out;
  Total* partials;  // nullptr: the only piece
  const typename Reduction<R, T, T>::In* in;
  const Operands<2>& kept;
  const Operands<1>& reduced;
  Pieces pieces;
  int32 first_piece, all_pieces;
};

template <class R, class T, class In>
Status launch_groups(Reduced<R, T>* out, const In* in, const Indexer<1>& rows, int64 outputs,
                     int64 length, bool aligned, const Call& call) {
  using K = ReduceGroups<Reduction<R, T, In>>;
  const int64 packs = ceil_div<int64>(length, LaneSum<Reduction<R, T, In>>::kPack);
  int log_lanes = 0;
  while (4 << log_lanes < packs && 2 << log_lanes <= wave_of(call.device)) log_lanes++;
  return launch<K>({out, reinterpret_cast<const typename K::In*>(in), rows, int32(outputs),
                    uint32(length), log_lanes, aligned},
                   call);
}

/// The reduced elements of an output lie side by side.
struct RowsForm {
  static const char* accepts(const ReduceCall& c) {
    const bool side_by_side =
        c.length <= 1 || (c.reduced.rank == 1 && c.reduced.strides[0][0] == 1);
    return side_by_side ? nullptr : "the reduced elements do not lie side by side";
  }
  static Pieces pieces(const ReduceCall& c, const Operands<1>& reduced) {
    return Pieces::of(reduced.numel(), c.outputs, 4096);
  }
  template <class R, class T>
  static Status launch_part(const ReducePart<R, T>& part, const Call& call) {
    using Load = Reduction<R, T, T>;
    constexpr int pack = LaneSum<Load>::kPack;
    const int64 outputs = part.kept.numel(), length = part.reduced.numel();
    bool aligned = is_aligned(part.in, pack * sizeof(T));
    for (int d = 0; d < part.kept.rank; d++) aligned &= part.kept.strides[1][d] % pack == 0;
    const Indexer<1> rows = part.kept.indexer_of(1);
    if (!part.partials && length <= 8 * pack * wave_of(call.device)) {
      return launch_groups<R, T, T>(part.out, reinterpret_cast<const T*>(part.in), rows, outputs,
                                    length, aligned, call);
    }
    return launch<ReduceBlocks<Load>>(
        {part.out, part.partials, part.in, rows, int32(outputs), part.pieces.count,
         part.first_piece, part.all_pieces, uint32(length), part.pieces.length, aligned},
        call);
  }
};

/// The form for any strides.
struct StridedForm {
  static constexpr int kThreads = 256;
  static const char* accepts(const ReduceCall& c) {
    return c.length > 0 ? nullptr : "nothing is reduced: the rows form writes what that gives";
  }
  /// Outputs of a block: neighbours in memory are read by neighbouring threads, whether they are
  /// outputs or parts of one.
  static int log_columns(const ReduceCall& c, int64 length) {
    const auto inner_stride = [](const int64* strides, int rank) {
      return rank > 0 && strides[rank - 1] > 0 ? strides[rank - 1] : kLaunchLimit;
    };
    const bool along_reduced = inner_stride(c.reduced.strides[0], c.reduced.rank) <
                               inner_stride(c.kept.strides[1], c.kept.rank);
    int log = 0;
    if (along_reduced) {
      while ((kThreads >> log) > length && log < 8) log++;
    } else {
      const int most = length < 64 ? 8 : 5;
      while (1 << log < c.outputs && log < most) log++;
    }
    return log;
  }
  static Pieces pieces(const ReduceCall& c, const Operands<1>& reduced) {
    const int64 length = reduced.numel();
    const int log = log_columns(c, length);
    return Pieces::of(length, ceil_div<int64>(c.outputs, 1 << log), 32 * (kThreads >> log));
  }
  template <class R, class T>
  static Status launch_part(const ReducePart<R, T>& part, const Call& call) {
    const int64 length = part.reduced.numel();
    const int log = log_columns(ReduceCall(call), length);
    return launch<ReduceStrided<Reduction<R, T, T>>>(
        {part.out, part.partials, part.in, part.kept.indexer_of(1),
         part.reduced.indexer(part.reduced.rank), int32(part.kept.numel()), log, part.pieces.count,
         part.first_piece, part.all_pieces, uint32(length), part.pieces.length},
        call);
  }
};

template <class R, class T, class Form>
struct ReduceLaunch {
  static constexpr Signature signature{R::op, kDTypeOf<T>};
  using Total = Accumulator<R, T>;
  using Out = Reduced<R, T>;

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
    const int64 pieces = all_pieces(c);
    Total* const partials = pieces > 1 ? static_cast<Total*>(call.scratch) : nullptr;
    const auto reduce = [&](const Operands<2>& kept) {
      Out* const out = reinterpret_cast<Out*>(kept.data[0]);
      int32 done = 0;
      const auto reduce_part = [&](const Operands<1>& reduced) {
        const char* in = kept.data[1] + (reduced.data[0] - c.reduced.data[0]);
        const Pieces cut = Form::pieces(c, reduced);
        const int32 first = done;
        done += cut.count;
        return Form::template launch_part<R, T>(
            {out, partials, reinterpret_cast<const typename Reduction<R, T, T>::In*>(in), kept,
             reduced, cut, first, int32(pieces)},
            call);
      };
      const Status status =
          c.length > 0 ? for_each_part(c.reduced, reduce_part) : reduce_part(c.reduced);
      if (!status.ok() || !partials) return status;
      Operands<1> rows;
      rows.add_dim(kept.numel(), {pieces});
      return launch_groups<R, T, Total>(out, partials, rows.indexer(rows.rank), kept.numel(),
                                        pieces, false, call);
    };
    // A launch has a block or more for an output: no more of them than the grid takes.
    return for_each_part(c.kept, reduce, {.numel = int64(1) << 22});
  }

 private:
  static int64 all_pieces(const ReduceCall& c) {
    int64 pieces = 0;
    const auto count = [&](const Operands<1>& reduced) {
      pieces += Form::pieces(c, reduced).count;
      return Status{};
    };
    if (c.outputs == 0 || c.length == 0) return 1;
    for_each_part(c.reduced, count);
    return pieces;
  }
};

}  // namespace wick::gpu
