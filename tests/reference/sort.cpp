#include "sort.h"

#include <algorithm>
#include <numeric>

#include "sum.h"

namespace wick::reference {
namespace {

using Line = std::vector<Real>;

/// x with each line along dim replaced by f(line), all of one length.
template <class F>
Array map_lines(const Array& x, int64_t dim, int64_t length, DType dtype, const F& f) {
  const std::size_t d = std::size_t(normalize_dim(dim, x.shape.size()));
  Array result{dtype, x.shape, {}};
  result.shape[d] = length;
  result.values.resize(std::size_t(numel(result.shape)));
  Shape starts = x.shape;
  starts[d] = 1;
  for (int64_t p = 0; p < numel(starts); p++) {
    Index index = index_at(starts, p);
    Line line;
    for (index[d] = 0; index[d] < x.shape[d]; index[d]++)
      line.push_back(x.values[std::size_t(position(x.shape, index))]);
    const Line mapped = f(line);
    for (index[d] = 0; index[d] < length; index[d]++)
      result.values[std::size_t(position(result.shape, index))] = mapped[std::size_t(index[d])];
  }
  return result;
}

template <class F>
Array map_lines(const Array& x, int64_t dim, DType dtype, const F& f) {
  return map_lines(x, dim, x.shape[std::size_t(normalize_dim(dim, x.shape.size()))], dtype, f);
}

Array squeezed(Array x, int64_t dim, bool keepdim) {
  if (!keepdim) x.shape.erase(x.shape.begin() + normalize_dim(dim, x.shape.size()));
  return x;
}

/// One element of each line: f gives its place.
template <class F>
Result choose(const Array& x, int64_t dim, bool keepdim, Want want, const F& f) {
  const DType dtype = want == Want::kValues ? x.dtype : DType::kI64;
  const Array y = map_lines(x, dim, 1, dtype, [&](const Line& line) {
    const std::size_t place = f(line);
    return Line{want == Want::kValues ? line[place] : Real(place)};
  });
  return {squeezed(y, dim, keepdim), {}, 0};
}

DType summed(DType dtype) {
  return is_floating(dtype) || dtype == DType::kU64 ? dtype : DType::kI64;
}

bool before(Real a, Real b) { return a < b || (std::isnan(b) && !std::isnan(a)); }

/// The places of a line in sorted order.
std::vector<std::size_t> order_of(const Line& line, bool descending) {
  std::vector<std::size_t> order(line.size());
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return descending ? before(line[b], line[a]) : before(line[a], line[b]);
  });
  return order;
}

}  // namespace

Result cumsum(const Array& x, int64_t dim) {
  const DType dtype = summed(x.dtype);
  if (!is_floating(dtype)) {
    return {map_lines(x, dim, dtype,
                      [&](Line line) {
                        Wide total = 0;
                        for (Real& value : line) value = wrap(dtype, total += Wide(value));
                        return line;
                      }),
            {},
            0};
  }
  const auto scan = [&](bool magnitudes) {
    return map_lines(x, dim, dtype, [&](Line line) {
      Sum total;
      for (Real& value : line) {
        total.add(value);
        value = magnitudes ? total.magnitude() : total.value();
      }
      return line;
    });
  };
  return {scan(false), scan(true).values, 0};
}

Result cumprod(const Array& x, int64_t dim) {
  const DType dtype = summed(x.dtype);
  const Array y = map_lines(x, dim, dtype, [&](Line line) {
    Real total = 1;
    for (Real& value : line)
      value = total =
          is_floating(dtype) ? total * value : wrap(dtype, multiply(Wide(total), Wide(value)));
    return line;
  });
  Result result{y, {}, 0};
  if (is_floating(dtype)) {
    const int64_t n = x.shape[std::size_t(normalize_dim(dim, x.shape.size()))];
    result.terms = n;
    for (const Real value : y.values) result.magnitude.push_back(Real(n) * std::fabs(value));
  }
  return result;
}

Result cumulative_extreme(const Array& x, int64_t dim, Real sign, Want want) {
  const DType dtype = want == Want::kValues ? x.dtype : DType::kI64;
  return {map_lines(x, dim, dtype,
                    [&](const Line& line) {
                      Line result;
                      std::size_t best = 0;
                      for (std::size_t i = 0; i < line.size(); i++) {
                        if (std::isnan(line[i]) || sign * line[i] >= sign * line[best]) best = i;
                        result.push_back(want == Want::kValues ? line[best] : Real(best));
                      }
                      return result;
                    }),
          {},
          0};
}

Result logcumsumexp(const Array& given, int64_t dim) {
  const Array x = is_floating(given.dtype) ? given : convert(given, DType::kF32);
  const Array y = map_lines(x, dim, x.dtype, [](const Line& line) {
    Line result;
    // The sum in units of e^shift, which goes up with the largest.
    Real total = 0, shift = 0;
    bool is_first = true;
    for (const Real value : line) {
      if (std::isfinite(value) && (is_first || value > shift)) {
        total = is_first ? total : total * std::exp(shift - value);
        shift = value;
        is_first = false;
      }
      total += std::exp(value - shift);
      result.push_back(std::log(total) + shift);
    }
    return result;
  });
  Result result{y, {}, x.shape[std::size_t(normalize_dim(dim, x.shape.size()))]};
  // What is large and negative may have come of intermediate results up to the largest |x|.
  Real largest = 0;
  for (const Real value : x.values)
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  result.magnitude.assign(y.values.size(), 1 + largest);
  return result;
}

