// Elements in other places, naively: each element of the result by its index.
#pragma once
#include "ops.h"

namespace wick::reference {

Array stack(const std::vector<Array>& arrays, int64_t dim);
Array repeat(const Array& x, const std::vector<int64_t>& times);
Array repeat_interleave(const Array& x, const std::vector<int64_t>& counts, int64_t dim);
Array roll(const Array& x, int64_t shift, int64_t dim);
Array flip(const Array& x, int64_t dim);
Array diagonal(const Array& x, int64_t offset, int64_t dim1, int64_t dim2);
Array diag_embed(const Array& x, int64_t offset, int64_t dim1, int64_t dim2);
/// Zeros where keep(j - i) does not hold for row i and column j.
Array kept(const Array& x, const std::function<bool(int64_t)>& keep);
Array unfold(const Array& x, int64_t dim, int64_t size, int64_t step);
/// One dim, padded; source(i, size) is the element that place i shows (i may be outside of [0,
/// size)), or -1 for the value.
Array pad(const Array& x, int64_t dim, int64_t before, int64_t after, Real value,
          const std::function<int64_t(int64_t i, int64_t size)>& source);
Array pixel_shuffle(const Array& x, int64_t factor);

/// An index of a result's dims, and of how many of x's.
struct IndexItem {
  enum class Kind {
    kNumber,   // positions[0]
    kList,     // these positions, which make a dim
    kNewAxis,  // a dim of size 1
    kIds,      // ids of one dim
  } kind;
  std::vector<int64_t> positions = {};
  Array ids = {};
};
/// What x[items...] reads: the position in x of each element. There is an item for each dim of x,
/// and one for each new axis.
struct Indexed {
  Shape shape;
  std::vector<int64_t> positions;
};
Indexed indexed(const Shape& x, const std::vector<IndexItem>& items);

}  // namespace wick::reference
