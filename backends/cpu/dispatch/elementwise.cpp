#include "dispatch/elementwise.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "dispatch/walk.h"
#include "scalar/round_up.h"

namespace wick::cpu {
namespace {

constexpr int64 kGrain = 32768;  // elements a thread takes at least: some 5 us of work
constexpr int64 kShortRow = 64;  // rows below this are gathered, several to a chunk

/// One thread's way through its part of a call. Operands 0 .. inputs - 1 are read, operand `inputs`
/// is written.
template <int inputs>
class Walk {
 public:
  Walk(const Elementwise& op, const void* numbers, const Space<inputs + 1>& space,
       char* const (&data)[inputs + 1])
      : op_(op),
        numbers_(numbers),
        space_(space),
        data_(data),
        short_rows_(space.row() < kShortRow && space.rank > 1) {
    bool unbuffered = true;
    for (int i = 0; i <= inputs; i++) {
      flat_[i] = space.flat(i);
      in_place_[i] = access(i).direct && space.row_stride(i) == 1;
      unbuffered &= in_place_[i] && (flat_[i] || !short_rows_);
    }
    // With no buffer in play a whole row is one piece.
    limit_ = unbuffered ? space.numel : kChunk;
  }

  void run(int64 begin, int64 end) {
    Position<inputs + 1> position(space_, begin);
    while (begin < end) {
      int64 n = std::min(end - begin, limit_);
      if (!short_rows_) n = std::min(n, position.rest());
      char* target = place(inputs, position, begin, n);
      const void* x[inputs];
      for (int i = 0; i < inputs; i++) x[i] = fetch(i, position, begin, n, target);
      char* y = target ? target : buffers_[inputs];
      const char* const result = compute(x, y, n);
      pieces(position, n, [&](const auto& at, int64 done, int64 count) {
        if (!target)
          op_.out.store(result + done * op_.out.wide_size, address(inputs, at),
                        space_.row_stride(inputs), count);
      });
      begin += n;
    }
  }

 private:
  /// The output's next n values: in y, or where a cast reads them.
  const char* compute(const void* const (&x)[inputs], char* y, int64 n) const {
    if constexpr (inputs == 3)
      op_.choose(x[0], x[1], x[2], y, n);
    else if (computes_)
      op_.apply(x[0], inputs > 1 ? x[inputs - 1] : numbers_, y, n);
    else
      return static_cast<const char*>(x[0]);
    return y;
  }
  const Access& access(int operand) const { return operand < inputs ? op_.in[operand] : op_.out; }
  char* address(int operand, const Position<inputs + 1>& at) const {
    return data_[operand] + at.offset(operand) * access(operand).size;
  }
  /// Where the operand's next n elements stand one after another in the type that is computed in,
  /// or nullptr.
  char* place(int operand, const Position<inputs + 1>& at, int64 begin, int64 n) const {
    if (!in_place_[operand]) return nullptr;
    if (flat_[operand]) return data_[operand] + begin * access(operand).size;
    return n <= at.rest() ? address(operand, at) : nullptr;
  }
  /// The input's next n elements in the type that is computed in.
  const void* fetch(int operand, const Position<inputs + 1>& at, int64 begin, int64 n,
                    char* target) {
    if (char* there = place(operand, at, begin, n)) return there;
    // A cast that computes in the output's type reads straight into it.
    char* buffer = !computes_ && target ? target : buffers_[operand];
    const int64 stride = space_.row_stride(operand);
    if (stride == 0 && !short_rows_ &&
        computes_) {  // the same value along the row: kept from chunk to chunk
      const char* value = address(operand, at);
      if (value != held_[operand] || n > held_count_[operand]) {
        op_.in[operand].load(value, 0, n, buffer);
        held_[operand] = value;
        held_count_[operand] = n;
      }
      return buffer;
    }
    Position<inputs + 1> from = at;
    pieces(from, n, [&](const auto& piece, int64 done, int64 count) {
      op_.in[operand].load(address(operand, piece), stride, count,
                           buffer + done * op_.in[operand].wide_size);
    });
    return buffer;
  }
  /// Goes n elements on, with f(position, elements before it, its count) for every part of a row on
  /// the way.
  template <class F>
  void pieces(Position<inputs + 1>& at, int64 n, F&& f) const {
    for (int64 done = 0; done < n;) {
      const int64 count = std::min(n - done, at.rest());
      f(at, done, count);
      at.advance(count);
      done += count;
    }
  }

