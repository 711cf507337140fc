#include "dispatch/gather.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/parallel.h"
#include "dispatch/walk.h"
#include "runtime/table.h"
#include "scalar/round_up.h"

namespace wick::cpu {
namespace {

constexpr int64 kGrain = 16384;        // elements a thread takes at least
constexpr int64 kGroup = 16;           // neighbouring columns that are added up together
constexpr int64 kTileBytes = 1 << 20;  // of their sums, if that leaves a column

int64 grain(int64 elements) { return std::max<int64>(1, kGrain / std::max<int64>(1, elements)); }

/// The dims of a call, as ops.h names them: x or y is [O, N, I], ids and the other operand are [O,
/// J, I].
struct Dims {
  Dims(const View& many, const View& ids, const View& other)
      : O(ids.shape[0]),
        J(ids.shape[1]),
        I(ids.shape[2]),
        N(many.shape[1]),
        many(many.strides),
        ids(ids.strides),
        other(other.strides),
        id(ids.as<int64>()) {}

  int64 O, J, I, N;
  const int64 *many, *ids, *other;  // strides
  const int64* id;

  bool empty() const { return O * J * I == 0; }
  /// One id serves a whole row of I elements.
  bool of_rows() const { return I > 1 && ids[2] == 0; }
};

/// A call's elements as lines along I, or along J where I is 1. Strides are those of the line.
struct Lines {
  explicit Lines(const Dims& d)
      : along_j(d.I == 1), count(along_j ? d.O : d.O * d.J), length(along_j ? d.J : d.I) {
    const int axis = along_j ? 1 : 2;
    ids = d.ids[axis];
    other = d.other[axis];
    many = along_j ? 0 : d.many[2];
  }
  int64 o(const Dims& d, int64 line) const { return along_j ? line : line / d.J; }
  int64 j(const Dims& d, int64 line) const { return along_j ? 0 : line % d.J; }

