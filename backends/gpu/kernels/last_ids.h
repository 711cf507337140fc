// Removes all but the last of equal ids of a scatter, whose elements may then move in any order.
// Ids of different columns [o, i] never address the same element; dims along which ids is broadcast
// count once. Out-of-range ids are reported here.
//
// In a column of few ids each one compares itself with those after it. In longer columns each id
// claims its target's slot in a table that keeps the largest position: one slot per target, or a
// hash table if there are many targets.
#pragma once
#include "kernels/scatter_chunks.h"

namespace wick::gpu {

// For few ids per column: each compares itself with those after it.
struct CompareWithLater : IdKernel {
  struct Args {
    IdColumns columns;
    int64* last;
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
    a.last[p] = last ? id.value : -1;
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
  struct Args : ClaimSlots::Args {
    int64* last;
  };
  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>&, const Args& a) {
    const uint32 p = ctx.block().x * kThreads + ctx.thread();
    if (p >= a.columns.count) return;
    const IdColumns::Id id = a.columns.at(p);
    a.last[p] = a.columns.holds(id) && is_last(a, id, p) ? id.value : -1;
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

/// A scatter on the host: finds its last ids, chunk by chunk.
template <int64 most>
struct LastIds : ScatterChunks<most> {
  static constexpr int64 kFew = 32;  // of a column
  using Chunks = ScatterChunks<most>;
  using Chunks::call, Chunks::chunk, Chunks::cut, Chunks::shape;

  explicit LastIds(const Call& c) : Chunks(IndexedCall::scatter(c)) {}
  int64 ids_bytes() const { return chunk[0] * chunk[1] * chunk[2] * int64(sizeof(int64)); }
  IdTable table(const ScatterChunk& part) const {
    return IdTable::of(part.columns() * call.addressed.shape[1], part.ids());
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
    return this->for_each([&](const ScatterChunk& part) { return run_chunk(c, part, move); });
  }

 private:
  template <class Move>
  Status run_chunk(const Call& c, const ScatterChunk& part, const Move& move) const {
    const IdColumns columns = this->columns(part, c.op->id);
    if (const Status status = find(c, part, columns); !status.ok()) return status;
    View ids = cut(call.ids, part, true);
    ids.data = c.scratch;
    ids.strides[0] = shape[0] == call.ids.shape[0] ? part.size[1] * part.size[2] : 0;
    ids.strides[1] = part.size[2];
    ids.strides[2] = shape[2] == call.ids.shape[2] && shape[2] > 1 ? 1 : 0;
    return move(cut(call.moved, part, true), ids, cut(call.addressed, part, false));
  }
  Status find(const Call& c, const ScatterChunk& part, const IdColumns& columns) const {
    int64* const last = static_cast<int64*>(c.scratch);
    if (part.size[1] <= kFew) return launch<CompareWithLater>({columns, last}, c);
    IdTable table = this->table(part);
    table.slots = reinterpret_cast<uint32*>(static_cast<char*>(c.scratch) + ids_bytes());
    if (const Status status = launch<ClearTable>({table}, c); !status.ok()) return status;
    if (const Status status = launch<ClaimSlots>({columns, table}, c); !status.ok()) return status;
    return launch<KeepLast>({{columns, table}, last}, c);
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
