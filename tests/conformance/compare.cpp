// Questions with yes and no for an answer: comparisons, and what a number is.
#include "scalar/compare.h"

#include "elementwise.h"
#include "wick/abi/ops/create.h"
#include "wick/ops/compare.h"

namespace wick::conformance {
namespace {

struct Comparison {
  Op id;
  Tensor (*function)(const Tensor&, const Tensor&);
  bool (*holds)(Real a, Real b);
};

const std::vector<Comparison> kComparisons = {
    {Eq::op, eq, [](Real a, Real b) { return a == b; }},
    {Ne::op, ne, [](Real a, Real b) { return a != b; }},
    {Lt::op, lt, [](Real a, Real b) { return a < b; }},
    {Le::op, le, [](Real a, Real b) { return a <= b; }},
    {Gt::op, gt, [](Real a, Real b) { return a > b; }},
    {Ge::op, ge, [](Real a, Real b) { return a >= b; }},
};

Row row_of(const Comparison& comparison) {
  Row row;
  row.op = comparison.id.name;
  row.run = [f = comparison.function](std::vector<Tensor> x, const Case&) { return f(x[0], x[1]); };
  row.reference = [holds = comparison.holds](const std::vector<Array>& x, const Case&) {
    const DType dtype = reference::promote(x[0], x[1]);
    const HostShape shape = reference::broadcast(x[0].shape, x[1].shape);
    const Array a = reference::expand(reference::convert(x[0], dtype), shape);
    const Array b = reference::expand(reference::convert(x[1], dtype), shape);
    Result result{{DType::kBool, shape, {}}, {}, 0};
    for (std::size_t i = 0; i < a.values.size(); i++) {
      result.array.values.push_back(holds(a.values[i], b.values[i]));
    }
    return result;
  };
  row.loop = "comparison";
  for (const DType dtype : kAll) row.dtypes.push_back({dtype, dtype});
  for (const auto& [lhs, rhs] : kMixed) row.dtypes.push_back({lhs, rhs});
  row.geometries = two_operands();
  row.domain = {-4, 4};  // of integers and narrow floats many are equal
  row.elementwise = true;
  row.bench = Geometry{{{1 << 22}, {1 << 22}}};
  row.kernels = [id = comparison.id](const std::vector<DType>& d) {
    DType dtype = reference::promote(d[0], d[1]);
    if (dtype == DType::kBool && id != Eq::op && id != Ne::op) dtype = DType::kU8;
    return std::vector<KernelQuestion>{{id, dtype}};
  };
  return row;
}

struct Predicate {
  Op id;
  Tensor (*function)(const Tensor&);
  bool (*holds)(Real x);
};

const std::vector<Predicate> kPredicates = {
    {IsNan::op, wick::isnan, [](Real x) { return std::isnan(x); }},
    {IsInf::op, wick::isinf, [](Real x) { return std::isinf(x); }},
    {IsFinite::op, wick::isfinite, [](Real x) { return std::isfinite(x); }},
};

Row row_of(const Predicate& predicate) {
  Row row;
  row.op = predicate.id.name;
  row.run = [f = predicate.function](std::vector<Tensor> x, const Case&) { return f(x[0]); };
  row.reference = [holds = predicate.holds](const std::vector<Array>& x, const Case&) {
    Result result{{DType::kBool, x[0].shape, {}}, {}, 0};
    for (const Real value : x[0].values) result.array.values.push_back(holds(value));
    return result;
  };
  row.loop = "predicate";
  for (const DType dtype : kAll) row.dtypes.push_back({dtype});
  row.geometries = one_operand();
  row.elementwise = true;
  row.bench = Geometry{{{1 << 22}}};
  row.kernels = [id = predicate.id](const std::vector<DType>& d) {
    if (!is_floating(d[0])) return std::vector<KernelQuestion>{{kFill, DType::kBool}};
    return std::vector<KernelQuestion>{{id, d[0]}};
  };
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"compare">() {
  std::vector<Row> rows;
  for (const Comparison& c : kComparisons) rows.push_back(row_of(c));
  for (const Predicate& p : kPredicates) rows.push_back(row_of(p));
  return rows;
}

}  // namespace wick::conformance
