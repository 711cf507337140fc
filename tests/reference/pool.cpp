#include "pool.h"

#include <algorithm>
#include <cmath>

#include "sum.h"

namespace wick::reference {
namespace {

Shape pooled_shape(const Array& x, const Windows& rows, const Windows& columns) {
  return {x.shape[0], x.shape[1], int64_t(rows.size()), int64_t(columns.size())};
}

/// f(position in the plane, value) for the elements of a window.
template <class F>
void for_elements(const Array& x, const Index& index, const Window& row, const Window& column,
                  const F& f) {
  for (const int64_t h : row.elements)
    for (const int64_t w : column.elements)
      f(h * x.shape[3] + w, x.values[std::size_t(position(x.shape, {index[0], index[1], h, w}))]);
}

}  // namespace

Windows windows_along(int64_t size, const Pooling& p) {
  Windows result;
  const int64_t extent = (p.kernel - 1) * p.dilation + 1;
  for (int64_t start = -p.padding;; start += p.stride) {
    const bool whole = start + extent <= size + p.padding;
    // With ceil_mode one more, if it starts in x or in the padding before it, and the whole ones
    // leave something over.
    const bool more = p.ceil_mode && start < size && start - p.stride + extent < size + p.padding;
    if (!whole && !more) return result;
    Window window;
    for (int64_t k = 0; k < p.kernel; k++) {
      const int64_t at = start + k * p.dilation, margin = p.count_padding ? p.padding : 0;
      if (at >= 0 && at < size) window.elements.push_back(at);
      if (at >= -margin && at < size + margin) window.counted++;
    }
    result.push_back(window);
  }
}

Windows adaptive_windows(int64_t size, int64_t count) {
  Windows result;
  for (int64_t i = 0; i < count; i++) {
    Window window;
    for (int64_t at = 0; at < size; at++)
      if ((at + 1) * count > i * size && at * count < (i + 1) * size) window.elements.push_back(at);
    window.counted = int64_t(window.elements.size());
    result.push_back(window);
  }
  return result;
}

MaxPooled max_pool(const Array& x, const Windows& rows, const Windows& columns) {
  MaxPooled result;
  result.values = {build(x.dtype, pooled_shape(x, rows, columns),
                         [&](const Index& index) {
                           bool found = false;
                           Real best = 0;
                           int64_t where = 0;
                           for_elements(
                               x, index, rows[std::size_t(index[2])],
                               columns[std::size_t(index[3])], [&](int64_t at, Real value) {
                                 const bool wins = !found || (!std::isnan(best) &&
                                                              (std::isnan(value) || value > best));
                                 if (!wins) return;
                                 found = true;
                                 best = value;
                                 where = at;
                               });
                           result.indices.array.values.push_back(Real(where));
                           return best;
                         }),
                   {},
                   0};
  result.indices.array.dtype = DType::kI64;
  result.indices.array.shape = result.values.array.shape;
  return result;
}

Result avg_pool(const Array& x, const Windows& rows, const Windows& columns, int64_t divisor) {
  Result result;
  result.terms = 1;
  result.array = build(x.dtype, pooled_shape(x, rows, columns), [&](const Index& index) {
    const Window &row = rows[std::size_t(index[2])], &column = columns[std::size_t(index[3])];
    Sum sum;
    for_elements(x, index, row, column, [&](int64_t, Real value) { sum.add(value); });
    const int64_t count = divisor ? divisor : row.counted * column.counted;
    const Real by = count == 0 ? 1 : Real(count);
    result.magnitude.push_back(sum.magnitude() / std::fabs(by));
    result.terms = std::max(result.terms, sum.terms());
    return sum.value() / by;
  });
  return result;
}

Result lp_pool(const Array& x, const Windows& rows, const Windows& columns, Real power,
               int64_t whole) {
  Array powers = x;
  for (Real& value : powers.values) value = std::pow(value, power);
  Result result = avg_pool(powers, rows, columns, 0);
  for (Real& value : result.array.values) value = std::pow(value * Real(whole), 1 / power);
  // With S the window's sum of n positive powers, errors relative and in u (1 ulp is at most 2 u):
  //   a power: 4, as pow promises 2 ulp;
  //   their mean: 2 + log2(n), and 2 for the ulp of the result, as avg_pool promises;
  //   S, the mean times n: 1.
  // The root turns the 9 + log2(n) of S into (9 + log2(n)) / |power| of y = S^(1 / power).
  // Rounding 1 / power costs |ln y|, as S^(r (1 + d)) = y (1 + d ln y); pow itself 4.
  const Real of_sum = (9 + std::log2(Real(whole))) / std::fabs(power);
  for (std::size_t i = 0; i < result.magnitude.size(); i++) {
    const Real y = result.array.values[i];
    result.magnitude[i] = y == 0 ? 0 : y * (4 + of_sum + std::fabs(std::log(y)));
  }
  return result;
}

Result max_unpool(const Array& x, const Array& indices, const Shape& size) {
  Array y = build(x.dtype, {x.shape[0], x.shape[1], size[0], size[1]},
                  [](const Index&) { return Real(0); });
  const int64_t places = x.shape[2] * x.shape[3], plane = size[0] * size[1];
  for (int64_t p = 0; p < int64_t(x.values.size()); p++)
    y.values[std::size_t(p / places * plane + int64_t(indices.values[std::size_t(p)]))] =
        x.values[std::size_t(p)];
  return {y, {}, 0};
}

}  // namespace wick::reference
