// Merging dims: where one lies in the other in every operand, the two are walked as one.
// Freestanding.
#pragma once
#include "wick/abi/marks.h"

namespace wick {

/// Appends a dim of `size` to the `rank` dims of the shape that the operands share, inside of them;
/// returns the new rank. A dim of size 1 is dropped. One that continues the last dim in every
/// operand, stride[last] == size * stride, becomes one dim with it.
///
/// strides_of(o)  int64*: the strides of operand o, of which there are as many as shape has places
/// stride_of(o)   the new dim's stride in operand o
template <class StridesOf, class StrideOf>
constexpr int append_dim(int64* shape, int rank, int64 size, int operands,
                         const StridesOf& strides_of, const StrideOf& stride_of) {
  if (size == 1) return rank;
  bool merges = rank > 0;
  for (int o = 0; o < operands && merges; o++)
    merges = strides_of(o)[rank - 1] == size * stride_of(o);
  if (merges)
    shape[rank - 1] *= size;
  else
    shape[rank++] = size;
  for (int o = 0; o < operands; o++) strides_of(o)[rank - 1] = stride_of(o);
  return rank;
}

}  // namespace wick
