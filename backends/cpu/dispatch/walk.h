// The index space shared by the operands of a call, and a position that moves through it.
#pragma once
#include "wick/abi/call.h"
#include "wick/abi/merge.h"

namespace wick::cpu {

/// Shape and strides of n operands of one shape.
template <int n>
struct Space {
  int rank = 0;
  int64 numel = 1;
  int64 shape[kMaxRank];
  int64 strides[n][kMaxRank];

  /// Appends an innermost dim, merged with the last one if both lie as one in every operand; drops
  /// one of size 1.
  void push(int64 size, const int64 (&stride)[n]) {
    numel *= size;
    rank = append_dim(
        shape, rank, size, n, [&](int i) { return strides[i]; }, [&](int i) { return stride[i]; });
  }
  /// Length of the innermost dim.
  int64 row() const { return rank ? shape[rank - 1] : 1; }
  int64 row_stride(int operand) const { return rank ? strides[operand][rank - 1] : 0; }
  /// Whether the operand's elements lie in the space's own order, without gaps.
  bool flat(int operand) const {
    int64 expected = 1;
    for (int d = rank; d-- > 0; expected *= shape[d])
      if (strides[operand][d] != expected) return false;
    return true;
  }
};

/// The space of dims [first, first + count) of the views, which have the last one's shape. The core
/// has collapsed these dims.
template <int n>
Space<n> space_of(const View* const (&views)[n], int first, int count) {
  Space<n> space;
  space.rank = count;
  for (int d = 0; d < count; d++) {
    space.shape[d] = views[n - 1]->shape[first + d];
    space.numel *= space.shape[d];
    for (int i = 0; i < n; i++) space.strides[i][d] = views[i]->strides[first + d];
  }
  return space;
}
template <int n>
Space<n> space_of(const View* const (&views)[n]) {
  return space_of(views, 0, views[0]->rank);
}

/// A position in a space: its indices, and each operand's offset in elements.
template <int n>
class Position {
 public:
  Position(const Space<n>& space, int64 linear) : space_(&space) {
    for (int i = 0; i < n; i++) offset_[i] = 0;
    for (int d = space.rank; d-- > 0;) {
      // The start needs no division: it would cost more than a small op, and fail on a dim of size
      // 0.
      index_[d] = linear == 0 ? 0 : linear % space.shape[d];
      if (linear != 0) linear /= space.shape[d];
      for (int i = 0; i < n; i++) offset_[i] += index_[d] * space.strides[i][d];
    }
  }
  int64 offset(int operand) const { return offset_[operand]; }
  /// Elements from here to the end of the row.
  int64 rest() const { return space_->rank ? space_->row() - index_[space_->rank - 1] : 1; }
  /// Advances by `count` elements, at most rest().
  void advance(int64 count) {
    for (int d = space_->rank; d-- > 0; count = 1) {
      index_[d] += count;
      for (int i = 0; i < n; i++) offset_[i] += count * space_->strides[i][d];
      if (index_[d] < space_->shape[d]) return;
      index_[d] = 0;
      for (int i = 0; i < n; i++) offset_[i] -= space_->shape[d] * space_->strides[i][d];
    }
  }

 private:
  const Space<n>* space_;
  int64 index_[kMaxRank];
  int64 offset_[n];
};

}  // namespace wick::cpu
