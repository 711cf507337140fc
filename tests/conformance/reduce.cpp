// Reductions and statistics: all dims, one, several, kept or not.
#include <algorithm>
#include <cmath>

#include "reference/reduce.h"
#include "scalar/reduce.h"
#include "shapes.h"
#include "values.h"
#include "wick/abi/ops/reduce.h"
#include "wick/abi/ops/softmax.h"
#include "wick/ops/statistics.h"

namespace wick::conformance {
namespace {

ReduceOptions options_of(const Case& c) {
  return {.dims = Dims(std::span<const int64_t>(c.geometry.dims)), .keepdim = c.geometry.keepdim};
}

reference::Reduction reduction_of(const Case& c) { return {c.geometry.dims, c.geometry.keepdim}; }

const std::vector<Geometry> kGeometries = {
    {{{}}},
    {{{1}}, {0}},
    {{{7}}, {}, true},
    {{{33}}},
    {{{1025}}, {0}},
    {{{3, 11}}},
    {{{3, 11}}, {0}},
    {{{3, 11}}, {-1}, true},
    {{{0, 3}}, {1}},  // nothing comes out
    {{{2, 3, 4, 5}}, {1, 3}},
    {{{2, 3, 4, 5}}, {-4, 2}, true},
    {{{2, 3, 4, 5}}, {0, 1, 2, 3}},
    {{{5, 205}}, {1}},
    {{{205, 5}}, {0}},
    {{{2, 1, 3, 2, 1, 2, 2, 3, 1, 2}}, {0, 3, 5, 7, 9}},
    {{{1, 3, 2, 2, 2, 2, 3, 2, 2, 2}}, {1, 3, 5, 7, 9}},
    {{{17, 1025}}, {1}},
    {{{70000}}},
    {{{7, 100, 100}}, {1}},
    {{{7, 100, 100}}, {0, 2}, true},
    {{{2, 40000}}, {-1}},
    {{{9000, 8}}, {0}},  // columns of several pieces, several side by side
};

Row common(const char* op, const std::vector<DType>& dtypes) {
  Row row;
  row.op = op;
  for (const DType dtype : dtypes) row.dtypes.push_back({dtype});
  row.geometries = kGeometries;
  row.long_geometries = {{{{100003}}}, {{{9001, 11}}, {0}}, {{{11, 9001}}, {1}}};
  row.make = [](std::size_t, const Case& c, Random& random) {
    const Domain domain{-2, 8};
    if (c.values == Values::kSpecial)
      return sprinkled_array(c.dtypes[0], c.geometry.operands[0], domain, random);
    return random_array(c.dtypes[0], c.geometry.operands[0], domain, random);
  };
  row.bench = Geometry{{{1024, 4096}}, {1}};
  return row;
}

/// Nothing to reduce: only where that has a result.
const Geometry kOfNothing[] = {
    {{{0}}}, {{{3, 0}}, {1}}, {{{3, 0, 2}}, {1}, true}, {{{0, 11}}, {0}}};

Row sum_row() {
  Row row = common("sum", kAll);
  row.run = [](std::vector<Tensor> x, const Case& c) { return sum(x[0], options_of(c)); };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::sum(x[0], reduction_of(c));
  };
  row.geometries.insert(row.geometries.end(), std::begin(kOfNothing), std::end(kOfNothing));
  row.tolerance = sums(4);
  row.geometries.push_back({{{9000, 9}}, {0}});  // columns of several parts, which are then summed
  row.differentiable = {0};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{Sum::op, d[0]}};
  };
  return row;
}

Row mean_row() {
  Row row = common("mean", kAll);
  row.run = [](std::vector<Tensor> x, const Case& c) { return mean(x[0], options_of(c)); };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::mean(x[0], reduction_of(c));
  };
  row.geometries.insert(row.geometries.end(), std::begin(kOfNothing), std::end(kOfNothing));
  row.tolerance = sums(4);
  row.differentiable = {0};
  return row;
}

Row max_row() {
  Row row = common("max", kAll);
  row.run = [](std::vector<Tensor> x, const Case& c) { return max(x[0], options_of(c)); };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::max(x[0], reduction_of(c));
  };
  row.tolerance = exact();
  row.differentiable = {0};
  row.grad_domains = {apart(8)};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{Max::op, d[0]}};
  };
  // Every special value, not only the few that sums can carry.
  row.make = [](std::size_t, const Case& c, Random& random) {
    const HostShape& shape = c.geometry.operands[0];
    if (c.values == Values::kRandom) return random_array(c.dtypes[0], shape, {-100, 100}, random);
    return random.below(2) ? special_array(c.dtypes[0], shape, 0, random)
                           : sprinkled_array(c.dtypes[0], shape, {-100, 100}, random);
  };
  return row;
}

using Reduce = Tensor (*)(const Tensor&, const ReduceOptions&);
using ReferenceReduce = Result (*)(const Array&, const reference::Reduction&);

