#include "dispatch/arg_reduce.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "dispatch/reduce.h"
#include "dispatch/walk.h"
#include "runtime/table.h"
#include "scalar/round_up.h"

namespace wick::cpu {
namespace {

constexpr int64 kGrain = 32768;    // elements a thread takes at least
constexpr int64 kSegment = 65536;  // elements of one output that one thread looks through
constexpr int64 kColumns = 512;    // outputs side by side
constexpr int64 kMaxWide = 8;      // bytes of the widest type that is compared in

/// A call, cut by rows or by columns as in reduce.cpp. What is reduced is cut in segments; the
/// winner of each segment takes part in a last round, in their order.
class ArgPlan {
 public:
  ArgPlan(const ArgReduction& op, const Call& call) : op_(op), in_(call.in[0]) {
    const int kept = static_cast<const ReduceAttributes*>(call.attributes)->kept;
    const View* const views[1] = {&in_};
    kept_ = space_of(views, 0, kept);
    reduced_ = space_of(views, kept, in_.rank - kept);
    by_columns_ = kept_.row() >= 8 && kept_.row_stride(0) == 1 && reduced_.row_stride(0) != 1;
    segments_ = std::max<int64>(1, ceil_div(elements(), kSegment));
  }

  int64 outputs() const { return kept_.numel; }
  int64 elements() const { return reduced_.numel; }
  /// Scratch holds each segment's winner: all numbers first, then all values.
  int64 scratch_bytes() const {
    return segments_ * outputs() * (int64(sizeof(int64)) + op_.in.wide_size);
  }

  void run(int64* out, char* scratch) const {
    int64* const ids = reinterpret_cast<int64*>(scratch);
    char* const values = scratch + segments_ * outputs() * int64(sizeof(int64));
    const int64 row = by_columns_ ? kept_.row() : 1, tiles = ceil_div(row, kColumns);
    const int64 items = outputs() / row * tiles;
    const int64 work = std::min(elements(), kSegment) * std::min(row, kColumns);
    parallel_for(items * segments_, grain(work), [&](int64 begin, int64 end) {
      for (int64 i = begin; i < end; i++) {
        const int64 item = i % items, segment = i / items;
        const int64 first = item / tiles * row + item % tiles * kColumns;
        const int64 at = segment * outputs() + first;
        if (by_columns_)
          columns(first, std::min(kColumns, row - item % tiles * kColumns), segment,
                  values + at * op_.in.wide_size, ids + at);
        else
          line(first, segment, values + at * op_.in.wide_size, ids + at);
      }
    });
    for (int64 k = 0; k < outputs(); k++) {
      for (int64 s = 1; s < segments_; s++)
        op_.along(values + (s * outputs() + k) * op_.in.wide_size, 1, ids[s * outputs() + k],
                  values + k * op_.in.wide_size, ids + k);
      out[k] = ids[k];
    }
  }

 private:
  /// Finds the winner in one segment of one output.
  void line(int64 output, int64 segment, char* value, int64* id) const {
    const int64 stride = reduced_.row_stride(0), wide = op_.in.wide_size;
    const char* data = in_.as<char>() + Position<1>(kept_, output).offset(0) * op_.in.size;
    const bool in_place = op_.in.direct && stride == 1;
    alignas(64) char buffer[kBlock * kMaxWide];
    Position<1> at(reduced_, segment * kSegment);
    const int64 end = std::min(elements(), (segment + 1) * kSegment);
    for (int64 r = segment * kSegment; r < end;) {
      const int64 n = std::min({kBlock, end - r, at.rest()});
      const char* x = data + at.offset(0) * op_.in.size;
      if (!in_place) {
        op_.in.load(x, stride, n, buffer);
        x = buffer;
      }
      if (r == segment * kSegment) {
        std::memcpy(value, x, size_t(wide));
        *id = r;
      }
      op_.along(x, n, r, value, id);
      at.advance(n);
      r += n;
    }
  }

  /// Finds the winners in one segment of `count` neighbouring outputs.
  void columns(int64 first, int64 count, int64 segment, char* values, int64* ids) const {
    const char* data = in_.as<char>() + Position<1>(kept_, first).offset(0) * op_.in.size;
    alignas(64) char buffer[kColumns * kMaxWide];
    Position<1> at(reduced_, segment * kSegment);
    const int64 end = std::min(elements(), (segment + 1) * kSegment);
    for (int64 r = segment * kSegment; r < end; r++) {
      const char* x = data + at.offset(0) * op_.in.size;
      if (!op_.in.direct) {
        op_.in.load(x, 1, count, buffer);
        x = buffer;
      }
      if (r == segment * kSegment) {
        std::memcpy(values, x, size_t(count * op_.in.wide_size));
        std::fill(ids, ids + count, r);
      } else {
        op_.across(x, count, r, values, ids);
      }
      at.advance(1);
    }
  }

  static int64 grain(int64 elements) {
    return std::max<int64>(1, kGrain / std::max<int64>(1, elements));
  }

  const ArgReduction& op_;
  const View& in_;
  Space<1> kept_, reduced_;
  bool by_columns_;
  int64 segments_;
};

}  // namespace

int64 arg_reduction_scratch(const Kernel* kernel, const Call* call, const DeviceInfo*) {
  return ArgPlan(*static_cast<const ArgReduction*>(kernel->data), *call).scratch_bytes();
}

Status run_arg_reduction(const Kernel* kernel, const Call* call) {
  const ArgPlan plan(*static_cast<const ArgReduction*>(kernel->data), *call);
  if (plan.outputs() == 0) return {};
  if (plan.elements() == 0)
    return error(StatusCode::kInvalidArgument,
                 "%s: expected at least one element to reduce, got none", kernel->name);
  if (plan.scratch_bytes() > call->scratch_bytes)
    return error(StatusCode::kInvalidArgument, "%s: expected %lld bytes of scratch, got %lld",
                 kernel->name, (long long)plan.scratch_bytes(), (long long)call->scratch_bytes);
  plan.run(call->out[0].as<int64>(), static_cast<char*>(call->scratch));
  return {};
}

}  // namespace wick::cpu
