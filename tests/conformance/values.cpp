#include "values.h"

#include <algorithm>
#include <numeric>

#include "wick/base/hash.h"

namespace wick::conformance {
namespace {

using reference::largest;
using reference::lowest;

constexpr Real kInfinity = std::numeric_limits<Real>::infinity();

}  // namespace

uint64_t mix_seed(uint64_t seed, std::string_view text) {
  Fnv1a hash(Fnv1a::kOffset ^ seed * 0x9e3779b97f4a7c15);
  hash.add(text.data(), text.size());
  return hash.value() ^ hash.value() >> 29;
}

Array random_array(DType dtype, const HostShape& shape, Domain domain, Random& random) {
  const Real low = std::max(Real(domain.low), lowest(dtype));
  const Real high = std::min(Real(domain.high), largest(dtype));
  return reference::build(dtype, shape, [&](const Index&) -> Real {
    if (dtype == DType::kBool) return Real(random.bits() & 1);
    const Real x = random.uniform(low, high);
    if (!is_floating(dtype)) return std::floor(x + Real(0.5));
    // Rounding may lead out of the domain: back by one step.
    const Real rounded = reference::round_to_format(dtype, x),
               step = reference::ulp(dtype, rounded);
    return rounded > high ? rounded - step : rounded < low ? rounded + step : rounded;
  });
}

Array array_within(const GradDomain& domain, DType dtype, const HostShape& shape, Random& random) {
  if (domain.apart) {
    const Domain& piece = domain.pieces.front();
    std::vector<Real> places(std::size_t(reference::numel(shape)));
    std::iota(places.begin(), places.end(), Real(0));
    for (std::size_t i = places.size(); i > 1; i--)
      std::swap(places[i - 1], places[std::size_t(random.below(int64_t(i)))]);
    const Real step = (Real(piece.high) - Real(piece.low)) / Real(places.size());
    std::size_t i = 0;
    return reference::build(dtype, shape, [&](const Index&) {
      const Real size = Real(piece.low) + step * (places[i++] + random.uniform(0.25L, 0.75L));
      return reference::round_to_format(dtype, random.below(2) ? size : -size);
    });
  }
  return reference::build(dtype, shape, [&](const Index&) {
    const auto piece = std::size_t(random.below(int64_t(domain.pieces.size())));
    return random_array(dtype, {}, domain.pieces[piece], random).values.front();
  });
}

std::vector<Real> special_values(DType dtype) {
  if (dtype == DType::kBool) return {0, 1};
  std::vector<Real> values;
  if (!is_floating(dtype)) {
    for (const Real x :
         {Real(0), Real(1), Real(2), Real(7), Real(88), Real(127), Real(128), Real(255)}) {
      if (x <= largest(dtype)) values.push_back(x);
      if (x != 0 && -x >= lowest(dtype)) values.push_back(-x);  // integers have no -0
    }
    for (const Real x : {lowest(dtype), lowest(dtype) + 1, largest(dtype) - 1, largest(dtype)}) {
      values.push_back(x);
    }
    // Neighbours of what f32 and f64 hold exactly, and of where narrower integers end.
    for (const int bits : {15, 16, 24, 31, 32, 53}) {
      const Real x = std::ldexp(Real(1), bits);
      for (const Real y : {x - 1, x, x + 1, -x - 1, -x}) {
        if (lowest(dtype) <= y && y <= largest(dtype)) values.push_back(y);
      }
    }
    return values;
  }
  const Real normal = reference::smallest_normal(dtype),
             subnormal = reference::smallest_subnormal(dtype);
  values.push_back(std::numeric_limits<Real>::quiet_NaN());
  for (const Real x : {Real(0), kInfinity, largest(dtype), normal, normal - subnormal, subnormal,
                       Real(0.5), Real(1), Real(3), Real(88), Real(89), Real(104), Real(710)}) {
    const Real y = reference::round_to_format(dtype, x);
    values.push_back(y);
    values.push_back(-y);
  }
  return values;
}

Array special_array(DType dtype, const HostShape& shape, std::size_t operand, Random& random) {
  const std::vector<Real> specials = special_values(dtype);
  const uint64_t first = random.bits() % 1000;
  uint64_t hold = 1;  // elements for which a value stays
  for (std::size_t k = 0; k < operand; k++) hold *= specials.size();
  uint64_t i = 0;
  return reference::build(dtype, shape, [&](const Index&) {
    return specials[std::size_t((first + i++ / hold) % specials.size())];
  });
}

Array sprinkled_array(DType dtype, const HostShape& shape, Domain domain, Random& random) {
  Array x = random_array(dtype, shape, domain, random);
  if (!is_floating(dtype) || x.values.empty()) return x;
  const std::size_t columns = shape.empty() ? 1 : std::size_t(shape.back());
  const Real infinity = reference::round_to_format(dtype, kInfinity);
  for (std::size_t begin = 0; begin < x.values.size(); begin += columns) {
    const auto put = [&](Real value) {
      x.values[begin + std::size_t(random.below(int64_t(columns)))] = value;
    };
    switch (random.below(7)) {
      case 0:
        put(std::numeric_limits<Real>::quiet_NaN());
        break;
      case 1:
        put(infinity);
        break;
      case 2:
        put(-infinity);
        break;
      case 3:
        put(infinity), put(-infinity);
        break;
      case 4:
        put(reference::smallest_subnormal(dtype)), put(-reference::smallest_normal(dtype));
        break;
      case 5:
        std::fill_n(x.values.begin() + std::ptrdiff_t(begin), columns, -Real(0));
        break;
      default:
        break;
    }
  }
  return x;
}

Array random_ids(const HostShape& shape, int64_t limit, Random& random, DType dtype) {
  const int bits = 8 * dtype_size(dtype) - (is_signed(dtype) ? 1 : 0);
  const int64_t there = bits < 63 ? std::min(limit, int64_t(1) << bits) : limit;
  return reference::build(dtype, shape, [&](const Index&) { return Real(random.below(there)); });
}

}  // namespace wick::conformance
