// gather: y[o, j, i] = x[o, ids[o, j, i], i]; scatter: y[o, ids[o, j, i], i] = src[o, j, i];
// scatter_add: += instead, in any order here, in the order of j in sorted_add.h. Of equal ids
// scatter keeps the last (last_ids.h). An id outside of [0, N) writes nothing, gives 0 in gather,
// and fills the error record with its row-major position, skipping dims along which ids repeats.
#pragma once
#include "kernels/cast.h"
#include "wick/abi/ops/gather.h"

namespace wick::gpu {

enum class Moves { kFromIds, kToIds };  // gather, scatter

/// Whether a launch records out-of-range ids as errors. kIgnore: an earlier launch has done so.
enum class OutOfRange { kReport, kIgnore };

/// The range that the ids of one launch address, and the position of its first id.
struct IdSpace {
  uint64 op;             // its id
  int64 size;            // N
  int64 stride;          // of the indexed dim of the addressed operand, in elements
  int64 first_position;  // of the launch
  OutOfRange out_of_range;

  /// Returns false for an out-of-range id; the first reader (is_first) records the error.
  template <class Ctx>
  WICK_DEVICE bool holds(const Ctx& ctx, int64 id, uint32 position, bool is_first) const {
    const bool in_range = 0 <= id && id < size;
    if (!in_range && is_first && out_of_range == OutOfRange::kReport)
      ctx.fail(StatusCode::kIdOutOfRange, op, first_position + position, id, size);
    return in_range;
  }
};

/// The operands of one launch in Indexer<4>.
enum IndexedOperand { kMoved, kIds, kAddressed, kPosition };

/// Moves one unit or element: gathers it from the id's position, or scatters it there.
template <Moves moves, class Unit>
WICK_DEVICE void move(Unit* moved, Unit* addressed, bool in_range) {
  if constexpr (moves == Moves::kFromIds)
    *moved = in_range ? *addressed : Unit{};
  else if (in_range)
    *addressed = *moved;
}

// Whole rows: ids broadcast along i, both operands contiguous along it. Units are as large as
// strides and alignment allow, whatever the element type is. Each thread reads the id once.
template <Moves moves, class Unit>
struct MoveRows {
  struct Args {
    Unit* moved;
    const int64* ids;
    Unit* addressed;
    Indexer<4> at;  // of a row [o, j]
    IdSpace space;
    RowSplit split;
    uint32 rows, length;  // length: units per row
  };
  static constexpr int kThreads = 256;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {a.split.blocks}; }
  template <class Ctx>
  struct Shared {};

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const RowSplit::Accesses place = a.split.place(ctx.block().x, ctx.thread());
    if (place.row >= a.rows) return;
    uint32 offset[4];
    a.at.locate(place.row, offset);
    const int64 id = a.ids[offset[kIds]];
    const bool in_range = a.space.holds(ctx, id, offset[kPosition], place.first == 0);
    Unit* const addressed = a.addressed + offset[kAddressed] + (in_range ? id * a.space.stride : 0);
    Unit* const moved = a.moved + offset[kMoved];
    uint32 i = place.first;
    for (int step = 0; step < a.split.steps && i < a.length; step++, i += place.step)
      move<moves>(moved + i, addressed + i, in_range);
  }
};

// Any strides.
template <Moves moves, class Element>
struct MoveStrided {
  struct Args {
    Element* moved;
    const int64* ids;
    Element* addressed;
    Indexer<4> at;
    IdSpace space;
    int32 numel;
  };
  static constexpr int kThreads = 256, kItems = 4;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {ceil_div(a.numel, kThreads * kItems)}; }
  template <class Ctx>
  struct Shared {};

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    int i = ctx.block().x * (kThreads * kItems) + ctx.thread();
    for (int item = 0; item < kItems && i < a.numel; item++, i += kThreads) {
      uint32 offset[4];
      a.at.locate(i, offset);
      const int64 id = a.ids[offset[kIds]];
      const bool in_range = a.space.holds(ctx, id, offset[kPosition], true);
      Element* const addressed =
          a.addressed + offset[kAddressed] + (in_range ? id * a.space.stride : 0);
      move<moves>(a.moved + offset[kMoved], addressed, in_range);
    }
  }
};