Result sort(const Array& x, int64_t dim, int64_t k, bool descending, Want want) {
  const DType dtype = want == Want::kValues ? x.dtype : DType::kI64;
  return {map_lines(x, dim, k, dtype,
                    [&](const Line& line) {
                      Line result;
                      for (const std::size_t place : order_of(line, descending))
                        result.push_back(want == Want::kValues ? line[place] : Real(place));
                      return result;
                    }),
          {},
          0};
}

Result kthvalue(const Array& x, int64_t k, int64_t dim, bool keepdim, Want want) {
  return choose(x, dim, keepdim, want,
                [k](const Line& line) { return order_of(line, false)[std::size_t(k - 1)]; });
}

Result median(const Array& x, int64_t dim, bool keepdim, Want want) {
  return choose(x, dim, keepdim, want, [](const Line& line) {
    for (std::size_t i = 0; i < line.size(); i++)
      if (std::isnan(line[i])) return i;
    return order_of(line, false)[(line.size() - 1) / 2];
  });
}

Result mode(const Array& x, int64_t dim, bool keepdim, Want want) {
  return choose(x, dim, keepdim, want, [](const Line& line) {
    std::size_t best = 0, most = 0;
    for (const std::size_t i : order_of(line, false)) {
      std::size_t count = 0, last = i;
      for (std::size_t j = 0; j < line.size(); j++) {
        if (line[j] != line[i] && !(std::isnan(line[j]) && std::isnan(line[i]))) continue;
        count++;
        last = j;
      }
      if (count > most) best = last, most = count;
    }
    return best;
  });
}

Result quantile(const Array& given, Real q, int64_t dim, bool keepdim) {
  const Array x = is_floating(given.dtype) ? given : convert(given, DType::kF32);
  std::vector<Real> magnitude;
  const Array y = map_lines(x, dim, 1, x.dtype, [&](const Line& line) {
    const auto order = order_of(line, false);
    const Real place = q * Real(line.size() - 1), below = std::floor(place);
    const Real low = line[order[std::size_t(below)]];
    const Real high = line[order[std::min(line.size() - 1, std::size_t(below) + 1)]];
    const Real last = line[order.back()];
    if (std::isnan(last)) return Line{last};
    return Line{place == below || low == high ? low : low + (high - low) * (place - below)};
  });
  map_lines(x, dim, 1, x.dtype, [&](const Line& line) {
    Real largest = 0;
    for (const Real value : line) largest = std::max(largest, std::fabs(value));
    magnitude.push_back(largest);
    return Line{0};
  });
  return {squeezed(y, dim, keepdim), magnitude, 0};
}

Result nonzero(const Array& x) {
  Array result{DType::kI64, {0, int64_t(x.shape.size())}, {}};
  for (std::size_t p = 0; p < x.values.size(); p++) {
    if (x.values[p] == 0) continue;
    result.shape[0]++;
    for (const int64_t i : index_at(x.shape, int64_t(p))) result.values.push_back(Real(i));
  }
  return {result, {}, 0};
}

Result masked_select(const Array& x, const Array& mask) {
  const Shape shape = broadcast(x.shape, mask.shape);
  const Array values = expand(x, shape), chosen = expand(mask, shape);
  Array result{x.dtype, {0}, {}};
  for (std::size_t p = 0; p < values.values.size(); p++)
    if (chosen.values[p] != 0) result.values.push_back(values.values[p]);
  result.shape[0] = int64_t(result.values.size());
  return {result, {}, 0};
}

Result searchsorted(const Array& sorted, const Array& values, bool right) {
  const int64_t n = sorted.shape.back();
  const int64_t m = sorted.shape.size() == 1 ? numel(values.shape) : values.shape.back();
  Array result{DType::kI64, values.shape, {}};
  for (int64_t p = 0; p < numel(values.shape); p++) {
    const Real value = values.values[std::size_t(p)];
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
      const Real x = sorted.values[std::size_t(p / m * n + i)];
      count += right ? !before(value, x) : before(x, value);
    }
    result.values.push_back(Real(count));
  }
  return {result, {}, 0};
}

Result bincount(const Array& x, const Array* weights, int64_t minlength) {
  int64_t length = minlength;
  for (const Real value : x.values) length = std::max(length, int64_t(value) + 1);
  std::vector<Sum> sums(static_cast<std::size_t>(length));
  for (std::size_t i = 0; i < x.values.size(); i++)
    sums[std::size_t(x.values[i])].add(weights ? weights->values[i] : 1);
  Result result{{weights ? weights->dtype : DType::kI64, {length}, {}}, {}, 0};
  for (const Sum& sum : sums) {
    result.array.values.push_back(sum.value());
    // Added up in f64 one by one, whatever the weights are.
    const Real terms = result.array.dtype == DType::kF64 ? Real(sum.terms()) : 1;
    result.magnitude.push_back(terms * sum.magnitude());
  }
  if (!is_floating(result.array.dtype)) {
    for (Real& value : result.array.values) value = wrap(result.array.dtype, Wide(value));
  }
  return result;
}

Result histc(const Array& x, int64_t bins, Real low, Real high) {
  Array result{x.dtype, {bins}, Line(std::size_t(bins), 0)};
  for (const Real value : x.values) {
    if (!(low <= value && value <= high)) continue;
    const int64_t bin = int64_t(std::floor((value - low) * Real(bins) / (high - low)));
    result.values[std::size_t(std::min(bin, bins - 1))] += 1;
  }
  return {result, {}, 0};
}

}  // namespace wick::reference
