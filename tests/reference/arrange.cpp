#include "arrange.h"

#include <algorithm>

namespace wick::reference {
namespace {

Real at(const Array& x, const Index& index) {
  return x.values[std::size_t(position(x.shape, index))];
}

template <class T>
std::vector<T> without(std::vector<T> list, std::size_t at) {
  list.erase(list.begin() + std::ptrdiff_t(at));
  return list;
}

int64_t wrapped(int64_t i, int64_t size) { return ((i % size) + size) % size; }

}  // namespace

Array stack(const std::vector<Array>& arrays, int64_t dim) {
  const std::size_t d = std::size_t(normalize_dim(dim, arrays[0].shape.size() + 1));
  Shape shape = arrays[0].shape;
  shape.insert(shape.begin() + std::ptrdiff_t(d), int64_t(arrays.size()));
  return build(arrays[0].dtype, shape, [&](const Index& index) {
    return at(arrays[std::size_t(index[d])], without(index, d));
  });
}

Array repeat(const Array& x, const std::vector<int64_t>& times) {
  Array whole = x;
  while (whole.shape.size() < times.size()) whole.shape.insert(whole.shape.begin(), 1);
  Shape shape = whole.shape;
  for (std::size_t d = 0; d < shape.size(); d++) shape[d] *= times[d];
  return build(x.dtype, shape, [&](Index index) {
    for (std::size_t d = 0; d < index.size(); d++) index[d] %= whole.shape[d];
    return at(whole, index);
  });
}

Array repeat_interleave(const Array& x, const std::vector<int64_t>& counts, int64_t dim) {
  const std::size_t d = std::size_t(normalize_dim(dim, x.shape.size()));
  std::vector<int64_t> from;
  for (std::size_t i = 0; i < counts.size(); i++)
    for (int64_t k = 0; k < counts[i]; k++) from.push_back(int64_t(i));
  Shape shape = x.shape;
  shape[d] = int64_t(from.size());
  return build(x.dtype, shape, [&](Index index) {
    index[d] = from[std::size_t(index[d])];
    return at(x, index);
  });
}

Array roll(const Array& x, int64_t shift, int64_t dim) {
  const std::size_t d = std::size_t(normalize_dim(dim, x.shape.size()));
  return build(x.dtype, x.shape, [&](Index index) {
    index[d] = wrapped(index[d] - shift, x.shape[d]);
    return at(x, index);
  });
}

Array flip(const Array& x, int64_t dim) {
  const std::size_t d = std::size_t(normalize_dim(dim, x.shape.size()));
  return build(x.dtype, x.shape, [&](Index index) {
    index[d] = x.shape[d] - 1 - index[d];
    return at(x, index);
  });
}

Array diagonal(const Array& x, int64_t offset, int64_t dim1, int64_t dim2) {
  const std::size_t a = std::size_t(normalize_dim(dim1, x.shape.size())),
                    b = std::size_t(normalize_dim(dim2, x.shape.size()));
  int64_t length = 0;
  for (int64_t i = 0; i < x.shape[a]; i++)
    length += i + offset >= 0 && i + offset < x.shape[b] ? 1 : 0;
  Shape shape = without(without(x.shape, std::max(a, b)), std::min(a, b));
  shape.push_back(length);
  return build(x.dtype, shape, [&](Index index) {
    const int64_t i = index.back() + std::max<int64_t>(0, -offset);
    index.pop_back();
    for (const std::size_t d : {std::min(a, b), std::max(a, b)})
      index.insert(index.begin() + std::ptrdiff_t(d), d == a ? i : i + offset);
    return at(x, index);
  });
}

Array diag_embed(const Array& x, int64_t offset, int64_t dim1, int64_t dim2) {
  const std::size_t a = std::size_t(normalize_dim(dim1, x.shape.size() + 1)),
                    b = std::size_t(normalize_dim(dim2, x.shape.size() + 1));
  const int64_t size = x.shape.back() + std::abs(offset);
  Shape shape = x.shape;
  shape.pop_back();
  for (const std::size_t d : {std::min(a, b), std::max(a, b)})
    shape.insert(shape.begin() + std::ptrdiff_t(d), size);
  return build(x.dtype, shape, [&](const Index& index) {
    if (index[b] - index[a] != offset) return Real(0);
    Index from = without(without(index, std::max(a, b)), std::min(a, b));
    from.push_back(std::min(index[a], index[b]));
    return at(x, from);
  });
}

Array kept(const Array& x, const std::function<bool(int64_t)>& keep) {
  return build(x.dtype, x.shape, [&](const Index& index) {
    return keep(index.back() - index[index.size() - 2]) ? at(x, index) : Real(0);
  });
}

Array unfold(const Array& x, int64_t dim, int64_t size, int64_t step) {
  const std::size_t d = std::size_t(normalize_dim(dim, x.shape.size()));
  Shape shape = x.shape;
  shape[d] = 0;
  for (int64_t start = 0; start + size <= x.shape[d]; start += step) shape[d]++;
  shape.push_back(size);
  return build(x.dtype, shape, [&](Index index) {
    index[d] = index[d] * step + index.back();
    index.pop_back();
    return at(x, index);
  });
}

Array pad(const Array& x, int64_t dim, int64_t before, int64_t after, Real value,
          const std::function<int64_t(int64_t i, int64_t size)>& source) {
  const std::size_t d = std::size_t(normalize_dim(dim, x.shape.size()));
  Shape shape = x.shape;
  shape[d] += before + after;
  return build(x.dtype, shape, [&](Index index) {
    const int64_t i = index[d] - before;
    index[d] = 0 <= i && i < x.shape[d] ? i : source(i, x.shape[d]);
    return index[d] < 0 ? value : at(x, index);
  });
}

Array pixel_shuffle(const Array& x, int64_t r) {
  Shape shape = x.shape;
  const std::size_t c = shape.size() - 3;
  shape[c] /= r * r;
  shape[c + 1] *= r;
  shape[c + 2] *= r;
  return build(x.dtype, shape, [&](Index index) {
    index[c] = (index[c] * r + index[c + 1] % r) * r + index[c + 2] % r;
    index[c + 1] /= r;
    index[c + 2] /= r;
    return at(x, index);
  });
}

Indexed indexed(const Shape& x, const std::vector<IndexItem>& items) {
  using Kind = IndexItem::Kind;
  // The ids' common shape, and where its dims stand: at the first ids, or first of all if a dim
  // that stays lies between two of them.
  Shape of_ids;
  int first = -1, last = -1, dims = 0;
  bool apart = false;
  for (const IndexItem& item : items) {
    if (item.kind == Kind::kIds) {
      of_ids = broadcast(of_ids, item.ids.shape);
      apart = apart || (last >= 0 && last != dims);
      if (first < 0) first = dims;
      last = dims;
    } else if (item.kind != Kind::kNumber) {
      dims++;
    }
  }
  if (apart) first = 0;
  Shape shape;
  for (const IndexItem& item : items) {
    if (item.kind == Kind::kList) shape.push_back(int64_t(item.positions.size()));
    if (item.kind == Kind::kNewAxis) shape.push_back(1);
  }
  if (first >= 0) shape.insert(shape.begin() + first, of_ids.begin(), of_ids.end());
  Indexed result{shape, {}};
  build(DType::kI64, shape, [&](const Index& index) {
    Index own = index, ids;  // of the dims that stay, and of the ids'
    if (first >= 0) {
      const auto begin = own.begin() + first, end = begin + std::ptrdiff_t(of_ids.size());
      ids.assign(begin, end);
      own.erase(begin, end);
    }
    Index at_x;
    std::size_t next = 0;
    for (const IndexItem& item : items) {
      if (item.kind == Kind::kNumber) at_x.push_back(item.positions[0]);
      if (item.kind == Kind::kList) at_x.push_back(item.positions[std::size_t(own[next++])]);
      if (item.kind == Kind::kNewAxis) next++;
      if (item.kind == Kind::kIds) at_x.push_back(int64_t(at(expand(item.ids, of_ids), ids)));
    }
    for (std::size_t d = 0; d < at_x.size(); d++)
      if (at_x[d] < 0) at_x[d] += x[d];
    result.positions.push_back(position(x, at_x));
    return Real(0);
  });
  return result;
}

}  // namespace wick::reference