  bool along_j;
  int64 count, length;
  int64 many, ids, other;
};

Status out_of_range(const char* op, int64 id, int64 position, int64 limit) {
  return error(StatusCode::kIdOutOfRange, "%s: id %lld at position %lld is outside [0, %lld)", op,
               (long long)id, (long long)position, (long long)limit);
}

/// The index of the first of n ids outside of [0, limit); n if there is none.
int64 first_outside(const int64* ids, int64 stride, int64 n, int64 limit) {
  constexpr int64 kStep = 256;  // without branches, which the compiler makes vectors of
  for (int64 i = 0; i < n; i += kStep) {
    const int64 end = std::min(n, i + kStep);
    bool outside = false;
    if (stride == 1)
      for (int64 k = i; k < end; k++) outside |= uint64(ids[k]) >= uint64(limit);
    else
      for (int64 k = i; k < end; k++) outside |= uint64(ids[k * stride]) >= uint64(limit);
    for (int64 k = i; outside && k < end; k++)
      if (uint64(ids[k * stride]) >= uint64(limit)) return k;
  }
  return n;
}

/// The first id outside of [0, N), counted in the ids that there are: repeated ones (stride 0)
/// count once.
Status check_ids(const Dims& d, const char* op) {
  const int64 O = d.ids[0] ? d.O : 1, J = d.ids[1] ? d.J : 1, I = d.ids[2] ? d.I : 1;
  // Lines along I, or along J where I is 1.
  const bool along_j = I == 1;
  const int64 lines = along_j ? O : O * J, length = along_j ? J : I;
  const int64 stride = d.ids[along_j ? 1 : 2];
  const auto ids_of = [&](int64 line) {
    return d.id + (along_j ? line * d.ids[0] : line / J * d.ids[0] + line % J * d.ids[1]);
  };
  std::atomic<int64> first{O * J * I};
  parallel_for(lines, grain(length), [&](int64 begin, int64 end) {
    for (int64 line = begin; line < end; line++) {
      const int64 at = first_outside(ids_of(line), stride, length, d.N);
      if (at == length) continue;
      const int64 position = line * length + at;
      int64 known = first.load();
      while (position < known && !first.compare_exchange_weak(known, position)) {
      }
      return;
    }
  });
  const int64 position = first.load();
  if (position == O * J * I) return {};
  return out_of_range(op, ids_of(position / length)[position % length * stride], position, d.N);
}

template <class Word>
void gather(const Dims& d, const Word* x, Word* y) {
  const Lines lines(d);
  parallel_for(lines.count * lines.length, kGrain, [&](int64 begin, int64 end) {
    while (begin < end) {
      const int64 line = begin / lines.length, first = begin % lines.length;
      const int64 n = std::min(end - begin, lines.length - first), o = lines.o(d, line),
                  j = lines.j(d, line);
      const int64* ids = d.id + o * d.ids[0] + j * d.ids[1] + first * lines.ids;
      const Word* from = x + o * d.many[0] + first * lines.many;
      Word* to = y + o * d.other[0] + j * d.other[1] + first * lines.other;
      if (lines.along_j && lines.ids == 1 && lines.other == 1 && d.many[1] == 1)
        for (int64 k = 0; k < n; k++) to[k] = from[ids[k]];
      else
        for (int64 k = 0; k < n; k++)
          to[k * lines.other] = from[ids[k * lines.ids] * d.many[1] + k * lines.many];
      begin += n;
    }
  });
}

void gather_rows(const Dims& d, const Access& access, const char* x, char* y) {
  parallel_for(d.O * d.J, grain(d.I), [&](int64 begin, int64 end) {
    for (int64 line = begin; line < end; line++) {
      const int64 o = line / d.J, j = line % d.J;
      const int64 id = d.id[o * d.ids[0] + j * d.ids[1]];
      access.load(x + (o * d.many[0] + id * d.many[1]) * access.size, d.many[2], d.I,
                  y + (o * d.other[0] + j * d.other[1]) * access.size);
    }
  });
}

/// y[o, ids[o, j, i], i] = src[o, j, i]. Columns (o, i) never meet, so a thread takes some of them
/// and all of their rows, in order.
template <class Word>
void scatter(const Dims& d, const Word* src, Word* y) {
  const int64 width = std::min(kChunk, d.I), groups = ceil_div(d.I, width);
  parallel_for(d.O * groups, grain(d.J * width), [&](int64 begin, int64 end) {
    for (int64 item = begin; item < end; item++) {
      const int64 o = item / groups, first = item % groups * width;
      const int64 n = std::min(width, d.I - first);
      for (int64 j = 0; j < d.J; j++) {
        const int64* ids = d.id + o * d.ids[0] + j * d.ids[1] + first * d.ids[2];
        const Word* from = src + o * d.other[0] + j * d.other[1] + first * d.other[2];
        Word* to = y + o * d.many[0] + first * d.many[2];
        if (d.of_rows() && d.other[2] == 1 && d.many[2] == 1)
          std::memcpy(to + ids[0] * d.many[1], from, size_t(n) * sizeof(Word));
        else
          for (int64 i = 0; i < n; i++)
            to[ids[i * d.ids[2]] * d.many[1] + i * d.many[2]] = from[i * d.other[2]];
      }
    }
  });
}

// ---- scatter_add

/// How many threads add at once, each with a tile of its own, and how wide that is.
struct Tiles {
  Tiles(const Dims& d, const ScatterAddFunctions& op) {
    const int64 fits = kTileBytes / std::max<int64>(1, d.N * op.in.wide_size);
    width = std::max<int64>(1, std::min({kGroup, d.I, fits}));
    bytes = round_up(d.N * width * op.in.wide_size, 64);
    groups = ceil_div(d.I, width);
    workers = std::max<int64>(1, std::min<int64>(d.O * groups, num_threads()));
  }
  int64 width, bytes, groups, workers;
};

bool uses_tiles(const Dims& d, const ScatterAddFunctions& op) {
  return !d.of_rows() && !op.in.direct;
}

int64 rows_scratch(const Dims& d) { return (d.N + d.J) * int64(sizeof(int64)); }

/// Rows share an id: per destination a list of the rows that go there, in their order; destinations
/// then go side by side.
void add_rows(const Dims& d, const ScatterAddFunctions& op, const char* src, char* y,
              int64* scratch) {
  int64* const head = scratch;        // [N]: the first row that goes to n, or -1
  int64* const next = scratch + d.N;  // [J]: the one after j, or -1
  for (int64 o = 0; o < d.O; o++) {
    if (o == 0 || d.ids[0] != 0) {
      std::fill(head, head + d.N, -1);
      for (int64 j = d.J; j-- > 0;) {
        const int64 id = d.id[o * d.ids[0] + j * d.ids[1]];
        next[j] = head[id];
        head[id] = j;
      }
    }
    parallel_for(
        d.N, grain(std::max<int64>(1, d.J * d.I / std::max<int64>(1, d.N))),
        [&](int64 begin, int64 end) {
          alignas(64) char sum[kChunkBytes], row[kChunkBytes];
          for (int64 n = begin; n < end; n++) {
            for (int64 i = 0; i < d.I && head[n] >= 0; i += kChunk) {
              const int64 count = std::min(kChunk, d.I - i);
              char* target = y + (o * d.many[0] + n * d.many[1] + i * d.many[2]) * op.out.size;
              op.in.load(target, d.many[2], count, sum);
              for (int64 j = head[n]; j >= 0; j = next[j]) {
                op.in.load(src + (o * d.other[0] + j * d.other[1] + i * d.other[2]) * op.in.size,
                           d.other[2], count, row);
                op.add(sum, row, sum, count);
              }
              op.out.store(sum, target, d.many[2], count);
            }
          }
        });
  }
}

/// Ids of their own for every element. Columns (o, i) never meet, so a thread takes some of them
/// and all of their rows.
class Columns {
 public:
  Columns(const Dims& d, const ScatterAddFunctions& op, const Call& call)
      : d_(d),
        op_(op),
        src_(call.in[0].as<char>()),
        y_(call.out[0].as<char>()),
        scratch_(static_cast<char*>(call.scratch)),
        tiles_(d, op) {
    // As many workers as there was room for: the number of threads may have changed since the
    // scratch was asked for.
    workers_ = uses_tiles(d, op) ? call.scratch_bytes / tiles_.bytes : tiles_.workers;
  }

