// cast, every pair of dtypes, and the copy that changes none.
#include <algorithm>

#include "shapes.h"
#include "values.h"
#include "wick/abi/ops/cast.h"
#include "wick/ops/cast.h"

namespace wick::conformance {
namespace {

/// Adds x and its neighbours among `from`'s values, of either sign, as far as `from` holds them.
void add_around(std::vector<Real>& values, DType from, Real x) {
  for (const Real sign : {Real(1), Real(-1)}) {
    const Real step = is_floating(from) ? reference::ulp(from, x) : 1;
    for (const Real y : {x - step, x, x + step}) {
      const Real rounded = is_floating(from) ? reference::round_to_format(from, sign * y)
                                             : std::nearbyint(sign * y) + 0;  // no -0
      if (reference::lowest(from) <= rounded && rounded <= reference::largest(from))
        values.push_back(rounded);
    }
  }
}

/// What `from` has of special values, and of values between two neighbours of `to`: ties, and what
/// lies by a hair beside them.
std::vector<Real> hard_values(DType from, DType to) {
  std::vector<Real> values = special_values(from);
  if (from == DType::kBool || to == DType::kBool) return values;
  if (!is_floating(to)) {
    for (const Real half :
         {Real(-1.5), Real(-1), Real(-0.5), Real(0), Real(0.5), Real(1), Real(2)}) {
      add_around(values, from, reference::largest(to) + half);
      add_around(values, from, reference::lowest(to) + half);
    }
    return values;
  }
  const Real tiny = reference::smallest_subnormal(to), large = reference::largest(to);
  for (const Real x : {tiny / 4, tiny / 2, tiny, tiny * 3 / 2, tiny * 5 / 2,
                       reference::smallest_normal(to) - tiny / 2, large,
                       large + reference::ulp(to, large) / 2, large + reference::ulp(to, large)}) {
    add_around(values, from, x);
  }
  for (const int exponent : {0, 5, 10, 16, 30, 50, 62}) {
    const Real low = std::ldexp(Real(1), exponent), ulp = reference::ulp(to, low);
    for (const Real x : {low, low + ulp / 2, low + ulp, low + ulp * 3 / 2})
      add_around(values, from, x);
  }
  return values;
}

Array hard_array(const Case& c, Random& random) {
  const std::vector<Real> values = hard_values(c.dtypes[0], c.dtypes[1]);
  std::size_t i = std::size_t(random.below(int64_t(values.size())));
  return reference::build(c.dtypes[0], c.geometry.operands[0],
                          [&](const Index&) { return values[i++ % values.size()]; });
}

Row cast_row() {
  Row row;
  row.op = "cast";
  row.run = [](std::vector<Tensor> x, const Case& c) { return cast(x[0], c.dtypes[1]); };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return Result{reference::convert(x[0], c.dtypes[1]), {}, 0};
  };
  row.make = [](std::size_t, const Case& c, Random& random) {
    if (c.values == Values::kSpecial) return hard_array(c, random);
    return random_array(c.dtypes[0], c.geometry.operands[0], {-1000, 1000}, random);
  };
  for (const DType from : kStored) {
    for (const DType to : kStored) row.dtypes.push_back({from, to});
  }
  row.geometries = one_operand();
  row.geometries.push_back({{{33, 5, 7}}});
  row.elementwise = true;
  row.signed_zero = true;
  row.bench = Geometry{{{1 << 22}}};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kCast, d[0], d[1]}};
  };
  return row;
}

/// To f32 and back: of values that f32 holds as it holds those beside them that differences take.
Row narrowing_row() {
  Row row;
  row.op = "cast to f32 and back";
  row.run = [](std::vector<Tensor> x, const Case&) {
    return cast(cast(x[0], DType::kF32), DType::kF64);
  };
  row.reference = [](const std::vector<Array>& x, const Case&) {
    return Result{reference::convert(reference::convert(x[0], DType::kF32), DType::kF64), {}, 0};
  };
  row.make = [](std::size_t, const Case& c, Random& random) {
    Array x = random_array(DType::kF16, c.geometry.operands[0], {-3, 3}, random);
    x.dtype = DType::kF64;
    return x;
  };
  row.dtypes = {{DType::kF64}};
  row.geometries = {{{{0}}}, {{{}}}, {{{7}}}, {{{3, 11}}}};
  row.special = false;
  row.differentiable = {0};
  return row;
}

Row contiguous_row() {
  Row row;
  row.op = "contiguous";
  row.run = [](std::vector<Tensor> x, const Case&) { return x[0].contiguous(); };
  row.reference = [](const std::vector<Array>& x, const Case&) { return Result{x[0], {}, 0}; };
  for (const DType dtype : kStored) row.dtypes.push_back({dtype});
  row.geometries = one_operand();
  row.geometries.push_back({{{2, 1, 3, 2, 1, 2, 2, 3, 1, 2}}});
  row.elementwise = true;
  row.signed_zero = true;
  row.differentiable = {0};
  row.bench = Geometry{{{1 << 22}}};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kCast, d[0], d[0]}};
  };
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"cast">() {
  return {cast_row(), narrowing_row(), contiguous_row()};
}

}  // namespace wick::conformance
