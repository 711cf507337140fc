// Scans along any dim.
#include "reference/sort.h"

#include <cmath>

#include "shapes.h"
#include "values.h"
#include "wick/abi/ops/scan.h"
#include "wick/ops/scan.h"

namespace wick::conformance {
namespace {

using reference::Want;

Row common(const char* op) {
  Row row;
  row.op = op;
  for (const DType dtype : kAll) row.dtypes.push_back({dtype});
  row.geometries = {{{{1}}, {0}},          {{{7}}, {-1}},
                    {{{0}}, {0}},          {{{3, 0, 2}}, {0}},
                    {{{3, 11}}, {0}},      {{{3, 11}}, {1}},
                    {{{2, 3, 4, 5}}, {1}}, {{{1, 2, 1, 2, 3, 1, 2, 1, 2}}, {4}},
                    {{{1025}}, {0}},       {{{5, 700}}, {1}},
                    {{{700, 5}}, {0}},     {{{600, 9}}, {0}},
                    {{{2, 300, 33}}, {1}}, {{{9000}}, {0}},
                    {{{3, 600}}, {0}}};
  row.long_geometries = {
      {{{100003}}, {0}}, {{{5, 20011}}, {1}}, {{{20011, 5}}, {0}}, {{{2, 4999, 11}}, {1}}};
  row.bench = Geometry{{{1024, 4096}}, {1}};
  return row;
}

Array sprinkled(const Case& c, Domain domain, Random& random) {
  const HostShape& shape = c.geometry.operands[0];
  if (c.values == Values::kRandom) return random_array(c.dtypes[0], shape, domain, random);
  return sprinkled_array(c.dtypes[0], shape, domain, random);
}

std::function<std::vector<KernelQuestion>(const std::vector<DType>&)> asks(const Op& op) {
  return [op](const std::vector<DType>& d) { return std::vector<KernelQuestion>{{op, d[0]}}; };
}

Row cumsum_row() {
  Row row = common("cumsum");
  row.run = [](std::vector<Tensor> x, const Case& c) { return cumsum(x[0], c.geometry.dims[0]); };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::cumsum(x[0], c.geometry.dims[0]);
  };
  row.make = [](std::size_t, const Case& c, Random& random) {
    return sprinkled(c, {-2, 8}, random);
  };
  row.geometries.push_back({{{70000}}, {0}});
  row.geometries.push_back({{{2, 20000}}, {1}});
  row.tolerance = sums(4);
  row.differentiable = {0};
  row.kernels = asks(kCumsum);
  return row;
}

Row cumprod_row() {
  Row row = common("cumprod");
  row.run = [](std::vector<Tensor> x, const Case& c) { return cumprod(x[0], c.geometry.dims[0]); };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::cumprod(x[0], c.geometry.dims[0]);
  };
  row.make = [](std::size_t, const Case& c, Random& random) {
    Array x = sprinkled(c, {-0.1, 0.1}, random);
    for (Real& value : x.values) {
      if (!is_floating(x.dtype)) {
        value = x.dtype == DType::kBool ? value : Real(2 * random.below(50) + 1);
      } else if (!std::isnan(value) && !std::isinf(value)) {
        value = reference::round_to_format(x.dtype, std::exp(value) * (random.below(2) ? 1 : -1));
        if (random.below(x.values.size() <= 64 ? 6 : 2000) == 0) value = 0;
      }
    }
    return x;
  };
  row.tolerance = sums(1);
  row.loose = kHoldsInAnyOrder;
  row.differentiable = {0};
  row.kernels = asks(kCumprod);
  return row;
}

Row extreme_row(const char* name, const Op& op, ValuesIndices (*run)(const Tensor&, int64_t),
                Real sign, Want want) {
  Row row = common(name);
  row.loop = "cumulative extreme";
  row.run = [=](std::vector<Tensor> x, const Case& c) {
    const ValuesIndices y = run(x[0], c.geometry.dims[0]);
    return want == Want::kValues ? y.values : y.indices;
  };
  row.reference = [=](const std::vector<Array>& x, const Case& c) {
    return reference::cumulative_extreme(x[0], c.geometry.dims[0], sign, want);
  };
  row.make = [](std::size_t, const Case& c, Random& random) {
    if (c.values == Values::kSpecial && random.below(2))
      return special_array(c.dtypes[0], c.geometry.operands[0], 0, random);
    return sprinkled(c, {-100, 100}, random);
  };
  if (want == Want::kValues) row.differentiable = {0};
  row.grad_domains = {apart(8)};
  row.kernels = asks(op);
  return row;
}

Row logcumsumexp_row() {
  Row row = common("logcumsumexp");
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return logcumsumexp(x[0], c.geometry.dims[0]);
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::logcumsumexp(x[0], c.geometry.dims[0]);
  };
  row.make = [](std::size_t, const Case& c, Random& random) {
    return sprinkled(c, {-6, 6}, random);
  };
  std::erase_if(row.geometries,
                [](const Geometry& g) { return reference::numel(g.operands[0]) > 2000; });
  row.long_geometries.clear();
  row.tolerance = sums(2, 1);
  row.differentiable = {0};
  row.grad_domains = {{-1, 1}};
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"scan">() {
  std::vector<Row> rows = {cumsum_row(),
                           cumprod_row(),
                           extreme_row("cummax", kCummax, cummax, 1, Want::kValues),
                           extreme_row("cummax_indices", kCummax, cummax, 1, Want::kIndices),
                           extreme_row("cummin", kCummin, cummin, -1, Want::kValues),
                           extreme_row("cummin_indices", kCummin, cummin, -1, Want::kIndices),
                           logcumsumexp_row()};
  for (Row& row : rows) row = and_without_dims(std::move(row));
  return rows;
}

}  // namespace wick::conformance
