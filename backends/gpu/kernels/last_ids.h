// Removes all but the last of equal ids of a scatter, whose elements may then move in any order.
// Ids of different columns [o, i] never address the same element; dims along which ids is broadcast
// count once. Out-of-range ids are reported here.
//
// In a column of few ids each one compares itself with those after it. In longer columns each id claims
// its target's slot in a table that keeps the largest position: one slot per target, or a hash table if
// there are many targets.
#pragma once
#include "kernels/gather.h"

namespace wick::gpu {

/// The ids of one launch: a range of j of every column.
struct IdColumns {
  const int64* ids;
  int64 stride_o, stride_j, stride_i;
  FastDivide along, inner;  // the numbers of j and i
  uint32 count;             // the number of ids
  int64 size;               // N
  uint64 op;
  int64 position_o, position_j;  // in all ids: from one o, and one j, to the next
  int64 first_position;          // of the launch's first id
  int64* last;                   // [o, j, i]: the id, or -1

  struct Id {
    int64 value;
    uint32 o, j, i;
  };
  WICK_DEVICE Id at(uint32 p) const {
    const uint32 line = inner.quotient(p), o = along.quotient(line);
    Id id{0, o, line - o * along.divisor, p - line * inner.divisor};
    id.value = ids[o * stride_o + id.j * stride_j + id.i * stride_i];
    return id;
  }
  WICK_DEVICE uint64 target(const Id& id) const {
    return (uint64(id.o) * uint64(size) + uint64(id.value)) * inner.divisor + id.i;
  }
  WICK_DEVICE bool holds(const Id& id) const { return 0 <= id.value && id.value < size; }
  template <class Ctx>
  WICK_DEVICE void report(const Ctx& ctx, const Id& id) const {
    ctx.fail(StatusCode::kIdOutOfRange, op,
             first_position + id.o * position_o + id.j * position_j + id.i, id.value, size);
  }
};

struct IdKernel {
  static constexpr int kThreads = 256;
  static constexpr int threads(int) { return kThreads; }
  template <class Args>
  static Grid grid(int, const Args& a) {
    return {int(ceil_div(a.columns.count, uint32(kThreads)))};
  }
  template <class Ctx>
  struct Shared {};
};

// For few ids per column: each compares itself with those after it.
struct LookBehind : IdKernel {
  struct Args {
    IdColumns columns;
  };
  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const uint32 p = ctx.block().x * kThreads + ctx.thread();
    if (p >= a.columns.count) return;
    const IdColumns::Id id = a.columns.at(p);
    bool last = a.columns.holds(id);
    if (!last) a.columns.report(ctx, id);
    const int64* const column =
        a.columns.ids + id.o * a.columns.stride_o + id.i * a.columns.stride_i;
    for (uint32 j = id.j + 1; j < a.columns.along.divisor; j++)
      last = last && column[j * a.columns.stride_j] != id.value;
    a.columns.last[p] = last ? id.value : -1;
  }
};

/// The most slots per id.
inline constexpr int64 kSlots = 4;

/// A slot holds 0 or the position + 1 of an id, always one of the same target.
struct IdTable {
  uint32* slots;
  uint32 size;        // a power of two, but where each target has its own
  uint32 hash_shift;  // 0: each target has its own

  WICK_DEVICE uint32 first_slot(uint64 target) const {
    if (hash_shift == 0) return uint32(target);
    return uint32(target * 0x9e3779b97f4a7c15 >> hash_shift);  // 2^64 / golden ratio
  }
  WICK_DEVICE uint32 next_slot(uint32 slot) const { return (slot + 1) & (size - 1); }

  static IdTable of(int64 targets, int64 ids) {
    if (targets <= kSlots * ids) return {nullptr, uint32(targets), 0};
    IdTable table{nullptr, 2, 63};
    while (table.size < 2 * ids) table.size *= 2, table.hash_shift--;
    return table;
  }
};

struct ClearTable : IdKernel {
  struct Args {
    IdTable table;
  };
  static Grid grid(int, const Args& a) { return {int(ceil_div(a.table.size, uint32(kThreads)))}; }
  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const uint32 slot = ctx.block().x * kThreads + ctx.thread();
    if (slot < a.table.size) a.table.slots[slot] = 0;
  }
};

struct ClaimSlots : IdKernel {
  struct Args {
    IdColumns columns;
    IdTable table;
  };
  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const uint32 p = ctx.block().x * kThreads + ctx.thread();
    if (p >= a.columns.count) return;
    const IdColumns::Id id = a.columns.at(p);
    if (!a.columns.holds(id)) return a.columns.report(ctx, id);
    const uint64 target = a.columns.target(id);
    uint32 slot = a.table.first_slot(target);
    if (a.table.hash_shift != 0) {
      for (;; slot = a.table.next_slot(slot)) {
        const uint32 other = ctx.compare_and_swap(a.table.slots + slot, 0, p + 1);
        if (other == 0) return;
        if (a.columns.target(a.columns.at(other - 1)) == target) break;
      }
    }
    ctx.atomic_max(a.table.slots + slot, p + 1);
  }
};

struct KeepLast : IdKernel {
  using Args = ClaimSlots::Args;
  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const uint32 p = ctx.block().x * kThreads + ctx.thread();
    if (p >= a.columns.count) return;
    const IdColumns::Id id = a.columns.at(p);
    a.columns.last[p] = a.columns.holds(id) && is_last(a, id, p) ? id.value : -1;
  }

 private:
  static WICK_DEVICE bool is_last(const Args& a, const IdColumns::Id& id, uint32 p) {
    const uint64 target = a.columns.target(id);
    for (uint32 slot = a.table.first_slot(target);; slot = a.table.next_slot(slot)) {
      const uint32 holder = a.table.slots[slot];
      if (holder == p + 1) return true;
      if (a.table.hash_shift == 0 || a.columns.target(a.columns.at(holder - 1)) == target)
        return false;
    }
  }
};

