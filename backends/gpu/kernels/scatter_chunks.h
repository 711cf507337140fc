// The ids of a scatter in chunks whose positions fit 32 bits and whose scratch memory has an end.
// Ids are of columns [o, i], which never meet; dims along which they are repeated count once.
#pragma once
#include "kernels/gather.h"

namespace wick::gpu {

/// Some ids j ... of every column, as a launch has them.
struct IdColumns {
  const int64* ids;
  int64 stride_o, stride_j, stride_i;
  FastDivide along, inner;  // how many there are of j, and of i
  uint32 count;             // of ids
  int64 size;               // N
  uint64 op;
  int64 position_o, position_j;  // in all ids: from one o, and one j, to the next
  int64 first_position;          // of the first one here

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

/// A chunk: ranges of o and i, and a range of j, which follows the earlier chunks' ranges.
struct ScatterChunk {
  int64 first[3], size[3];

  int64 columns() const { return size[0] * size[2]; }
  int64 ids() const { return columns() * size[1]; }
};

/// A scatter on the host. most: ids of a chunk.
template <int64 most>
struct ScatterChunks {
  IndexedCall call;
  int64 shape[3];  // of the ids, 1 where they are repeated
  int64 chunk[3];  // the most of it at once

  explicit ScatterChunks(const IndexedCall& call) : call(call) {
    int64 room = most;
    constexpr int kFromInner[] = {2, 0, 1};
    for (const int d : kFromInner) {
      const int64 size = call.ids.shape[d];
      shape[d] = d != 1 && call.ids.strides[d] == 0 && size > 0 ? 1 : size;
      chunk[d] = shape[d] < room ? shape[d] : room;
      if (chunk[d] > 0) room /= chunk[d];
    }
  }
  /// Calls run(chunk) for each chunk, a column's in the order of j, until one fails.
  template <class Run>
  Status for_each(const Run& run) const {
    ScatterChunk part;
    int64(&first)[3] = part.first;
    for (first[0] = 0; first[0] < shape[0]; first[0] += chunk[0])
      for (first[2] = 0; first[2] < shape[2]; first[2] += chunk[2])
        for (first[1] = 0; first[1] < shape[1]; first[1] += chunk[1]) {
          for (int d = 0; d < 3; d++) {
            const int64 left = shape[d] - first[d];
            part.size[d] = left < chunk[d] ? left : chunk[d];
          }
          if (const Status status = run(part); !status.ok()) return status;
        }
    return {};
  }
  /// The chunk's part of a view, along j too if the view has ids or moved elements.
  View cut(View view, const ScatterChunk& part, bool along_j) const {
    for (int d = 0; d < 3; d++) {
      if (shape[d] != call.ids.shape[d] || (d == 1 && !along_j)) continue;  // repeated, or targets
      view.data =
          static_cast<char*>(view.data) + bytes_of(view.dtype, part.first[d] * view.strides[d]);
      view.shape[d] = part.size[d];
    }
    return view;
  }
  IdColumns columns(const ScatterChunk& part, uint64 op) const {
    const View ids = cut(call.ids, part, true);
    const int64 position_j = ids.strides[1] != 0 ? shape[2] : 0;  // as in IndexedCall::operands
    const int64 position_o = position_j != 0 ? shape[1] * shape[2] : shape[2];
    return {ids.as<int64>(),
            ids.strides[0],
            ids.strides[1],
            ids.strides[2],
            FastDivide::by(part.size[1]),
            FastDivide::by(part.size[2]),
            uint32(part.ids()),
            call.addressed.shape[1],
            op,
            position_o,
            position_j,
            part.first[0] * position_o + part.first[1] * position_j + part.first[2]};
  }
};

}  // namespace wick::gpu
