// Where elements are, and how often.
#include <algorithm>
#include <cmath>

#include "reference/sort.h"
#include "scalar/unary.h"
#include "shapes.h"
#include "values.h"
#include "wick/abi/ops/gather.h"
#include "wick/abi/ops/search.h"
#include "wick/ops/search.h"

namespace wick::conformance {
namespace {

/// Values of which some are 0.
Array with_zeros(const Case& c, std::size_t operand, Random& random) {
  const HostShape& shape = c.geometry.operands[operand];
  const DType dtype = c.dtypes[std::min(operand, c.dtypes.size() - 1)];
  if (c.values == Values::kSpecial) return special_array(dtype, shape, operand, random);
  Array x = random_array(dtype, shape, {-5, 5}, random);
  const int64_t every = 1 + random.below(9);
  for (Real& value : x.values)
    if (random.below(every)) value = 0;
  return x;
}

Row nonzero_row() {
  Row row;
  row.op = "nonzero";
  for (const DType dtype : kAll) row.dtypes.push_back({dtype});
  row.run = [](std::vector<Tensor> x, const Case&) { return nonzero(x[0]); };
  row.reference = [](const std::vector<Array>& x, const Case&) { return reference::nonzero(x[0]); };
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    return with_zeros(c, operand, random);
  };
  row.long_geometries = {{{{100003}}}, {{{101, 991}}}};
  row.geometries = one_operand();
  row.kernels = [](const std::vector<DType>&) {
    return std::vector<KernelQuestion>{{kNonzero, DType::kBool}};
  };
  return row;
}

Row masked_select_row() {
  Row row;
  row.op = "masked_select";
  for (const DType dtype : kAll) row.dtypes.push_back({dtype, DType::kBool});
  row.run = [](std::vector<Tensor> x, const Case&) { return masked_select(x[0], x[1]); };
  row.reference = [](const std::vector<Array>& x, const Case&) {
    return reference::masked_select(x[0], x[1]);
  };
  row.geometries = {{{{}, {}}},           {{{7}, {7}}},          {{{0}, {0}}},
                    {{{3, 11}, {3, 11}}}, {{{3, 11}, {11}}},     {{{3, 1}, {1, 11}}},
                    {{{5}, {}}},          {{{2, 3, 4}, {3, 1}}}, {{{9, 70}, {9, 70}}}};
  row.long_geometries = {{{{100003}, {100003}}}};
  row.differentiable = {0};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kNonzero, DType::kBool}, {kGather, d[0]}};
  };
  return row;
}

bool comes_before(Real a, Real b) { return a < b || (std::isnan(b) && !std::isnan(a)); }

/// Operand `sorted` ascending along its last dim; geometry.keepdim: to the right of equals.
Row search_row(const char* name, std::size_t sorted) {
  Row row;
  row.op = name;
  for (const DType dtype : kAll) row.dtypes.push_back({dtype, dtype});
  row.run = [sorted](std::vector<Tensor> x, const Case& c) {
    const SearchOptions options{.right = c.geometry.keepdim};
    return sorted == 0 ? searchsorted(x[0], x[1], options) : bucketize(x[0], x[1], options);
  };
  row.reference = [sorted](const std::vector<Array>& x, const Case& c) {
    return reference::searchsorted(x[sorted], x[1 - sorted], c.geometry.keepdim);
  };
  row.make = [sorted](std::size_t operand, const Case& c, Random& random) {
    const HostShape& shape = c.geometry.operands[operand];
    Array x = c.values == Values::kSpecial ? special_array(c.dtypes[0], shape, 0, random)
                                           : random_array(c.dtypes[0], shape, {-20, 20}, random);
    const std::ptrdiff_t columns = shape.empty() ? 1 : std::ptrdiff_t(shape.back());
    if (operand == sorted && columns > 0)
      for (auto line = x.values.begin(); line != x.values.end(); line += columns)
        std::sort(line, line + columns, comes_before);
    return x;
  };
  row.geometries = {{{{1}, {1}}},
                    {{{7}, {5}}},
                    {{{7}, {}}},
                    {{{0}, {3}}},
                    {{{7}, {0}}},
                    {{{33}, {3, 4, 5}}, {}, true},
                    {{{7}, {2, 3}}, {}, true},
                    {{{1025}, {300}}}};
  row.long_geometries = {{{{1021}, {100003}}}, {{{9973}, {10007}}, {}, true}};
  if (sorted == 0) {
    row.geometries.push_back({{{3, 11}, {3, 5}}, {}, true});
    row.geometries.push_back({{{2, 3, 40}, {2, 3, 7}}});
    row.geometries.push_back({{{3, 0}, {3, 2}}});
    row.geometries.push_back({{{2, 1, 2, 9}, {2, 1, 2, 4}}});
  } else {
    for (auto* list : {&row.geometries, &row.long_geometries})
      for (Geometry& g : *list) std::swap(g.operands[0], g.operands[1]);
  }
  row.bench = Geometry{{{4096}, {100000}}};
  if (sorted == 1) std::swap(row.bench->operands[0], row.bench->operands[1]);
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kSearchSorted, d[0]}};
  };
  return row;
}

