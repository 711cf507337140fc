#include "dispatch/scan.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "runtime/table.h"
#include "scalar/round_up.h"

namespace wick::cpu {
namespace {

constexpr int64 kGrain = 16384;             // elements a thread takes at least
constexpr int64 kLineSegment = 8 * kChunk;  // elements of a line between two folds
constexpr int64 kColumnSegment = 256;       // rows between two folds of columns
constexpr int64 kNarrow = 8;                // fewer columns are lines with a stride
constexpr int64 kState = 8;                 // bytes of half a state, of one line

/// x [O, N, I] as items that threads take: a line each, or a tile of columns side by side.
class Plan {
 public:
  Plan(const Scan& op, const Call& call)
      : op_(op), x_(call.in[0]), y_(call.out[0]), ids_(op.with_ids ? &call.out[1] : nullptr) {
    const int64 inner = x_.shape[2];
    width_ = inner < kNarrow ? 1 : std::min(inner, kChunk);
    tiles_ = ceil_div(inner, width_);
    items_ = x_.shape[0] * tiles_;
    length_ = x_.shape[1];
    segment_ = width_ == 1 ? kLineSegment : kColumnSegment;
    segments_ = ceil_div(length_, segment_);
  }

  bool empty() const { return items_ * length_ == 0; }
  /// Room for the state before each segment, were lines to be shared out.
  int64 scratch_bytes() const {
    return op_.splits && segments_ > 1 && items_ < num_threads()
               ? items_ * segments_ * state_bytes()
               : 0;
  }

  void run(char* scratch, int64 room) const {
    const int64 work = std::min(segment_, length_) * width_;
    const int64 grain = std::max<int64>(1, kGrain / std::max<int64>(1, work));
    if (items_ >= num_threads() || room < items_ * segments_ * state_bytes() ||
        items_ * segments_ <= grain) {
      parallel_for(items_, std::max<int64>(1, grain / segments_), [&](int64 begin, int64 end) {
        for (int64 item = begin; item < end; item++) {
          State state(op_, width_);
          for (int64 s = 0; s < segments_; s++) segment(item, s, state, true);
        }
      });
      return;
    }
    parallel_for(items_ * segments_, grain, [&](int64 begin, int64 end) {
      for (int64 i = begin; i < end; i++) {
        State state(op_, width_);
        segment(i / segments_, i % segments_, state, false);
        state.save(scratch + i * state_bytes());
      }
    });
    for (int64 item = 0; item < items_; item++) {  // each saved state becomes the one before it
      State before(op_, width_);
      for (int64 s = 0; s < segments_; s++) {
        char* const saved = scratch + (item * segments_ + s) * state_bytes();
        State state(op_, width_);
        state.restore(saved);
        before.save(saved);
        op_.join(before.a, before.b, state.a, state.b, width_);
        before.copy(state);
      }
    }
    parallel_for(items_ * segments_, grain, [&](int64 begin, int64 end) {
      for (int64 i = begin; i < end; i++) {
        State state(op_, width_);
        state.restore(scratch + i * state_bytes());
        segment(i / segments_, i % segments_, state, true);
      }
    });
  }

 private:
  struct State {
    State(const Scan& op, int64 width) : bytes(width * kState) { op.begin(a, b, width); }
    void save(char* to) const {
      std::memcpy(to, a, size_t(bytes));
      std::memcpy(to + bytes, b, size_t(bytes));
    }
    void restore(const char* from) {
      std::memcpy(a, from, size_t(bytes));
      std::memcpy(b, from + bytes, size_t(bytes));
    }
    void copy(const State& other) {
      std::memcpy(a, other.a, size_t(bytes));
      std::memcpy(b, other.b, size_t(bytes));
    }
    const int64 bytes;
    alignas(64) char a[kChunk * kState];
    alignas(64) char b[kChunk * kState];
  };
  int64 state_bytes() const { return 2 * width_ * kState; }

  /// Elements [s · segment_, ...) of an item, and the fold at their end.
  void segment(int64 item, int64 s, State& state, bool writes) const {
    const int64 begin = s * segment_, end = std::min(length_, begin + segment_);
    const int64 o = item / tiles_, i = item % tiles_ * width_;
    const int64 width = std::min(width_, x_.shape[2] - i);
    if (width_ == 1) {
      for (int64 n = begin; n < end; n += kChunk)
        piece(o, n, i, std::min(kChunk, end - n), 1, state, writes);
    } else {
      for (int64 n = begin; n < end; n++) piece(o, n, i, width, 2, state, writes);
    }
    op_.fold(state.a, state.b, width_);
  }

  /// `count` elements from [o, n, i] on, along dim `dim`.
  void piece(int64 o, int64 n, int64 i, int64 count, int dim, State& state, bool writes) const {
    alignas(64) char x_buffer[kChunkBytes];
    alignas(64) char y_buffer[kChunkBytes];
    int64 id_buffer[kChunk];
    const auto at = [&](const View& view) {
      return o * view.strides[0] + n * view.strides[1] + i * view.strides[2];
    };
    const char* x = x_.as<char>() + at(x_) * op_.in.size;
    if (!op_.in.direct || x_.strides[dim] != 1) {
      op_.in.load(x, x_.strides[dim], count, x_buffer);
      x = x_buffer;
    }
    char* const target = y_.as<char>() + at(y_) * op_.out.size;
    const bool y_in_place = writes && op_.out.direct && y_.strides[dim] == 1;
    char* const y = y_in_place ? target : y_buffer;
    int64* const id_target = ids_ ? ids_->as<int64>() + at(*ids_) : nullptr;
    const bool ids_in_place = writes && ids_ && ids_->strides[dim] == 1;
    int64* const ids = ids_in_place ? id_target : id_buffer;
    (dim == 1 ? op_.along : op_.across)(x, count, n, state.a, state.b, y, ids);
    if (!writes) return;
    if (!y_in_place) op_.out.store(y, target, y_.strides[dim], count);
    if (ids_ && !ids_in_place)
      for (int64 k = 0; k < count; k++) id_target[k * ids_->strides[dim]] = ids[k];
  }

  const Scan& op_;
  const View &x_, &y_;
  const View* ids_;
  int64 width_, tiles_, items_, length_, segment_, segments_;
};

}  // namespace

int64 scan_scratch(const Kernel* kernel, const Call* call, const DeviceInfo*) {
  return Plan(*static_cast<const Scan*>(kernel->data), *call).scratch_bytes();
}

Status run_scan(const Kernel* kernel, const Call* call) {
  const Plan plan(*static_cast<const Scan*>(kernel->data), *call);
  if (!plan.empty()) plan.run(static_cast<char*>(call->scratch), call->scratch_bytes);
  return {};
}

}  // namespace wick::cpu