/// A part of a scatter: ranges of o and i, which are independent, and of j, which run in order.
struct ScatterChunk {
  int64 first[3], size[3];
};

/// A scatter on the host. Processes its ids in chunks, whose positions fit into 32 bits and whose
/// scratch memory is bounded.
template <int64 most>
struct LastIds {
  static constexpr int64 kFew = 32;  // of a column
  IndexedCall call;
  int64 shape[3];  // of the ids; 1 where they are broadcast
  int64 chunk[3];  // the largest part processed at once

  explicit LastIds(const Call& c) : call(IndexedCall::scatter(c)) {
    int64 room = most;
    constexpr int kFromInner[] = {2, 0, 1};
    for (const int d : kFromInner) {
      const int64 size = call.ids.shape[d];
      shape[d] = d != 1 && call.ids.strides[d] == 0 && size > 0 ? 1 : size;
      chunk[d] = shape[d] < room ? shape[d] : room;
      if (chunk[d] > 0) room /= chunk[d];
    }
  }
  int64 ids_bytes() const { return chunk[0] * chunk[1] * chunk[2] * int64(sizeof(int64)); }
  IdTable table(const ScatterChunk& part) const {
    const int64 columns = part.size[0] * part.size[2];
    return IdTable::of(columns * call.addressed.shape[1], columns * part.size[1]);
  }
  /// Whether a column has several ids, which may be equal.
  bool may_meet() const { return shape[1] > 1; }
  int64 scratch_bytes() const {
    if (!may_meet()) return 0;
    const int64 slots = chunk[1] <= kFew ? 0 : kSlots * ids_bytes() / int64(sizeof(int64));
    return ids_bytes() + slots * int64(sizeof(uint32));
  }
  /// Calls move(moved, ids, addressed) for each chunk, with its last ids in scratch.
  template <class Move>
  Status for_each_chunk(const Call& c, const Move& move) const {
    ScatterChunk part;
    int64(&first)[3] = part.first;
    for (first[0] = 0; first[0] < shape[0]; first[0] += chunk[0])
      for (first[2] = 0; first[2] < shape[2]; first[2] += chunk[2])
        for (first[1] = 0; first[1] < shape[1]; first[1] += chunk[1]) {
          for (int d = 0; d < 3; d++) {
            const int64 left = shape[d] - first[d];
            part.size[d] = left < chunk[d] ? left : chunk[d];
          }
          if (const Status status = run_chunk(c, part, move); !status.ok()) return status;
        }
    return {};
  }

 private:
  /// The chunk's part of a view.
  View cut(View view, const ScatterChunk& part, bool along_j) const {
    for (int d = 0; d < 3; d++) {
      if (shape[d] != call.ids.shape[d] || (d == 1 && !along_j)) continue;  // repeated, or targets
      view.data =
          static_cast<char*>(view.data) + bytes_of(view.dtype, part.first[d] * view.strides[d]);
      view.shape[d] = part.size[d];
    }
    return view;
  }
  template <class Move>
  Status run_chunk(const Call& c, const ScatterChunk& part, const Move& move) const {
    View ids = cut(call.ids, part, true);
    const IdColumns columns{static_cast<const int64*>(ids.data),
                            ids.strides[0],
                            ids.strides[1],
                            ids.strides[2],
                            FastDivide::by(part.size[1]),
                            FastDivide::by(part.size[2]),
                            uint32(part.size[0] * part.size[1] * part.size[2]),
                            call.addressed.shape[1],
                            c.op->id,
                            shape[1] * shape[2],
                            shape[2],
                            (part.first[0] * shape[1] + part.first[1]) * shape[2] + part.first[2],
                            static_cast<int64*>(c.scratch)};
    if (const Status status = find(c, part, columns); !status.ok()) return status;
    ids.data = c.scratch;
    ids.strides[0] = shape[0] == call.ids.shape[0] ? part.size[1] * part.size[2] : 0;
    ids.strides[1] = part.size[2];
    ids.strides[2] = shape[2] == call.ids.shape[2] && shape[2] > 1 ? 1 : 0;
    return move(cut(call.moved, part, true), ids, cut(call.addressed, part, false));
  }
  Status find(const Call& c, const ScatterChunk& part, const IdColumns& columns) const {
    if (part.size[1] <= kFew) return launch<LookBehind>({columns}, c);
    IdTable table = this->table(part);
    table.slots = reinterpret_cast<uint32*>(static_cast<char*>(c.scratch) + ids_bytes());
    if (const Status status = launch<ClearTable>({table}, c); !status.ok()) return status;
    if (const Status status = launch<ClaimSlots>({columns, table}, c); !status.ok()) return status;
    return launch<KeepLast>({columns, table}, c);
  }
};

/// Scatters by Form, one of gather.h's launches; of equal ids the last one stays.
template <class Form, int64 most = int64(1) << 26>
struct ScatterLaunch {
  static const char* accepts(const Call& call, const DeviceInfo& info) {
    return Form::accepts(call, info);
  }
  static int64 scratch_bytes(const Call& call, const DeviceInfo&) {
    return LastIds<most>(call).scratch_bytes();
  }
  static Status run(const Call& call) {
    const LastIds<most> last(call);
    if (!last.may_meet()) return Form::run(call);
    return last.for_each_chunk(call, [&](const View& moved, const View& ids, const View& target) {
      const View in[] = {moved, ids};
      Call part = call;
      part.in = in, part.out = &target;
      return Form::run(part, OutOfRange::kIgnore);
    });
  }
};

}  // namespace wick::gpu