// Any strides, in an unspecified order of additions. y's elements have 4 or 8 bytes, and may
// be wider than src's.
template <class T, class Sum>
struct ScatterAdd {
  struct Args {
    const T* src;
    const int64* ids;
    Sum* y;
    Indexer<4> at;
    IdSpace space;
    int32 numel;
  };
  static constexpr int kThreads = 256, kItems = 4;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {ceil_div(a.numel, kThreads * kItems)}; }
  template <class Ctx>
  struct Shared {};

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    int i = ctx.block().x * (kThreads * kItems) + ctx.thread();
    for (int item = 0; item < kItems && i < a.numel; item++, i += kThreads) {
      uint32 offset[4];
      a.at.locate(i, offset);
      const int64 id = a.ids[offset[kIds]];
      if (a.space.holds(ctx, id, offset[kPosition], true))
        ctx.atomic_add(a.y + offset[kAddressed] + id * a.space.stride,
                       widen<Sum>(a.src[offset[kMoved]]));
    }
  }
};

/// A call on the host. moved: [O, J, I], gather's y or the scatters' src; addressed: [O, N, I].
struct IndexedCall {
  const View &moved, &ids, &addressed;

  static IndexedCall gather(const Call& call) { return {call.out[0], call.in[1], call.in[0]}; }
  static IndexedCall scatter(const Call& call) { return {call.in[0], call.in[1], call.out[0]}; }
  template <Moves moves>
  static IndexedCall of(const Call& call) {
    return moves == Moves::kFromIds ? gather(call) : scatter(call);
  }

  const char* check() const {
    if (moved.rank != 3 || ids.rank != 3 || addressed.rank != 3)
      return "operands are not of rank 3";
    for (int d = 0; d < 3; d++)
      if (moved.shape[d] != ids.shape[d]) return "ids and what is moved differ in shape";
    for (int d = 0; d < 3; d += 2)
      if (moved.shape[d] != addressed.shape[d]) return "operands differ in an outer or inner size";
    return nullptr;
  }
  /// The first `dims` dims, in units of `bytes` bytes, a whole number of elements.
  Operands<4> operands(int dims, int bytes) const {
    const int64 per_unit = bytes / dtype_size(moved.dtype);
    Operands<4> all;
    all.data[kMoved] = static_cast<char*>(moved.data);
    all.data[kIds] = static_cast<char*>(ids.data);
    all.data[kAddressed] = static_cast<char*>(addressed.data);
    all.data[kPosition] = nullptr;
    all.element_bytes[kMoved] = bytes;
    all.element_bytes[kAddressed] = int(per_unit) * dtype_size(addressed.dtype);  // may be wider
    all.element_bytes[kIds] = dtype_size(ids.dtype);
    all.element_bytes[kPosition] = 0;
    int64 position[3], positions = 1;
    for (int d = 2; d >= 0; d--) {
      const bool counts = ids.strides[d] != 0;
      position[d] = counts ? positions : 0;
      if (counts) positions *= ids.shape[d];
    }
    for (int d = 0; d < dims; d++)
      all.add_dim(moved.shape[d], {moved.strides[d] / per_unit, ids.strides[d],
                                   d == 1 ? 0 : addressed.strides[d] / per_unit, position[d]});
    return all;
  }
  IdSpace space(const Call& call, const Operands<4>& part, int bytes,
                OutOfRange out_of_range = OutOfRange::kReport) const {
    return {call.op->id, addressed.shape[1],
            addressed.strides[1] / (bytes / dtype_size(moved.dtype)), part.begin[kPosition],
            out_of_range};
  }
};

