#include "reduce.h"

#include <algorithm>

#include "sum.h"

namespace wick::reference {
namespace {

using Group = std::vector<Real>;

/// The elements that become one, of each result.
std::vector<Group> groups_of(const Array& x, const Reduction& reduction, Shape* shape) {
  const std::size_t rank = x.shape.size();
  std::vector<bool> reduced(rank, reduction.dims.empty());
  for (const int64_t dim : reduction.dims) reduced[std::size_t(normalize_dim(dim, rank))] = true;
  Shape kept = x.shape;
  for (std::size_t d = 0; d < rank; d++) {
    if (reduced[d]) kept[d] = 1;
    if (!reduced[d] || reduction.keepdim) shape->push_back(kept[d]);
  }
  std::vector<Group> groups(static_cast<std::size_t>(numel(kept)));
  for (std::size_t p = 0; p < x.values.size(); p++) {
    Index index = index_at(x.shape, int64_t(p));
    for (std::size_t d = 0; d < rank; d++)
      if (reduced[d]) index[d] = 0;
    groups[std::size_t(position(kept, index))].push_back(x.values[p]);
  }
  return groups;
}

/// x in the type that is computed in: integers are rounded to f32 first.
Array computed(const Array& x) { return is_floating(x.dtype) ? x : convert(x, DType::kF32); }

DType accumulator_of(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }
Real accumulator_roundoff(DType dtype) { return unit_roundoff(accumulator_of(dtype)); }

/// How far y = s^(1/p) can be off where powers that underflow take `lost` from s.
Real root_error(Real y, Real p, Real lost) {
  const Real most = std::pow(lost, 1 / p);
  return y > 0 ? std::min(most, lost / (p * std::pow(y, p - 1))) : most;
}

/// The place of the first winner: NaN, else the largest.
std::size_t first_largest(const Group& x, Real sign) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < x.size(); i++) {
    if (std::isnan(x[best])) break;
    if (std::isnan(x[i]) || sign * x[i] > sign * x[best]) best = i;
  }
  return best;
}

Sum sum_of(const Group& x) {
  Sum sum;
  for (const Real value : x) sum.add(value);
  return sum;
}

struct Moments {
  Real var, mean_magnitude;
};
Moments moments_of(const Group& x, Real correction) {
  const Sum total = sum_of(x);
  const Real n = Real(x.size()), mean = total.value() / n;
  Sum squares;
  for (const Real value : x) squares.add((value - mean) * (value - mean));
  const Real divisor = std::max(Real(0), n - correction);
  return {squares.value() / divisor, total.serial_magnitude() / n};
}

Group without_nan(Group x) {
  for (Real& value : x)
    if (std::isnan(value)) value = 0;
  return x;
}

}  // namespace

Result reduce(const Array& x, const Reduction& reduction, DType dtype,
              const std::function<Real(const Group&)>& f) {
  Result result{{dtype, {}, {}}, {}, 0};
  for (const Group& group : groups_of(x, reduction, &result.array.shape)) {
    result.array.values.push_back(f(group));
    result.terms = std::max(result.terms, int64_t(group.size()));
  }
  return result;
}

Result min(const Array& x, const Reduction& reduction) {
  return reduce(x, reduction, x.dtype, [](const Group& g) { return g[first_largest(g, -1)]; });
}

Result prod(const Array& x, const Reduction& reduction) {
  if (!is_floating(x.dtype)) {
    const DType dtype = x.dtype == DType::kU64 ? DType::kU64 : DType::kI64;
    return reduce(x, reduction, dtype, [dtype](const Group& g) {
      Real product = 1;
      for (const Real value : g) product = wrap(dtype, multiply(Wide(product), Wide(value)));
      return product;
    });
  }
  Result result = reduce(x, reduction, x.dtype, [](const Group& g) {
    Real product = 1;
    for (const Real value : g) product *= value;
    return product;
  });
  for (const Real value : result.array.values)
    result.magnitude.push_back(Real(result.terms) * std::fabs(value));
  return result;
}

Result any(const Array& x, const Reduction& reduction) {
  return reduce(x, reduction, DType::kBool, [](const Group& g) {
    return Real(std::any_of(g.begin(), g.end(), [](Real value) { return value != 0; }));
  });
}

Result all(const Array& x, const Reduction& reduction) {
  return reduce(x, reduction, DType::kBool, [](const Group& g) {
    return Real(std::all_of(g.begin(), g.end(), [](Real value) { return value != 0; }));
  });
}

Result argmax(const Array& x, const Reduction& reduction) {
  return reduce(x, reduction, DType::kI64, [](const Group& g) { return first_largest(g, 1); });
}

Result argmin(const Array& x, const Reduction& reduction) {
  return reduce(x, reduction, DType::kI64, [](const Group& g) { return first_largest(g, -1); });
}

