// An array of Reals in row-major order: what reference ops take and give.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "formats.h"

namespace wick::reference {

using Shape = std::vector<int64_t>;
using Index = std::vector<int64_t>;

struct Array {
  DType dtype = DType::kF32;
  Shape shape;
  std::vector<Real> values;
};

int64_t numel(const Shape& shape);
/// The position of an index in row-major order.
int64_t position(const Shape& shape, const Index& index);
/// The inverse: index of a position.
Index index_at(const Shape& shape, int64_t position);
/// dim in [-rank, rank) as one in [0, rank).
int normalize_dim(int64_t dim, std::size_t rank);

/// An array whose element at each index is value(index).
Array build(DType dtype, const Shape& shape, const std::function<Real(const Index&)>& value);
/// The shape that both broadcast to.
Shape broadcast(const Shape& lhs, const Shape& rhs);
/// x repeated to a shape that it broadcasts to.
Array expand(const Array& x, const Shape& shape);
/// Dim i of the result is dim order[i] of x.
Array permute(const Array& x, const std::vector<int>& order);
/// Elements as cast gives them.
Array convert(const Array& x, DType dtype);

}  // namespace wick::reference