template <Moves moves>
struct MoveRowsLaunch {
  static const char* accepts(const Call& call, const DeviceInfo&) {
    const IndexedCall c = IndexedCall::of<moves>(call);
    if (const char* why = c.check()) return why;
    if (c.moved.shape[2] == 1) return "rows are of one element";
    if (c.ids.strides[2] != 0) return "ids differ along a row";
    if (c.moved.strides[2] != 1 || c.addressed.strides[2] != 1) return "rows are not contiguous";
    if (c.moved.shape[2] > kLaunchLimit) return "rows are longer than a launch";
    return nullptr;
  }
  static Status run(const Call& call, OutOfRange out_of_range = OutOfRange::kReport) {
    const IndexedCall c = IndexedCall::of<moves>(call);
    switch (unit_bytes(c)) {
      case 1:
        return run_in<1>(c, call, out_of_range);
      case 2:
        return run_in<2>(c, call, out_of_range);
      case 4:
        return run_in<4>(c, call, out_of_range);
      case 8:
        return run_in<8>(c, call, out_of_range);
      default:
        return run_in<16>(c, call, out_of_range);
    }
  }

 private:
  /// The largest unit that divides every row and stride.
  static int unit_bytes(const IndexedCall& c) {
    const DType dtype = c.moved.dtype;
    const int64 all[] = {bytes_of(dtype, c.moved.shape[2]),
                         bytes_of(dtype, c.moved.strides[0]),
                         bytes_of(dtype, c.moved.strides[1]),
                         bytes_of(dtype, c.addressed.strides[0]),
                         bytes_of(dtype, c.addressed.strides[1]),
                         int64(reinterpret_cast<uint64>(c.moved.data) % 16),
                         int64(reinterpret_cast<uint64>(c.addressed.data) % 16)};
    int unit = 16;
    for (const int64 bytes : all)
      while (bytes % unit != 0) unit /= 2;
    return unit;
  }
  template <int bytes>
  static Status run_in(const IndexedCall& c, const Call& call, OutOfRange out_of_range) {
    using K = MoveRows<moves, Bits<bytes>>;
    const int64 length = bytes_of(c.moved.dtype, c.moved.shape[2]) / bytes;
    if (length == 0) return {};
    const auto launch_part = [&](const Operands<4>& part) {
      typename K::Args args{};
      args.moved = reinterpret_cast<Bits<bytes>*>(part.data[kMoved]);
      args.ids = reinterpret_cast<const int64*>(part.data[kIds]);
      args.addressed = reinterpret_cast<Bits<bytes>*>(part.data[kAddressed]);
      args.at = part.indexer(part.rank);
      args.space = c.space(call, part, bytes, out_of_range);
      args.rows = uint32(part.numel());
      args.length = uint32(length);
      args.split = RowSplit::of(args.rows, length, K::kThreads);
      return launch<K>(args, call);
    };
    return for_each_part(c.operands(2, bytes), launch_part,
                         {.numel = ceil_div(kLaunchLimit, length)});
  }
};

template <Moves moves>
struct MoveStridedLaunch {
  static const char* accepts(const Call& call, const DeviceInfo&) {
    return IndexedCall::of<moves>(call).check();
  }
  static Status run(const Call& call, OutOfRange out_of_range = OutOfRange::kReport) {
    switch (dtype_size(call.out[0].dtype)) {
      case 1:
        return run_in<1>(call, out_of_range);
      case 2:
        return run_in<2>(call, out_of_range);
      case 4:
        return run_in<4>(call, out_of_range);
      default:
        return run_in<8>(call, out_of_range);
    }
  }