  void run() const {
    const int64 items = d_.O * tiles_.groups;
    const int64 per_item = d_.J * tiles_.width;
    const int64 workers = std::max<int64>(1, std::min(workers_, items * per_item / kGrain));
    parallel_for(workers, 1, [&](int64 begin, int64 end) {
      // A worker's share is fixed by its number; one thread may be several workers.
      for (int64 item = items * begin / workers; item < items * end / workers; item++)
        run_item(item / tiles_.groups, item % tiles_.groups * tiles_.width,
                 scratch_ + begin * tiles_.bytes);
    });
  }

 private:
  void run_item(int64 o, int64 first, char* tile) const {
    const int64 width = std::min(tiles_.width, d_.I - first);
    char* const target = y_ + (o * d_.many[0] + first * d_.many[2]) * op_.out.size;
    if (op_.in.direct) return add(o, first, width, target, d_.many[1], d_.many[2]);
    for (int64 n = 0; n < d_.N; n++)
      op_.in.load(target + n * d_.many[1] * op_.in.size, d_.many[2], width,
                  tile + n * width * op_.in.wide_size);
    add(o, first, width, tile, width, 1);
    for (int64 n = 0; n < d_.N; n++)
      op_.out.store(tile + n * width * op_.in.wide_size, target + n * d_.many[1] * op_.out.size,
                    d_.many[2], width);
  }

  /// into[id · row_stride + i · step] += src, for columns [first, first + width) of o.
  void add(int64 o, int64 first, int64 width, char* into, int64 row_stride, int64 step) const {
    const Lines lines(d_);
    alignas(64) char values[kChunkBytes];
    int64 offsets[kChunk];
    const int64 count = lines.along_j ? 1 : d_.J, length = lines.along_j ? d_.J : width;
    for (int64 line = 0; line < count; line++) {
      for (int64 k = 0; k < length; k += kChunk) {
        const int64 n = std::min(kChunk, length - k);
        const int64* ids =
            d_.id + o * d_.ids[0] + line * d_.ids[1] + first * d_.ids[2] + k * lines.ids;
        const char* const from =
            src_ + (o * d_.other[0] + line * d_.other[1] + first * d_.other[2] + k * lines.other) *
                       op_.in.size;
        const bool in_place = op_.in.direct && lines.other == 1;
        if (!in_place) op_.in.load(from, lines.other, n, values);
        const char* const x = in_place ? from : values;
        if (lines.along_j && lines.ids == 1 && row_stride == 1) {
          op_.add_each(into, ids, x, n);  // the ids are the offsets
          continue;
        }
        for (int64 e = 0; e < n; e++)
          offsets[e] = ids[e * lines.ids] * row_stride + (lines.along_j ? 0 : (k + e) * step);
        op_.add_each(into, offsets, x, n);
      }
    }
  }

