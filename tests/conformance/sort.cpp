// Sorting and what is made of it, along any dim. Geometry::dims: the dim, then k or 1000 q; keepdim
// is `descending` where dims stay anyway.
#include <algorithm>

#include "reference/sort.h"
#include "shapes.h"
#include "values.h"
#include "wick/abi/ops/sort.h"
#include "wick/ops/sort.h"

namespace wick::conformance {
namespace {

using reference::Want;

int64_t size_of(const Case& c) {
  const HostShape& shape = c.geometry.operands[0];
  return shape[std::size_t(reference::normalize_dim(c.geometry.dims[0], shape.size()))];
}

Row common(const char* op) {
  Row row;
  row.op = op;
  for (const DType dtype : kAll) row.dtypes.push_back({dtype});
  row.make = [](std::size_t, const Case& c, Random& random) {
    const HostShape& shape = c.geometry.operands[0];
    if (c.values == Values::kSpecial && random.below(2))
      return special_array(c.dtypes[0], shape, 0, random);
    // Few values, so that many are equal, or many.
    const Domain domain = random.below(2) ? Domain{-3, 3} : Domain{-1000, 1000};
    return c.values == Values::kSpecial ? sprinkled_array(c.dtypes[0], shape, domain, random)
                                        : random_array(c.dtypes[0], shape, domain, random);
  };
  return row;
}

Tensor wanted(const ValuesIndices& y, Want want) {
  return want == Want::kValues ? y.values : y.indices;
}

std::function<std::vector<KernelQuestion>(const std::vector<DType>&)> asks(const Op& op) {
  return [op](const std::vector<DType>& d) { return std::vector<KernelQuestion>{{op, d[0]}}; };
}

Row sort_row(const char* name, Want want) {
  Row row = common(name);
  row.loop = "sort";
  row.run = [want](std::vector<Tensor> x, const Case& c) {
    const SortOptions options{.descending = c.geometry.keepdim};
    return want == Want::kValues ? sort(x[0], c.geometry.dims[0], options).values
                                 : argsort(x[0], c.geometry.dims[0], options);
  };
  row.reference = [want](const std::vector<Array>& x, const Case& c) {
    return reference::sort(x[0], c.geometry.dims[0], size_of(c), c.geometry.keepdim, want);
  };
  row.geometries = {{{{1}}, {0}},
                    {{{0}}, {0}},
                    {{{3, 0}}, {1}},
                    {{{0, 3}}, {1}, true},
                    {{{7}}, {-1}, true},
                    {{{3, 11}}, {0}},
                    {{{3, 11}}, {1}, true},
                    {{{2, 3, 4, 5}}, {2}, true},
                    {{{2, 1, 2, 1, 3, 2, 1, 2, 2}}, {4}},
                    {{{129}}, {0}},
                    {{{4, 300}}, {1}},
                    {{{300, 4}}, {0}, true},
                    {{{3, 1025}}, {-1}},
                    {{{70000}}, {0}},
                    {{{66000}}, {0}, true}};
  row.long_geometries = {
      {{{100003}}, {0}}, {{{70001, 2}}, {0}, true}, {{{2, 98323}}, {1}}, {{{11, 9001}}, {1}, true}};
  row.bench = Geometry{{{256, 4096}}, {1}};
  row.kernels = asks(kSort);
  if (want == Want::kValues) row.differentiable = {0};
  row.grad_domains = {apart(8)};
  return row;
}

Row topk_row(const char* name, Want want) {
  Row row = common(name);
  row.loop = "topk";
  row.run = [want](std::vector<Tensor> x, const Case& c) {
    return wanted(
        topk(x[0], c.geometry.dims[1], c.geometry.dims[0], {.largest = c.geometry.keepdim}), want);
  };
  row.reference = [want](const std::vector<Array>& x, const Case& c) {
    return reference::sort(x[0], c.geometry.dims[0], c.geometry.dims[1], c.geometry.keepdim, want);
  };
  row.geometries = {{{{1}}, {0, 1}, true},
                    {{{7}}, {0, 0}},
                    {{{0}}, {0, 0}, true},
                    {{{7}}, {0, 3}, true},
                    {{{3, 11}}, {0, 2}},
                    {{{3, 11}}, {1, 11}, true},
                    {{{2, 3, 4, 5}}, {-2, 3}, true},
                    {{{5, 600}}, {1, 4}, true},
                    {{{5, 600}}, {1, 500}},
                    {{{2, 4000}}, {1, 10}},
                    {{{2, 9000}}, {1, 1500}, true},
                    {{{4000, 2}}, {0, 1}, true}};
  row.long_geometries = {{{{7, 14411}}, {1, 50}, true}, {{{2, 98323}}, {1, 90001}}};
  row.bench = Geometry{{{16, 32000}}, {1, 50}, true};
  row.kernels = asks(kTopk);
  if (want == Want::kValues) row.differentiable = {0};
  row.grad_domains = {apart(8)};
  return row;
}

/// A row of an op that chooses one element of each line.
Row chosen_row(const char* name,
               const std::function<ValuesIndices(const Tensor&, int64_t, int64_t, bool)>& run,
               const std::function<Result(const Array&, int64_t, int64_t, bool, Want)>& reference,
               Want want) {
  Row row = common(name);
  row.loop = row.op.substr(0, row.op.find('_'));
  row.run = [=](std::vector<Tensor> x, const Case& c) {
    return wanted(run(x[0], c.geometry.dims[1], c.geometry.dims[0], c.geometry.keepdim), want);
  };
  row.reference = [=](const std::vector<Array>& x, const Case& c) {
    return reference(x[0], c.geometry.dims[1], c.geometry.dims[0], c.geometry.keepdim, want);
  };
  row.geometries = {{{{1}}, {0, 1}},          {{{7}}, {0, 5}, true},     {{{8}}, {0, 8}},
                    {{{3, 11}}, {0, 2}},      {{{3, 10}}, {1, 1}, true}, {{{0, 3}}, {1, 1}},
                    {{{2, 3, 4, 5}}, {1, 3}}, {{{40, 60}}, {-1, 30}},    {{{3, 601}}, {1, 599}}};
  if (want == Want::kValues) row.differentiable = {0};
  row.grad_domains = {apart(8)};
  return row;
}

Row quantile_row() {
  Row row = common("quantile");
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return quantile(x[0], double(c.geometry.dims[1]) / 1000, c.geometry.dims[0],
                    c.geometry.keepdim);
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::quantile(x[0], Real(double(c.geometry.dims[1]) / 1000), c.geometry.dims[0],
                               c.geometry.keepdim);
  };
  row.make = [](std::size_t, const Case& c, Random& random) {
    const HostShape& shape = c.geometry.operands[0];
    return c.values == Values::kSpecial ? sprinkled_array(c.dtypes[0], shape, {-100, 100}, random)
                                        : random_array(c.dtypes[0], shape, {-100, 100}, random);
  };
  // Places that binary fractions say exactly.
  row.geometries = {{{{1}}, {0, 500}},          {{{7}}, {0, 0}, true},       {{{8}}, {0, 1000}},
                    {{{3, 11}}, {0, 250}},      {{{3, 10}}, {1, 125}, true}, {{{0, 3}}, {1, 500}},
                    {{{2, 3, 4, 5}}, {1, 375}}, {{{3, 602}}, {1, 750}}};
  row.tolerance = sums(2.5);
  row.differentiable = {0};
  row.grad_domains = {apart(8)};
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"sort">() {
  std::vector<Row> rows = {
      and_without_dims(sort_row("sort", Want::kValues)),
      and_without_dims(sort_row("argsort", Want::kIndices)),
      and_without_dims(topk_row("topk", Want::kValues), {1}),
      and_without_dims(topk_row("topk_indices", Want::kIndices), {1}),
      and_without_dims(quantile_row(), {500}),
  };
  std::vector<Row> chosen;
  for (const Want want : {Want::kValues, Want::kIndices}) {
    const std::string suffix = want == Want::kValues ? "" : "_indices";
    chosen.push_back(
        chosen_row(("kthvalue" + suffix).c_str(),
                   [](const Tensor& x, int64_t k, int64_t dim, bool keepdim) {
                     return kthvalue(x, k, dim, keepdim);
                   },
                   [](const Array& x, int64_t k, int64_t dim, bool keepdim, Want want) {
                     return reference::kthvalue(x, k, dim, keepdim, want);
                   },
                   want));
    chosen.push_back(chosen_row(
        ("median" + suffix).c_str(),
        [](const Tensor& x, int64_t, int64_t dim, bool keepdim) { return median(x, dim, keepdim); },
        [](const Array& x, int64_t, int64_t dim, bool keepdim, Want want) {
          return reference::median(x, dim, keepdim, want);
        },
        want));
    chosen.push_back(chosen_row(
        ("mode" + suffix).c_str(),
        [](const Tensor& x, int64_t, int64_t dim, bool keepdim) { return mode(x, dim, keepdim); },
        [](const Array& x, int64_t, int64_t dim, bool keepdim, Want want) {
          return reference::mode(x, dim, keepdim, want);
        },
        want));
  }
  for (Row& row : chosen) rows.push_back(and_without_dims(std::move(row), {1}));
  return rows;
}

}  // namespace wick::conformance
