#include "array.h"

#include <algorithm>

namespace wick::reference {

int64_t numel(const Shape& shape) {
  int64_t n = 1;
  for (const int64_t size : shape) n *= size;
  return n;
}

int64_t position(const Shape& shape, const Index& index) {
  int64_t p = 0;
  for (std::size_t d = 0; d < shape.size(); d++) p = p * shape[d] + index[d];
  return p;
}

Index index_at(const Shape& shape, int64_t position) {
  Index index(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    index[d] = position % shape[d];
    position /= shape[d];
  }
  return index;
}

int normalize_dim(int64_t dim, std::size_t rank) {
  return int(dim < 0 ? dim + int64_t(rank) : dim);
}

Array build(DType dtype, const Shape& shape, const std::function<Real(const Index&)>& value) {
  Array result{dtype, shape, {}};
  const int64_t n = numel(shape);
  result.values.reserve(std::size_t(n));
  Index index(shape.size(), 0);
  for (int64_t i = 0; i < n; i++) {
    result.values.push_back(value(index));
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
  return result;
}

Shape broadcast(const Shape& lhs, const Shape& rhs) {
  Shape result = lhs.size() >= rhs.size() ? lhs : rhs;
  const Shape& shorter = lhs.size() >= rhs.size() ? rhs : lhs;
  const std::size_t lead = result.size() - shorter.size();
  for (std::size_t d = 0; d < shorter.size(); d++) {
    if (result[lead + d] == 1) result[lead + d] = shorter[d];
  }
  return result;
}

Array expand(const Array& x, const Shape& shape) {
  if (x.shape == shape) return x;
  const std::size_t lead = shape.size() - x.shape.size();
  Index from(x.shape.size());
  return build(x.dtype, shape, [&](const Index& index) {
    for (std::size_t d = 0; d < from.size(); d++) from[d] = x.shape[d] == 1 ? 0 : index[lead + d];
    return x.values[std::size_t(position(x.shape, from))];
  });
}

Array permute(const Array& x, const std::vector<int>& order) {
  Shape shape;
  for (const int d : order) shape.push_back(x.shape[std::size_t(d)]);
  Index from(order.size());
  return build(x.dtype, shape, [&](const Index& index) {
    for (std::size_t d = 0; d < order.size(); d++) from[std::size_t(order[d])] = index[d];
    return x.values[std::size_t(position(x.shape, from))];
  });
}

Array convert(const Array& x, DType dtype) {
  Array result{dtype, x.shape, x.values};
  for (Real& value : result.values) value = convert(x.dtype, dtype, value);
  return result;
}

}  // namespace wick::reference