  const Dims& d_;
  const ScatterAddFunctions& op_;
  const char* src_;
  char* y_;
  char* scratch_;
  const Tiles tiles_;
  int64 workers_;
};

}  // namespace

Status check_ids(const View& ids, int64 limit, const char* op) {
  Space<1> space;
  for (int d = 0; d < ids.rank; d++) space.push(ids.shape[d], {ids.strides[d]});
  Position<1> at(space, 0);
  for (int64 i = 0; i < space.numel;) {
    const int64* const row = ids.as<int64>() + at.offset(0);
    const int64 n = at.rest(), stride = space.row_stride(0);
    const int64 k = first_outside(row, stride, n, limit);
    if (k < n) return out_of_range(op, row[k * stride], i + k, limit);
    at.advance(n);
    i += n;
  }
  return {};
}

Status run_gather(const Kernel* kernel, const Call* call) {
  const Access& access = *static_cast<const Access*>(kernel->data);
  const View &x = call->in[0], &y = call->out[0];
  const Dims d(x, call->in[1], y);
  if (d.empty()) return {};
  if (const Status status = check_ids(d, kernel->name); !status.ok()) return status;
  if (d.of_rows() && y.strides[2] == 1)
    gather_rows(d, access, x.as<char>(), y.as<char>());
  else if (access.size == 1)
    gather(d, x.as<const uint8>(), y.as<uint8>());
  else if (access.size == 2)
    gather(d, x.as<const uint16>(), y.as<uint16>());
  else if (access.size == 4)
    gather(d, x.as<const uint32>(), y.as<uint32>());
  else
    gather(d, x.as<const uint64>(), y.as<uint64>());
  return {};
}

Status run_scatter(const Kernel* kernel, const Call* call) {
  const Access& access = *static_cast<const Access*>(kernel->data);
  const View &src = call->in[0], &y = call->out[0];
  const Dims d(y, call->in[1], src);
  if (d.empty()) return {};
  if (const Status status = check_ids(d, kernel->name); !status.ok()) return status;
  if (access.size == 1)
    scatter(d, src.as<const uint8>(), y.as<uint8>());
  else if (access.size == 2)
    scatter(d, src.as<const uint16>(), y.as<uint16>());
  else if (access.size == 4)
    scatter(d, src.as<const uint32>(), y.as<uint32>());
  else
    scatter(d, src.as<const uint64>(), y.as<uint64>());
  return {};
}

int64 scatter_add_scratch(const Kernel* kernel, const Call* call, const DeviceInfo*) {
  const ScatterAddFunctions& op = *static_cast<const ScatterAddFunctions*>(kernel->data);
  const Dims d(call->out[0], call->in[1], call->in[0]);
  if (d.empty()) return 0;
  if (d.of_rows()) return rows_scratch(d);
  const Tiles tiles(d, op);
  return uses_tiles(d, op) ? tiles.workers * tiles.bytes : 0;
}

Status run_scatter_add(const Kernel* kernel, const Call* call) {
  const ScatterAddFunctions& op = *static_cast<const ScatterAddFunctions*>(kernel->data);
  const Dims d(call->out[0], call->in[1], call->in[0]);
  if (d.empty()) return {};
  if (const Status status = check_ids(d, kernel->name); !status.ok()) return status;
  if (call->scratch_bytes < (d.of_rows()         ? rows_scratch(d)
                             : uses_tiles(d, op) ? Tiles(d, op).bytes
                                                 : 0))
    return error(StatusCode::kInvalidArgument, "%s: %lld bytes of scratch are too few",
                 kernel->name, (long long)call->scratch_bytes);
  if (d.of_rows())
    add_rows(d, op, call->in[0].as<char>(), call->out[0].as<char>(),
             static_cast<int64*>(call->scratch));
  else
    Columns(d, op, *call).run();
  return {};
}

}  // namespace wick::cpu