 private:
  template <int bytes>
  static Status run_in(const Call& call, OutOfRange out_of_range) {
    const IndexedCall c = IndexedCall::of<moves>(call);
    const auto launch_part = [&](const Operands<4>& part) {
      return launch<MoveStrided<moves, Bits<bytes>>>(
          {reinterpret_cast<Bits<bytes>*>(part.data[kMoved]),
           reinterpret_cast<const int64*>(part.data[kIds]),
           reinterpret_cast<Bits<bytes>*>(part.data[kAddressed]), part.indexer(part.rank),
           c.space(call, part, bytes, out_of_range), int32(part.numel())},
          call);
    };
    return for_each_part(c.operands(3, bytes), launch_part);
  }
};

/// Adds src at ids to y, whose elements are of type Sum, by atomics.
template <class T, class Sum>
struct AtomicAdd {
  static int64 scratch_bytes(const IndexedCall&) { return 0; }
  static Status run(const IndexedCall& c, const Call& call) {
    const auto launch_part = [&](const Operands<4>& part) {
      return launch<ScatterAdd<T, Sum>>(
          {reinterpret_cast<const T*>(part.data[kMoved]),
           reinterpret_cast<const int64*>(part.data[kIds]),
           reinterpret_cast<Sum*>(part.data[kAddressed]), part.indexer(part.rank),
           c.space(call, part, sizeof(T)), int32(part.numel())},
          call);
    };
    return for_each_part(c.operands(3, sizeof(T)), launch_part);
  }
};

/// The type in which T is added: unsigned for all integers, whose sums are modulo 2^bits.
template <class T>
using Added = Either<kIsFloat<T>, T, Bits<sizeof(T)>>;

/// Accumulates T in y itself. Add is the method: AtomicAdd or SortedAdd.
template <class T, template <class, class> class Add>
struct ScatterAddLaunch {
  using Adder = Add<Added<T>, Added<T>>;
  static const char* accepts(const Call& call, const DeviceInfo&) {
    return IndexedCall::scatter(call).check();
  }
  static int64 scratch_bytes(const Call& call, const DeviceInfo&) {
    return Adder::scratch_bytes(IndexedCall::scatter(call));
  }
  static Status run(const Call& call) { return Adder::run(IndexedCall::scatter(call), call); }
};

/// Accumulates narrow types in Sum, f32 or u32: widens y into scratch memory, and rounds it once
/// (integers: wraps) after all additions. Atomics below 4 bytes would access y's neighbours.
template <class T, class Sum, template <class, class> class Add>
struct NarrowScatterAddLaunch {
  using Adder = Add<Added<T>, Sum>;
  static const char* accepts(const Call& call, const DeviceInfo&) {
    return IndexedCall::scatter(call).check();
  }
  static int64 scratch_bytes(const Call& call, const DeviceInfo&) {
    return sums_bytes(call) + Adder::scratch_bytes(IndexedCall::scatter(call));
  }
  static Status run(const Call& call) {
    View sums = call.out[0];
    sums.data = call.scratch;
    sums.dtype = kDTypeOf<Sum>;
    int64 stride = 1;
    for (int d = sums.rank - 1; d >= 0; d--) {
      sums.strides[d] = stride;
      stride *= sums.shape[d];
    }
    Call part = call;
    part.num_in = 1;
    part.in = &call.out[0];
    part.out = &sums;
    if (const Status status = StridedLaunch<CastMap<Sum, AnyOfItsKind<T>>>::run_on(
            operands_of<1>(part).merged(), part);
        !status.ok())
      return status;
    Call add = call;
    add.scratch = static_cast<char*>(call.scratch) + sums_bytes(call);
    if (const Status status = Adder::run({call.in[0], call.in[1], sums}, add); !status.ok())
      return status;
    part.in = &sums;
    part.out = &call.out[0];
    return StridedLaunch<CastMap<T, AnyOfItsKind<Sum>>>::run_on(operands_of<1>(part).merged(),
                                                                part);
  }

 private:
  static int64 sums_bytes(const Call& call) {
    return ceil_div<int64>(call.out[0].numel() * int64(sizeof(Sum)), 256) * 256;
  }
};

}  // namespace wick::gpu