Row bincount_row(const char* name, bool weighted) {
  Row row;
  row.op = name;
  for (const DType dtype : weighted ? kNumeric : joined({DType::kBool}, kIntegers)) {
    if (weighted)
      row.dtypes.push_back({DType::kI64, dtype});
    else
      row.dtypes.push_back({dtype});
  }
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return bincount(x[0], x.size() > 1 ? x[1] : Tensor(), c.geometry.dims[0]);
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::bincount(x[0], x.size() > 1 ? &x[1] : nullptr, c.geometry.dims[0]);
  };
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    const HostShape& shape = c.geometry.operands[operand];
    if (operand == 0) return random_array(c.dtypes[0], shape, {0, 12}, random);
    return c.values == Values::kSpecial ? sprinkled_array(c.dtypes[1], shape, {-4, 4}, random)
                                        : random_array(c.dtypes[1], shape, {-4, 4}, random);
  };
  for (const int64_t n : {0, 1, 7, 33, 1025})
    for (const int64_t minlength : {0, 5, 40})
      row.geometries.push_back(
          {weighted ? std::vector<HostShape>{{n}, {n}} : std::vector<HostShape>{{n}}, {minlength}});
  row.long_geometries = {
      {weighted ? std::vector<HostShape>{{100003}, {100003}} : std::vector<HostShape>{{100003}},
       {5}}};
  row.tolerance = weighted ? sums(0.25) : exact();
  row.unordered = weighted;
  row.kernels = [weighted](const std::vector<DType>& d) {
    const DType added = !weighted ? DType::kI64 : is_floating(d[1]) ? DType::kF64 : d[1];
    return std::vector<KernelQuestion>{{kScatterAdd, added}};
  };
  return row;
}

/// 16 parts of [0, 8]: their ends, and what is scaled to find them, are exact.
Row histc_row() {
  Row row;
  row.op = "histc";
  for (const DType dtype : kFloats) row.dtypes.push_back({dtype});
  row.run = [](std::vector<Tensor> x, const Case&) { return histc(x[0], 16, 0, 8); };
  row.reference = [](const std::vector<Array>& x, const Case&) {
    return reference::histc(x[0], 16, 0, 8);
  };
  row.domain = {-2, 10};
  row.geometries = one_operand();
  std::erase_if(row.geometries,
                [](const Geometry& g) { return reference::numel(g.operands[0]) > 5000; });
  row.tolerance = rounded();
  row.kernels = [](const std::vector<DType>&) {
    return std::vector<KernelQuestion>{{kScatterAdd, DType::kI64}, {Floor::op, DType::kF32}};
  };
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"search">() {
  return {nonzero_row(),
          masked_select_row(),
          search_row("searchsorted", 0),
          search_row("bucketize", 1),
          bincount_row("bincount", false),
          bincount_row("bincount_weights", true),
          histc_row()};
}

}  // namespace wick::conformance