/// A reduction that has a kernel; its dtypes follow from the op's letters.
Row reduction_row(const char* name, const Op& op, Reduce run, ReferenceReduce reference,
                  std::vector<DType> dtypes = kAll) {
  Row row = common(name, dtypes);
  row.run = [run](std::vector<Tensor> x, const Case& c) { return run(x[0], options_of(c)); };
  row.reference = [reference](const std::vector<Array>& x, const Case& c) {
    return reference(x[0], reduction_of(c));
  };
  // The walk is that of sum: the largest sizes need not be all again.
  std::erase_if(row.geometries, [](const Geometry& g) {
    return reference::numel(g.operands[0]) > 20000 && g.operands[0].size() != 2;
  });
  row.kernels = [op](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{op, d[0]}};
  };
  return row;
}

/// Every special value, not only the few that sums can carry.
Array any_value(const Case& c, Random& random) {
  const HostShape& shape = c.geometry.operands[0];
  if (c.values == Values::kRandom) return random_array(c.dtypes[0], shape, {-100, 100}, random);
  return random.below(2) ? special_array(c.dtypes[0], shape, 0, random)
                         : sprinkled_array(c.dtypes[0], shape, {-100, 100}, random);
}

Row extreme_row(const char* name, const Op& op, Reduce run, ReferenceReduce reference) {
  Row row = reduction_row(name, op, run, reference);
  row.make = [](std::size_t, const Case& c, Random& random) { return any_value(c, random); };
  row.differentiable = {0};
  row.grad_domains = {apart(8)};
  row.fused = op == Min::op;
  return row;
}

Row arg_row(const char* name, const Op& op,
            Tensor (*run)(const Tensor&, std::optional<int64_t>, bool), ReferenceReduce reference) {
  Row row = reduction_row(name, op, nullptr, reference);
  row.run = [run](std::vector<Tensor> x, const Case& c) {
    const auto dim = c.geometry.dims.empty() ? std::nullopt : std::optional(c.geometry.dims[0]);
    return run(x[0], dim, c.geometry.keepdim);
  };
  std::erase_if(row.geometries, [](const Geometry& g) { return g.dims.size() > 1; });
  row.geometries.push_back({{{140000}}, {0}});
  row.geometries.push_back({{{9000, 9}}, {0}});
  row.geometries.push_back({{{900, 40}}, {0}});
  row.make = [](std::size_t, const Case& c, Random& random) {
    // Few values, so that many are equal; and all of them.
    if (c.values == Values::kSpecial || random.below(2)) return any_value(c, random);
    return random_array(c.dtypes[0], c.geometry.operands[0], {-2, 3}, random);
  };
  row.fused = true;
  return row;
}

Row truth_row(const char* name, const Op& op, Reduce run, ReferenceReduce reference, Real mostly) {
  Row row = reduction_row(name, op, run, reference);
  row.geometries.insert(row.geometries.end(), std::begin(kOfNothing), std::end(kOfNothing));
  row.make = [mostly](std::size_t, const Case& c, Random& random) {
    Array x = any_value(c, random);
    if (c.values == Values::kSpecial || x.values.empty()) return x;
    // One element decides, or none.
    for (Real& value : x.values) value = mostly;
    if (random.below(2)) x.values[std::size_t(random.below(int64_t(x.values.size())))] = 1 - mostly;
    return x;
  };
  row.fused = true;
  return row;
}

/// Factors around 1 of either sign, so that no product of a few leaves the dtype; of integers odd
/// ones, whose products wrap and never become 0. Small arrays have zeros too.
Array factors(const Case& c, Random& random) {
  const HostShape& shape = c.geometry.operands[0];
  if (c.dtypes[0] == DType::kBool) return random_array(c.dtypes[0], shape, {0, 1}, random);
  Array x = c.values == Values::kSpecial ? sprinkled_array(c.dtypes[0], shape, {-0.1, 0.1}, random)
                                         : random_array(c.dtypes[0], shape, {-0.1, 0.1}, random);
  for (Real& value : x.values) {
    if (!is_floating(x.dtype)) {
      value = Real(2 * random.below(50) + 1);
      continue;
    }
    if (std::isnan(value) || std::isinf(value)) continue;
    if (x.values.size() <= 64 && random.below(8) == 0) {
      value = 0;
      continue;
    }
    value = reference::round_to_format(x.dtype, std::exp(value) * (random.below(2) ? 1 : -1));
  }
  return x;
}

Row prod_row() {
  Row row = reduction_row("prod", Prod::op, prod, reference::prod);
  row.geometries.insert(row.geometries.end(), std::begin(kOfNothing), std::end(kOfNothing));
  // Rounded to f8, factors are not around 1 any more: products of more of them leave f32.
  std::erase_if(row.geometries,
                [](const Geometry& g) { return reference::numel(g.operands[0]) > 20000; });
  row.long_geometries = {{{{9001, 11}}, {0}}, {{{11, 9001}}, {1}}};
  row.make = [](std::size_t, const Case& c, Random& random) { return factors(c, random); };
  row.tolerance = sums(1);
  row.loose = kHoldsInAnyOrder;
  row.differentiable = {0};
  return row;
}

