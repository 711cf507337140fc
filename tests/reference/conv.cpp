#include "conv.h"

#include <algorithm>
#include <utility>

#include "sum.h"

namespace wick::reference {
namespace {

Real at(const Array& x, const Index& index) {
  return x.values[std::size_t(position(x.shape, index))];
}

int64_t places(int64_t size, int64_t kernel, int d, const Convolution& c) {
  const int64_t room = size + c.before[d] + c.behind[d] - (kernel - 1) * c.dilation[d] - 1;
  return room / c.stride[d] + 1;
}

/// Elements that are sums, which terms(add) gives in any order: add(index, term).
template <class F>
Result sums(DType dtype, const Shape& shape, const F& terms) {
  std::vector<Sum> totals(std::size_t(numel(shape)));
  terms([&](const Index& index, Real term) {
    totals[std::size_t(position(shape, index))].add(term);
  });
  Result result{{dtype, shape, {}}, {}, 1};
  for (const Sum& sum : totals) {
    result.array.values.push_back(sum.value());
    result.magnitude.push_back(sum.serial_magnitude());
    result.terms = std::max(result.terms, sum.terms());
  }
  return result;
}

/// f(y's index, x's index, weight's index) for every product of a convolution.
template <class F>
void for_products(const Shape& y, const Shape& x, const Shape& weight, const Convolution& c,
                  const F& f) {
  const int64_t inputs = weight[1], outputs = weight[0] / c.groups;
  for (int64_t p = 0; p < numel(y); p++) {
    const Index to = index_at(y, p);
    for (int64_t q = 0; q < inputs * weight[2] * weight[3]; q++) {
      const Index tap = index_at({inputs, weight[2], weight[3]}, q);
      const int64_t h = c.place(0, to[2], tap[1]), w = c.place(1, to[3], tap[2]);
      if (h < 0 || h >= x[2] || w < 0 || w >= x[3]) continue;
      f(to, Index{to[0], to[1] / outputs * inputs + tap[0], h, w},
        Index{to[1], tap[0], tap[1], tap[2]});
    }
  }
}

/// An element of the padding, or the place in x that it is a copy of.
int64_t source(int64_t i, int64_t size, int mode) {
  if (i >= 0 && i < size) return i;
  if (mode == 0) return -1;
  if (mode == 1) return i < 0 ? -i : 2 * (size - 1) - i;
  if (mode == 2) return i < 0 ? 0 : size - 1;
  return i < 0 ? i + size : i - size;
}

}  // namespace

Result conv2d(const Array& x, const Array& weight, const Convolution& c) {
  const Shape y = {x.shape[0], weight.shape[0], places(x.shape[2], weight.shape[2], 0, c),
                   places(x.shape[3], weight.shape[3], 1, c)};
  return sums(x.dtype, y, [&](const auto& add) {
    for_products(y, x.shape, weight.shape, c,
                 [&](const Index& to, const Index& from, const Index& tap) {
                   add(to, at(x, from) * at(weight, tap));
                 });
  });
}

Result conv_transpose2d(const Array& x, const Array& weight, const Convolution& c) {
  Shape y = {x.shape[0], weight.shape[1] * c.groups, 0, 0};
  for (int d = 0; d < 2; d++)
    y[std::size_t(2 + d)] = (x.shape[std::size_t(2 + d)] - 1) * c.stride[d] - c.before[d] -
                            c.behind[d] + (weight.shape[std::size_t(2 + d)] - 1) * c.dilation[d] +
                            c.output_padding[d] + 1;
  return sums(x.dtype, y, [&](const auto& add) {
    for_products(x.shape, y, weight.shape, c,
                 [&](const Index& from, const Index& to, const Index& tap) {
                   add(to, at(x, from) * at(weight, tap));
                 });
  });
}

Result conv_weight_gradient(const Array& gy, const Array& x, const Shape& weight,
                            const Convolution& c) {
  return sums(x.dtype, weight, [&](const auto& add) {
    for_products(gy.shape, x.shape, weight, c,
                 [&](const Index& y, const Index& from, const Index& tap) {
                   add(tap, at(gy, y) * at(x, from));
                 });
  });
}

Result add_bias(Result y, const Array& bias) {
  for (std::size_t p = 0; p < y.array.values.size(); p++) {
    const Real term = bias.values[std::size_t(index_at(y.array.shape, int64_t(p))[1])];
    y.array.values[p] += term;
    y.magnitude[p] += std::fabs(term);
  }
  y.terms++;
  return y;
}

Array padded(const Array& x, int mode, const Convolution& c) {
  Shape shape = x.shape;
  for (int d = 0; d < 2; d++) shape[std::size_t(2 + d)] += c.before[d] + c.behind[d];
  return build(x.dtype, shape, [&](const Index& index) -> Real {
    const int64_t h = source(index[2] - c.before[0], x.shape[2], mode);
    const int64_t w = source(index[3] - c.before[1], x.shape[3], mode);
    return h < 0 || w < 0 ? Real(0) : at(x, {index[0], index[1], h, w});
  });
}

Result unfold2d(const Array& x, const Shape& kernel, const Convolution& c) {
  const int64_t high = places(x.shape[2], kernel[0], 0, c),
                wide = places(x.shape[3], kernel[1], 1, c);
  const Shape split = {x.shape[1], kernel[0], kernel[1]};
  return {build(x.dtype, {x.shape[0], numel(split), high * wide},
                [&](const Index& index) -> Real {
                  const Index tap = index_at(split, index[1]);
                  const int64_t h = c.place(0, index[2] / wide, tap[1]);
                  const int64_t w = c.place(1, index[2] % wide, tap[2]);
                  if (h < 0 || h >= x.shape[2] || w < 0 || w >= x.shape[3]) return 0;
                  return at(x, {index[0], tap[0], h, w});
                }),
          {},
          0};
}

Result fold2d(const Array& x, const Shape& size, const Shape& kernel, const Convolution& c) {
  const int64_t wide = places(size[1], kernel[1], 1, c);
  const Shape split = {x.shape[1] / (kernel[0] * kernel[1]), kernel[0], kernel[1]};
  Result result = sums(x.dtype, {x.shape[0], split[0], size[0], size[1]}, [&](const auto& add) {
    for (int64_t p = 0; p < numel(x.shape); p++) {
      const Index index = index_at(x.shape, p), tap = index_at(split, index[1]);
      const int64_t h = c.place(0, index[2] / wide, tap[1]),
                    w = c.place(1, index[2] % wide, tap[2]);
      if (h >= 0 && h < size[0] && w >= 0 && w < size[1])
        add({index[0], tap[0], h, w}, x.values[std::size_t(p)]);
    }
  });
  if (!is_floating(x.dtype))
    for (Real& value : result.array.values) value = wrap(x.dtype, Wide(value));
  return result;
}

}  // namespace wick::reference
