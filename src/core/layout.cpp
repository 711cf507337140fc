#include "wick/core/layout.h"

#include <algorithm>

namespace wick {

void Dims::insert(int at, int64_t value) {
  Dims longer(size_ + 1, 0);
  std::copy(begin(), begin() + at, longer.begin());
  longer[at] = value;
  std::copy(begin() + at, end(), longer.begin() + at + 1);
  *this = std::move(longer);
}

void Dims::erase(int at) {
  Dims shorter(size_ - 1, 0);
  std::copy(begin(), begin() + at, shorter.begin());
  std::copy(begin() + at + 1, end(), shorter.begin() + at);
  *this = std::move(shorter);
}

bool Dims::operator==(const Dims& other) const {
  return std::equal(begin(), end(), other.begin(), other.end());
}

std::string to_string(const Dims& dims) {
  std::string text = "[";
  for (int i = 0; i < dims.size(); i++) {
    if (i) text += ", ";
    text += std::to_string(dims[i]);
  }
  return text + "]";
}

// Unsigned arithmetic: in a shape with a 0, partial products may overflow.
int64_t numel(const Shape& shape) {
  uint64_t n = 1;
  for (const int64_t size : shape) n *= uint64_t(size);
  return int64_t(n);
}

int64_t checked_numel(const Shape& shape) {
  int64_t n = 1;
  bool overflow = false, zero = false;
  for (const int64_t size : shape) {
    if (size < 0) return -1;
    zero = zero || size == 0;
    overflow = __builtin_mul_overflow(n, size, &n) || overflow;
  }
  if (zero) return 0;
  return overflow ? -1 : n;
}

Dims contiguous_strides(const Shape& shape) {
  Dims strides(shape.size(), 1);
  for (int d = shape.size() - 2; d >= 0; d--)
    strides[d] = int64_t(uint64_t(strides[d + 1]) * uint64_t(shape[d + 1]));
  return strides;
}

Layout Layout::contiguous(Shape shape) {
  Dims strides = contiguous_strides(shape);
  return {std::move(shape), std::move(strides), 0};
}

bool Layout::is_contiguous() const {
  int64_t expected = 1;
  for (int d = rank() - 1; d >= 0; d--) {
    if (shape[d] != 1 && strides[d] != expected) return false;
    expected *= shape[d];
  }
  return true;
}

int normalize_dim(std::string_view op, int64_t dim, int rank) {
  check(-rank <= dim && dim < rank, ErrorCode::kOutOfRange, op, "expected dim in [", -rank, ", ",
        rank, "), got ", dim);
  return int(dim < 0 ? dim + rank : dim);
}

Shape broadcast_shapes(std::string_view op, const Shape& lhs, const Shape& rhs) {
  const Shape& longer = lhs.size() >= rhs.size() ? lhs : rhs;
  const Shape& shorter = lhs.size() >= rhs.size() ? rhs : lhs;
  const int lead = longer.size() - shorter.size();
  Shape result = longer;
  for (int d = 0; d < shorter.size(); d++) {
    int64_t& size = result[lead + d];
    if (size == 1) size = shorter[d];
    check(shorter[d] == 1 || shorter[d] == size, ErrorCode::kShapeMismatch, op, "shapes ", lhs,
          " and ", rhs, " do not broadcast");
  }
  return result;
}

bool broadcast_strides(const Layout& layout, const Shape& target, Dims* strides) {
  const int lead = target.size() - layout.rank();
  if (lead < 0) return false;
  *strides = Dims(target.size(), 0);
  for (int d = 0; d < layout.rank(); d++) {
    if (layout.shape[d] == target[lead + d])
      (*strides)[lead + d] = layout.strides[d];
    else if (layout.shape[d] != 1)
      return false;
  }
  return true;
}

bool reshape_strides(const Layout& layout, const Shape& shape, Dims* strides) {
  if (layout.numel() == 0 || layout.is_contiguous()) {
    *strides = contiguous_strides(shape);
    return true;
  }
  // Walk both shapes from the innermost dim; a run of old dims that are contiguous with each other
  // can be split differently.
  *strides = Dims(shape.size(), 1);
  int old = layout.rank() - 1, now = shape.size() - 1;
  while (old >= 0 && layout.shape[old] == 1) old--;
  while (old >= 0) {
    int64_t run = layout.shape[old];
    const int64_t stride = layout.strides[old];
    int64_t outer = stride * run;
    for (old--; old >= 0 && (layout.shape[old] == 1 || layout.strides[old] == outer); old--) {
      run *= layout.shape[old];
      outer *= layout.shape[old];
    }
    int64_t step = stride;
    while (run > 1) {
      if (now < 0 || (shape[now] != 1 && run % shape[now] != 0)) return false;
      (*strides)[now] = step;
      step *= shape[now];
      run /= shape[now];
      now--;
    }
    while (old >= 0 && layout.shape[old] == 1) old--;
  }
  return true;  // the remaining new dims have size 1
}

}  // namespace wick
