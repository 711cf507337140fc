#include "dispatch/reduce.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "dispatch/walk.h"
#include "runtime/table.h"
#include "scalar/round_up.h"

namespace wick::cpu {
namespace {

constexpr int64 kGrain = 32768;       // elements a thread takes at least
constexpr int64 kRowSegment = 32768;  // elements of one output that one thread reduces: kBlock · 64
constexpr int64 kBlocks = kRowSegment / kBlock;
constexpr int64 kColumns = 512;  // outputs side by side
constexpr int64 kRadix = 8;
constexpr int kLevels = 4;
constexpr int64 kColumnSegment = kRadix * kRadix * kRadix * kRadix;  // elements of each of them
constexpr int64 kMaxWide = 8;  // bytes of the widest accumulator

/// A call, looked at in one of two ways. By rows: the elements of one output, block by block, each
/// block by lanes. By columns, where neighbouring outputs stand side by side in memory: many
/// outputs at once, element by element. Either way what is reduced is cut in segments; each gives a
/// partial result, and those are reduced in their order.
class Plan {
 public:
  Plan(const Reduction& op, const Call& call) : op_(op), in_(call.in[0]) {
    const int kept = static_cast<const ReduceAttributes*>(call.attributes)->kept;
    const View* const views[1] = {&in_};
    kept_ = space_of(views, 0, kept);
    reduced_ = space_of(views, kept, in_.rank - kept);
    const bool side_by_side = kept_.row_stride(0) == 1 && reduced_.row_stride(0) != 1;
    by_columns_ = kept_.row() >= 8 && reduced_.numel > 0 &&  // rows of nothing have a result too
                  (side_by_side || reduced_.numel <= 16);
    const int64 segment = by_columns_ ? kColumnSegment : kRowSegment;
    segments_ = std::max<int64>(1, ceil_div(reduced_.numel, segment));
  }

  int64 outputs() const { return kept_.numel; }
  int64 elements() const { return reduced_.numel; }
  int64 scratch_bytes() const {
    return segments_ > 1 ? outputs() * segments_ * op_.in.wide_size : 0;
  }

  void run(char* out, char* partials) const {
    if (by_columns_)
      run_columns(out, partials);
    else
      run_rows(out, partials);
  }

 private:
  // Partials of rows: [output][segment].
  void run_rows(char* out, char* partials) const {
    const int64 wide = op_.in.wide_size, length = std::min(reduced_.numel, kRowSegment);
    parallel_for(outputs() * segments_, grain(length), [&](int64 begin, int64 end) {
      for (int64 i = begin; i < end; i++) {
        alignas(kMaxWide) char value[kMaxWide];
        reduce_row(i / segments_, i % segments_, value);
        if (segments_ > 1)
          std::memcpy(partials + i * wide, value, size_t(wide));
        else
          op_.out.store(value, out + i * op_.out.size, 1, 1);
      }
    });
    if (segments_ == 1) return;
    parallel_for(outputs(), grain(segments_), [&](int64 begin, int64 end) {
      for (int64 k = begin; k < end; k++) {
        char* values = partials + k * segments_ * wide;
        for (int64 n = segments_; n > 1; n = ceil_div(n, kBlock))
          for (int64 b = 0; b * kBlock < n; b++)
            op_.block(values + b * kBlock * wide, std::min(kBlock, n - b * kBlock),
                      values + b * wide);
        op_.out.store(values, out + k * op_.out.size, 1, 1);
      }
    });
  }

  /// Reduces one segment of one output.
  void reduce_row(int64 output, int64 segment, char* result) const {
    const int64 wide = op_.in.wide_size, stride = reduced_.row_stride(0);
    const char* data = in_.as<char>() + Position<1>(kept_, output).offset(0) * op_.in.size;
    const bool in_place = op_.in.direct && stride == 1;
    alignas(64) char buffer[kBlock * kMaxWide];
    alignas(64) char blocks[kBlocks * kMaxWide];
    Position<1> at(reduced_, segment * kRowSegment);
    const int64 end = std::min(reduced_.numel, (segment + 1) * kRowSegment);
    int64 count = 0;
    for (int64 r = segment * kRowSegment; r < end; count++) {
      const int64 n = std::min(kBlock, end - r);
      const char* x = data + at.offset(0) * op_.in.size;
      if (in_place && n <= at.rest()) {
        at.advance(n);
      } else {
        for (int64 done = 0; done < n;) {
          const int64 piece = std::min(n - done, at.rest());
          op_.in.load(data + at.offset(0) * op_.in.size, stride, piece, buffer + done * wide);
          at.advance(piece);
          done += piece;
        }
        x = buffer;
      }
      op_.block(x, n, blocks + count * wide);
      r += n;
    }
    if (count == 1)
      std::memcpy(result, blocks, size_t(wide));
    else
      op_.block(blocks, count, result);
  }