/// A row of an op made of others: fewer sizes do.
Row statistic_row(const char* name,
                  const std::function<Tensor(const Tensor&, const ReduceOptions&)>& run,
                  const std::function<Result(const Array&, const reference::Reduction&)>& reference,
                  Tolerance tolerance) {
  Row row = common(name, kAll);
  row.long_geometries.clear();
  row.run = [run](std::vector<Tensor> x, const Case& c) { return run(x[0], options_of(c)); };
  row.reference = [reference](const std::vector<Array>& x, const Case& c) {
    return reference(x[0], reduction_of(c));
  };
  row.geometries = {{{{}}},
                    {{{1}}, {0}},
                    {{{7}}, {}, true},
                    {{{3, 11}}, {0}},
                    {{{3, 11}}, {-1}, true},
                    {{{2, 3, 4, 5}}, {1, 3}},
                    {{{0, 3}}, {1}},
                    {{{17, 1025}}, {1}},
                    {{{2, 2, 1, 3, 2, 1, 2, 2, 3, 1, 2}}, {1, 4, 6, 8, 10}}};
  row.tolerance = tolerance;
  row.differentiable = {0};
  return row;
}

Row variance_row(const char* name, Tensor (*run)(const Tensor&, const VarOptions&),
                 Result (*reference)(const Array&, const reference::Reduction&, Real),
                 Tolerance tolerance) {
  // One element has a variance of 0 / 0 but with a correction of 0.
  const auto correction = [](const Shape& shape) {
    return numel(shape) == 1 ? 0.0 : shape.size() == 4 ? 2.0 : 1.0;
  };
  Row row = statistic_row(
      name,
      [=](const Tensor& x, const ReduceOptions& options) {
        return run(x, {.dims = options.dims,
                       .correction = correction(x.shape()),
                       .keepdim = options.keepdim});
      },
      [=](const Array& x, const reference::Reduction& reduction) {
        return reference(x, reduction, correction(Shape(std::span<const int64_t>(x.shape))));
      },
      tolerance);
  row.geometries.push_back({{{3, 0}}, {1}});
  return row;
}

Row norm_row(const char* name, double p, Tolerance tolerance) {
  Row row = statistic_row(
      name, [p](const Tensor& x, const ReduceOptions& options) { return norm(x, p, options); },
      [p](const Array& x, const reference::Reduction& reduction) {
        return reference::norm(x, Real(p), reduction);
      },
      tolerance);
  row.grad_domains = {apart(8)};
  return row;
}

Row sum_of_squares_row() {
  // The squares' roundings and those of the sum.
  Row row = statistic_row("sum_of_squares", sum_of_squares, reference::sum_of_squares, sums(5));
  row.loose = kHoldsInAnyOrder;
  row.fused = true;
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{
        {SumOfSquares::op, d[0] == DType::kF64 ? DType::kF64 : DType::kF32}};
  };
  row.geometries.push_back({{{2, 40000}}, {-1}});
  return row;
}

Row logsumexp_row() {
  Row row = statistic_row("logsumexp", logsumexp, reference::logsumexp, sums(4));
  row.fused = true;
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{
        {kLogSumExp, d[0] == DType::kF64 ? DType::kF64 : DType::kF32}};
  };
  return loosely(row, kHoldsOnCards);
}

Row count_nonzero_row() {
  Row row = statistic_row("count_nonzero", count_nonzero, reference::count_nonzero, exact());
  row.make = [](std::size_t, const Case& c, Random& random) {
    return random_array(c.dtypes[0], c.geometry.operands[0], {-1, 1}, random);
  };
  row.differentiable = {};
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"reduce">() {
  std::vector<Row> rows = {
      sum_row(),
      loosely(mean_row(), kHoldsOfItsOp),
      max_row(),
      extreme_row("min", Min::op, min, reference::min),
      extreme_row("amax", Max::op, amax, reference::max),
      extreme_row("amin", Min::op, amin, reference::min),
      prod_row(),
      truth_row("any", Any::op, any, reference::any, 0),
      truth_row("all", All::op, all, reference::all, 1),
      arg_row("argmax", kArgmax, argmax, reference::argmax),
      arg_row("argmin", kArgmin, argmin, reference::argmin),
      variance_row("var", var, reference::var, sums(4)),
      variance_row("stddev", stddev, reference::stddev, sums(4)),
      logsumexp_row(),
      sum_of_squares_row(),
      norm_row("norm", 2, sums(1)),
      norm_row("norm_0", 0, rounded()),
      loosely(norm_row("norm_1", 1, sums(4)), kHoldsOfItsOp),
      norm_row("norm_3", 3, sums(4)),
      norm_row("norm_inf", INFINITY, rounded()),
      norm_row("norm_-inf", -INFINITY, rounded()),
      count_nonzero_row(),
      loosely(statistic_row("nansum", nansum, reference::nansum, sums(4)), kHoldsOfItsOp),
      loosely(statistic_row("nanmean", nanmean, reference::nanmean, sums(4)), kHoldsOfItsOp),
  };
  for (Row& row : rows) row = and_without_dims(std::move(row));
  return rows;
}

}  // namespace wick::conformance