  const Elementwise& op_;
  const void* const numbers_;  // the call's attributes
  const Space<inputs + 1>& space_;
  char* const (&data_)[inputs + 1];
  const bool computes_ = inputs == 3 || op_.apply;  // else it is a cast
  const bool short_rows_;
  bool flat_[inputs + 1], in_place_[inputs + 1];
  int64 limit_;
  const char* held_[inputs] = {};  // what a buffer was filled with
  int64 held_count_[inputs] = {};
  alignas(64) char buffers_[inputs + 1][kChunkBytes];
};

template <int inputs>
Status run(const Kernel* kernel, const Call* call) {
  const auto& op = *static_cast<const Elementwise*>(kernel->data);
  const View* views[inputs + 1];
  char* data[inputs + 1];
  for (int i = 0; i <= inputs; i++) {
    views[i] = i < inputs ? &call->in[i] : &call->out[0];
    data[i] = static_cast<char*>(views[i]->data);
  }
  const Space<inputs + 1> space = space_of(views);
  parallel_for(space.numel, kGrain, [&](int64 begin, int64 end) {
    Walk<inputs>(op, call->attributes, space, data).run(begin, end);
  });
  return {};
}

/// Side of a blocked transpose's tile: a row of it fills cache lines.
template <class Word>
inline constexpr int64 kTile = sizeof(Word) <= 2 ? 64 : 32;

/// tile[c][r] = from[r][c] for 4 rows and columns.
template <int64 side>
void transpose_4x4(const uint32* from, int64 stride, uint32 (*tile)[side]) {
  using Four = uint32 __attribute__((vector_size(16)));
  Four rows[4];
  for (int r = 0; r < 4; r++) std::memcpy(&rows[r], from + r * stride, sizeof(Four));
  const Four a = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5),
             b = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7),
             c = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5),
             d = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
  const Four columns[4] = {
      __builtin_shufflevector(a, c, 0, 1, 4, 5), __builtin_shufflevector(a, c, 2, 3, 6, 7),
      __builtin_shufflevector(b, d, 0, 1, 4, 5), __builtin_shufflevector(b, d, 2, 3, 6, 7)};
  for (int i = 0; i < 4; i++) std::memcpy(tile[i], &columns[i], sizeof(Four));
}

/// to[c][r] = from[r][c], tile by tile. A tile is transposed in a buffer of its own, so that each
/// side's cache lines are touched once: where a stride is a power of two they would push each other
/// out of the cache.
template <class Word>
void transpose(const Word* from, int64 from_stride, Word* to, int64 to_stride, int64 rows,
               int64 columns) {
  constexpr int64 side = kTile<Word>;
  Word tile[side][side];
  for (int64 r0 = 0; r0 < rows; r0 += side)
    for (int64 c0 = 0; c0 < columns; c0 += side) {
      const int64 height = std::min(side, rows - r0), width = std::min(side, columns - c0);
      const Word* const corner = from + r0 * from_stride + c0;
      // The next tile's rows: the hardware does not foresee strides beyond a page.
      for (int64 r = r0 + side; r < std::min(rows, r0 + 2 * side); r++)
        for (int64 c = 0; c < width; c += 64 / int64(sizeof(Word)))
          __builtin_prefetch(from + r * from_stride + c0 + c);
      const bool in_fours = sizeof(Word) == 4 && height % 4 == 0 && width % 4 == 0;
      if constexpr (sizeof(Word) == 4) {
        for (int64 r = 0; in_fours && r < height; r += 4)
          for (int64 c = 0; c < width; c += 4) {
            uint32(*const at)[side] = reinterpret_cast<uint32(*)[side]>(&tile[c][r]);
            transpose_4x4<side>(corner + r * from_stride + c, from_stride, at);
          }
      }
      for (int64 r = 0; !in_fours && r < height; r++)
        for (int64 c = 0; c < width; c++) tile[c][r] = corner[r * from_stride + c];
      for (int64 c = 0; c < width; c++) {
        Word* const column = to + (c0 + c) * to_stride + r0;
        if (height == side)  // a constant size: no call
          std::memcpy(column, tile[c], sizeof(tile[c]));
        else
          std::memcpy(column, tile[c], size_t(height) * sizeof(Word));
      }
    }
}