  // Partials of columns: [segment][output].
  void run_columns(char* out, char* partials) const {
    const int64 wide = op_.in.wide_size, row = kept_.row(), tiles = ceil_div(row, kColumns);
    const int64 items = outputs() / row * tiles;
    const int64 length = std::min(reduced_.numel, kColumnSegment);
    parallel_for(items * segments_, grain(length * std::min(row, kColumns)),
                 [&](int64 begin, int64 end) {
                   for (int64 i = begin; i < end; i++) {
                     const int64 tile = i % items, segment = i / items;
                     const int64 first = tile / tiles * row + tile % tiles * kColumns;
                     const int64 columns = std::min(kColumns, row - tile % tiles * kColumns);
                     reduce_columns(
                         first, columns, segment,
                         segments_ > 1 ? partials + (segment * outputs() + first) * wide : nullptr,
                         out + first * op_.out.size);
                   }
                 });
    if (segments_ == 1) return;
    parallel_for(ceil_div(outputs(), kColumns), grain(segments_ * kColumns),
                 [&](int64 begin, int64 end) {
                   for (int64 first = begin * kColumns; first < std::min(end * kColumns, outputs());
                        first += kColumns) {
                     const int64 columns = std::min(kColumns, outputs() - first);
                     Columns total(op_, columns);
                     for (int64 s = 0; s < segments_; s++)
                       total.add(partials + (s * outputs() + first) * wide);
                     op_.out.store(total.result(), out + first * op_.out.size, 1, columns);
                   }
                 });
  }

  /// Sums of columns like a counter of radix kRadix: each level adds up that many sums of the level
  /// below, so that no value is rounded more than kLevels · kRadix times in a segment.
  class Columns {
   public:
    Columns(const Reduction& op, int64 columns) : op_(op), columns_(columns) {}
    /// x: a row of accumulators, untouched.
    void add(const void* x) { add(0, x); }
    const void* result() {
      for (int level = 0; level < kLevels - 1; level++)
        if (count_[level]) carry(level);
      return sums_[kLevels - 1];
    }

   private:
    void add(int level, const void* x) {
      if (count_[level] == 0)
        std::memcpy(sums_[level], x, size_t(columns_ * op_.in.wide_size));
      else
        op_.merge(sums_[level], x, sums_[level], columns_);
      if (++count_[level] == kRadix && level < kLevels - 1) carry(level);
    }
    void carry(int level) {
      add(level + 1, sums_[level]);
      count_[level] = 0;
    }
    const Reduction& op_;
    const int64 columns_;
    int64 count_[kLevels] = {};
    alignas(64) char sums_[kLevels][kColumns * kMaxWide];
  };

  /// Reduces one segment of `columns` neighbouring outputs into `partial` or, where that is null,
  /// into `out`.
  void reduce_columns(int64 first, int64 columns, int64 segment, char* partial, char* out) const {
    const int64 stride = kept_.row_stride(0);
    const char* data = in_.as<char>() + Position<1>(kept_, first).offset(0) * op_.in.size;
    const bool in_place = op_.in.direct && stride == 1;
    alignas(64) char buffer[kColumns * kMaxWide];
    Columns total(op_, columns);
    Position<1> at(reduced_, segment * kColumnSegment);
    const int64 end = std::min(reduced_.numel, (segment + 1) * kColumnSegment);
    for (int64 r = segment * kColumnSegment; r < end; r++) {
      const char* x = data + at.offset(0) * op_.in.size;
      if (!in_place) op_.in.load(x, stride, columns, buffer);
      total.add(in_place ? x : buffer);
      at.advance(1);
    }
    if (partial)
      std::memcpy(partial, total.result(), size_t(columns * op_.in.wide_size));
    else
      op_.out.store(total.result(), out, 1, columns);
  }

  static int64 grain(int64 elements) {
    return std::max<int64>(1, kGrain / std::max<int64>(1, elements));
  }

  const Reduction& op_;
  const View& in_;
  Space<1> kept_, reduced_;
  bool by_columns_;
  int64 segments_;
};

}  // namespace

int64 reduction_scratch(const Kernel* kernel, const Call* call, const DeviceInfo*) {
  return Plan(*static_cast<const Reduction*>(kernel->data), *call).scratch_bytes();
}

Status run_reduction(const Kernel* kernel, const Call* call) {
  const auto& op = *static_cast<const Reduction*>(kernel->data);
  const Plan plan(op, *call);
  if (plan.outputs() == 0) return {};
  if (plan.elements() == 0 && !op.of_nothing)
    return error(StatusCode::kInvalidArgument,
                 "%s: expected at least one element to reduce, got none", kernel->name);
  if (plan.scratch_bytes() > call->scratch_bytes)
    return error(StatusCode::kInvalidArgument, "%s: expected %lld bytes of scratch, got %lld",
                 kernel->name, (long long)plan.scratch_bytes(), (long long)call->scratch_bytes);
  plan.run(call->out[0].as<char>(), static_cast<char*>(call->scratch));
  return {};
}

}  // namespace wick::cpu