Result var(const Array& given, const Reduction& reduction, Real correction) {
  const Array x = computed(given);
  const Real u = accumulator_roundoff(x.dtype);
  std::vector<Real> magnitude;
  Result result = reduce(x, reduction, x.dtype, [&](const Group& g) {
    const Moments m = moments_of(g, correction);
    const Real scale = Real(g.size()) / std::max(Real(1), Real(g.size()) - correction);
    magnitude.push_back(m.var + scale * u * m.mean_magnitude * m.mean_magnitude);
    return m.var;
  });
  result.magnitude = magnitude;
  return result;
}

Result stddev(const Array& given, const Reduction& reduction, Real correction) {
  Result result = var(given, reduction, correction);
  const DType dtype = result.array.dtype;
  const Real u = accumulator_roundoff(dtype), subnormal = smallest_subnormal(accumulator_of(dtype));
  for (std::size_t i = 0; i < result.magnitude.size(); i++) {
    const Real y = std::sqrt(result.array.values[i]), error = result.magnitude[i];
    result.array.values[i] = y;
    // d sqrt(v) = dv / (2 y), and no more than sqrt(dv).
    result.magnitude[i] = y + (y > 0 ? std::min(error / (2 * y), std::sqrt(error / u)) : 0);
    if (y == 0) result.magnitude[i] = std::sqrt(error / u);
    const Real n = Real(result.terms);
    const Real lost = subnormal * n / std::max(Real(1), n - correction);
    result.magnitude[i] += root_error(y, 2, lost) / u;
  }
  return result;
}

Result logsumexp(const Array& given, const Reduction& reduction) {
  const Array x = computed(given);
  std::vector<Real> magnitude;
  Result result = reduce(x, reduction, x.dtype, [&](const Group& g) {
    Real highest = -std::numeric_limits<Real>::infinity();
    for (const Real value : g)
      if (std::isnan(value) || value > highest) highest = std::isnan(highest) ? highest : value;
    const Real shift = std::isfinite(highest) ? highest : 0;
    Sum total, shifts;
    for (const Real value : g) {
      const Real e = std::exp(value - shift);
      total.add(e);
      shifts.add(e == 0 ? 0 : e * std::fabs(value - shift));
    }
    const Real y = std::log(total.value()) + shift;
    magnitude.push_back(1 + std::fabs(y) + std::fabs(shift) + shifts.value() / total.value());
    return y;
  });
  result.magnitude = magnitude;
  return result;
}

Result norm(const Array& given, Real p, const Reduction& reduction) {
  const Array x = computed(given);
  Result result = reduce(x, reduction, x.dtype, [p](const Group& g) {
    Group sizes = g;
    for (Real& value : sizes) value = std::fabs(value);
    if (std::isinf(p)) return sizes[first_largest(sizes, p > 0 ? 1 : -1)];
    if (p == 0) return Real(std::count_if(g.begin(), g.end(), [](Real v) { return v != 0; }));
    for (Real& value : sizes) value = std::pow(value, p);
    return std::pow(sum_of(sizes).value(), 1 / p);
  });
  const bool has_powers = p != 0 && p != 1 && !std::isinf(p);
  const Real lost =
      has_powers ? Real(result.terms) * smallest_subnormal(accumulator_of(x.dtype)) : 0;
  for (const Real y : result.array.values)
    result.magnitude.push_back(
        y + (has_powers ? root_error(y, p, lost) / accumulator_roundoff(x.dtype) : 0));
  return result;
}

Result sum_of_squares(const Array& given, const Reduction& reduction) {
  const Array x = computed(given);
  Result result = reduce(x, reduction, x.dtype, [](const Group& g) {
    Group squares = g;
    for (Real& value : squares) value *= value;
    return sum_of(squares).value();
  });
  const Real lost = Real(result.terms) * smallest_subnormal(accumulator_of(x.dtype));
  for (const Real y : result.array.values)
    result.magnitude.push_back(y + lost / accumulator_roundoff(x.dtype));
  return result;
}

Result count_nonzero(const Array& x, const Reduction& reduction) {
  return reduce(x, reduction, DType::kI64, [](const Group& g) {
    return Real(std::count_if(g.begin(), g.end(), [](Real value) { return value != 0; }));
  });
}

Result nansum(const Array& x, const Reduction& reduction) {
  Array numbers = x;
  numbers.values = without_nan(numbers.values);
  return sum(numbers, reduction);
}

Result nanmean(const Array& given, const Reduction& reduction) {
  const Array x = computed(given);
  std::vector<Real> magnitude;
  Result result = reduce(x, reduction, x.dtype, [&](const Group& g) {
    const Real count = Real(std::count_if(g.begin(), g.end(), [](Real v) { return v == v; }));
    const Sum total = sum_of(without_nan(g));
    magnitude.push_back(total.magnitude() / count);
    return total.value() / count;
  });
  result.magnitude = magnitude;
  return result;
}

}  // namespace wick::reference
