#include "contract.h"

#include <algorithm>
#include <map>

#include "sum.h"

namespace wick::reference {

Result einsum(const std::string& equation, const std::vector<Array>& operands) {
  std::vector<std::string> terms(1);
  const std::size_t arrow = equation.find("->");
  for (const char c : equation.substr(0, arrow)) {
    if (c == ',')
      terms.emplace_back();
    else
      terms.back() += c;
  }
  const std::string output = equation.substr(arrow + 2);
  DType dtype = operands[0].dtype;
  std::map<char, int64_t> sizes;
  for (std::size_t i = 0; i < operands.size(); i++) {
    dtype = promote(dtype, operands[i].dtype);
    for (std::size_t d = 0; d < terms[i].size(); d++) {
      int64_t& size = sizes.try_emplace(terms[i][d], 1).first->second;
      if (operands[i].shape[d] != 1) size = operands[i].shape[d];
    }
  }
  if (dtype == DType::kBool) dtype = DType::kI64;
  std::string summed;
  Shape shape, rest;
  for (const char c : output) shape.push_back(sizes.at(c));
  for (const auto& [c, size] : sizes)
    if (output.find(c) == std::string::npos) summed += c, rest.push_back(size);
  Result result{{dtype, shape, {}}, {}, 0};
  build(dtype, shape, [&](const Index& index) {
    Sum sum;
    Wide whole = 0;
    for (int64_t p = 0; p < numel(rest); p++) {
      const Index within = index_at(rest, p);
      Real product = 1;
      Wide integer = 1;
      for (std::size_t i = 0; i < operands.size(); i++) {
        Index at;
        for (std::size_t d = 0; d < terms[i].size(); d++) {
          const std::size_t own = output.find(terms[i][d]);
          const int64_t k =
              own != std::string::npos ? index[own] : within[summed.find(terms[i][d])];
          at.push_back(operands[i].shape[d] == 1 ? 0 : k);
        }
        const Real value = operands[i].values[std::size_t(position(operands[i].shape, at))];
        product *= value;
        if (!is_floating(dtype)) integer = Wide(wrap(dtype, multiply(integer, Wide(value))));
      }
      sum.add(product);
      if (!is_floating(dtype)) whole = Wide(wrap(dtype, whole + integer));
    }
    result.array.values.push_back(is_floating(dtype) ? sum.value() : Real(whole));
    result.magnitude.push_back(sum.serial_magnitude());
    result.terms = std::max(result.terms, sum.terms());
    return Real(0);
  });
  return result;
}

Result kron(const Array& a, const Array& b) {
  Array lhs = a, rhs = b;
  while (lhs.shape.size() < rhs.shape.size()) lhs.shape.insert(lhs.shape.begin(), 1);
  while (rhs.shape.size() < lhs.shape.size()) rhs.shape.insert(rhs.shape.begin(), 1);
  Shape shape = lhs.shape;
  for (std::size_t d = 0; d < shape.size(); d++) shape[d] *= rhs.shape[d];
  DType dtype = promote(a, b);
  if (dtype == DType::kBool) dtype = DType::kI64;
  return {build(dtype, shape,
                [&](const Index& index) {
                  Index of_a = index, of_b = index;
                  for (std::size_t d = 0; d < index.size(); d++) {
                    of_a[d] /= rhs.shape[d];
                    of_b[d] %= rhs.shape[d];
                  }
                  const Real x = lhs.values[std::size_t(position(lhs.shape, of_a))],
                             y = rhs.values[std::size_t(position(rhs.shape, of_b))];
                  return is_floating(dtype) ? rounded_to_odd([&] { return x * y; })
                                            : wrap(dtype, multiply(Wide(x), Wide(y)));
                }),
          {},
          0};
}

Result cross(const Array& a, const Array& b, int64_t dim) {
  const std::size_t d = std::size_t(normalize_dim(dim, a.shape.size()));
  const Shape shape = broadcast(a.shape, b.shape);
  const Array lhs = expand(a, shape), rhs = expand(b, shape);
  Result result{{promote(a.dtype, b.dtype), shape, {}}, {}, 2};
  build(a.dtype, shape, [&](const Index& index) {
    const auto of = [&](const Array& x, int64_t by) {
      Index at = index;
      at[d] = (at[d] + by) % 3;
      return x.values[std::size_t(position(shape, at))];
    };
    const Real plus = of(lhs, 1) * of(rhs, 2), minus = of(lhs, 2) * of(rhs, 1);
    result.array.values.push_back(plus - minus);
    result.magnitude.push_back(std::fabs(plus) + std::fabs(minus));
    return Real(0);
  });
  return result;
}

}  // namespace wick::reference