/// The dim that is consecutive in the input while the innermost one is consecutive in the output;
/// -1: none.
int transposed_dim(const Space<2>& space) {
  if (space.rank < 2 || space.row_stride(1) != 1 || space.row_stride(0) == 1) return -1;
  for (int d = 0; d < space.rank - 1; d++)
    if (space.strides[0][d] == 1 && space.shape[d] >= 4 && space.row() >= 4) return d;
  return -1;
}

template <class Word>
void copy_transposed(const Space<2>& space, int dim, const Word* from, Word* to) {
  constexpr int64 side = kTile<Word>;
  const int last = space.rank - 1;
  Space<2> outer;  // every dim but the two
  for (int d = 0; d < last; d++) {
    const int64 stride[2] = {space.strides[0][d], space.strides[1][d]};
    if (d != dim) outer.push(space.shape[d], stride);
  }
  const int64 rows = space.shape[last], columns = space.shape[dim];
  const int64 bands = ceil_div(columns, side);
  const int64 grain = std::max<int64>(1, kGrain / (side * rows));
  parallel_for(outer.numel * bands, grain, [&](int64 begin, int64 end) {
    for (int64 i = begin; i < end; i++) {
      const Position<2> at(outer, i / bands);
      const int64 first = i % bands * side, to_stride = space.strides[1][dim];
      transpose(from + at.offset(0) + first, space.strides[0][last],
                to + at.offset(1) + first * to_stride, to_stride, rows,
                std::min(side, columns - first));
    }
  });
}

}  // namespace

Status run_unary(const Kernel* kernel, const Call* call) { return run<1>(kernel, call); }
Status run_binary(const Kernel* kernel, const Call* call) { return run<2>(kernel, call); }
Status run_where(const Kernel* kernel, const Call* call) { return run<3>(kernel, call); }

Status run_copy(const Kernel* kernel, const Call* call) {
  const Access& access = *static_cast<const Access*>(kernel->data);
  const View* views[2] = {&call->in[0], &call->out[0]};
  const Space<2> space = space_of(views);
  if (space.numel == 0) return {};
  if (const int dim = transposed_dim(space); dim >= 0) {
    if (access.size == 1)
      copy_transposed(space, dim, views[0]->as<uint8>(), views[1]->as<uint8>());
    else if (access.size == 2)
      copy_transposed(space, dim, views[0]->as<uint16>(), views[1]->as<uint16>());
    else if (access.size == 4)
      copy_transposed(space, dim, views[0]->as<uint32>(), views[1]->as<uint32>());
    else
      copy_transposed(space, dim, views[0]->as<uint64>(), views[1]->as<uint64>());
    return {};
  }
  const char* from = views[0]->as<char>();
  char* to = views[1]->as<char>();
  parallel_for(space.numel, kGrain, [&](int64 begin, int64 end) {
    Position<2> at(space, begin);
    while (begin < end) {
      const int64 n = std::min(end - begin, at.rest());
      const char* source = from + at.offset(0) * access.size;
      char* target = to + at.offset(1) * access.size;
      const int64 from_stride = space.row_stride(0), to_stride = space.row_stride(1);
      if (from_stride == 1)
        access.store(source, target, to_stride, n);
      else if (to_stride == 1)
        access.load(source, from_stride, n, target);
      else
        for (int64 i = 0; i < n; i++)
          std::memcpy(target + i * to_stride * access.size, source + i * from_stride * access.size,
                      size_t(access.size));
      at.advance(n);
      begin += n;
    }
  });
  return {};
}

}  // namespace wick::cpu
