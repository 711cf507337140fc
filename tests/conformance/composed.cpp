// Elementwise functions that are made of others, of one to three operands.
#include "shapes.h"
#include "values.h"
#include "wick/ops/elementwise.h"

namespace wick::conformance {
namespace {

/// f of the operands' elements, and what errors of one rounding of an intermediate result are
/// multiplied by on their way to it.
struct Value {
  Real result;
  Real magnitude = 0;
};

struct Composed {
  const char* name;
  std::size_t operands;
  std::function<Tensor(const std::vector<Tensor>&)> function;
  std::function<Value(const Real* x)> formula;
  Domain domain;
  Tolerance tolerance;
  std::vector<GradDomain> grad_domains = {};
  bool special = true;
  const char* loose = nullptr;
};

Value plain(Real x) { return {x, std::fabs(x)}; }

// A row is a line.
// clang-format off
const std::vector<Composed> kComposed = {
    {"frac", 1, [](const auto& x) { return frac(x[0]); }, [](const Real* x) { return plain(x[0] - std::trunc(x[0])); }, {-100, 100}, exact(), {either_sign(1.1, 1.9)}},
    {"clamp", 1, [](const auto& x) { return clamp(x[0], {.min = -1.5, .max = 2.5}); }, [](const Real* x) { return plain(std::isnan(x[0]) ? x[0] : std::min<Real>(std::max<Real>(x[0], -1.5L), 2.5L)); }, {-4, 4}, exact(), {{{-4, -1.6}, {-1.4, 2.4}, {2.6, 4}}}},
    {"lerp", 3, [](const auto& x) { return lerp(x[0], x[1], x[2]); }, [](const Real* x) { return Value{x[0] + (x[1] - x[0]) * x[2], std::fabs(x[0]) + std::fabs(x[1] - x[0]) * std::fabs(x[2])}; }, {-4, 4}, condition(3), {}, false},
    {"addcmul", 3, [](const auto& x) { return addcmul(x[0], x[1], x[2], 2); }, [](const Real* x) { return Value{x[0] + 2 * x[1] * x[2], std::fabs(x[0]) + 2 * std::fabs(x[1] * x[2])}; }, {-4, 4}, condition(1.5), {}, false},
    {"addcdiv", 3, [](const auto& x) { return addcdiv(x[0], x[1], x[2], 2); }, [](const Real* x) { return Value{x[0] + 2 * x[1] / x[2], std::fabs(x[0]) + 2 * std::fabs(x[1] / x[2])}; }, {0.5, 4}, condition(2), {{-3, 3}, {-3, 3}, either_sign(0.5, 4)}, false},
    {"hypot", 2, [](const auto& x) { return hypot(x[0], x[1]); }, [](const Real* x) { return plain(std::isnan(x[0]) || std::isnan(x[1]) ? x[0] + x[1] : std::hypot(x[0], x[1])); }, {-100, 100}, condition(2), {either_sign(0.5, 3)}, false},
    {"logaddexp", 2, [](const auto& x) { return logaddexp(x[0], x[1]); }, [](const Real* x) { return Value{std::max(x[0], x[1]) + std::log1p(std::exp(-std::fabs(x[0] - x[1]))), 1 + std::fabs(x[0]) + std::fabs(x[1])}; }, {-8, 8}, condition(1.5), {}, false},
};
// clang-format on

Row row_of(const Composed& composed) {
  Row row;
  row.op = composed.name;
  row.run = [f = composed.function](std::vector<Tensor> x, const Case&) { return f(x); };
  row.reference = [f = composed.formula](const std::vector<Array>& x, const Case&) {
    DType dtype = reference::floating(x[0].dtype);
    Result result{{dtype, x[0].shape, {}}, {}, 0};
    for (std::size_t i = 0; i < x[0].values.size(); i++) {
      Real values[3];
      for (std::size_t k = 0; k < x.size(); k++)
        values[k] = reference::convert(x[k].dtype, dtype, x[k].values[i]);
      const Value value = f(values);
      result.array.values.push_back(value.result);
      result.magnitude.push_back(value.magnitude);
    }
    return result;
  };
  for (const DType dtype : kFloats) row.dtypes.emplace_back(composed.operands, dtype);
  for (const HostShape& shape :
       {HostShape{0}, {}, {7}, {3, 11}, {2, 3, 4, 5}, {5, 205}, {7, 100, 100}})
    row.geometries.push_back({std::vector<HostShape>(composed.operands, shape)});
  row.domain = composed.domain;
  row.grad_domains = composed.grad_domains;
  row.tolerance = composed.tolerance;
  row.loose = composed.loose;
  row.special = composed.special;
  for (std::size_t k = 0; k < composed.operands; k++) row.differentiable.push_back(k);
  return row;
}

/// Ties are those of the scaled value that is rounded, not of x.
Row round_row() {
  Row row = row_of({"round(1)",
                    1,
                    [](const auto& x) { return round(x[0], 1); },
                    [](const Real* x) { return plain(x[0]); },
                    {-100, 100},
                    condition(2),
                    {either_sign(0.26, 0.34)},
                    false});
  row.reference = [](const std::vector<Array>& x, const Case&) {
    const DType wide = x[0].dtype == DType::kF64 ? DType::kF64 : DType::kF32;
    Result result{x[0], {}, 0};
    for (Real& value : result.array.values) {
      result.magnitude.push_back(std::fabs(value) + 1);
      value = std::nearbyint(reference::round_to_format(wide, value * 10)) / 10;
    }
    return result;
  };
  return row;
}

// ---- yes and no

struct Logic {
  const char* name;
  Tensor (*function)(const std::vector<Tensor>&);
  bool (*holds)(Real a, Real b);
  std::size_t operands = 2;
};

const std::vector<Logic> kLogic = {
    {"logical_and", [](const std::vector<Tensor>& x) { return logical_and(x[0], x[1]); },
     [](Real a, Real b) { return a != 0 && b != 0; }},
    {"logical_or", [](const std::vector<Tensor>& x) { return logical_or(x[0], x[1]); },
     [](Real a, Real b) { return a != 0 || b != 0; }},
    {"logical_xor", [](const std::vector<Tensor>& x) { return logical_xor(x[0], x[1]); },
     [](Real a, Real b) { return (a != 0) != (b != 0); }},
    {"logical_not", [](const std::vector<Tensor>& x) { return logical_not(x[0]); },
     [](Real a, Real) { return a == 0; }, 1},
    {"lt(300)", [](const std::vector<Tensor>& x) { return lt(x[0], 300); },
     [](Real a, Real) { return a < 300; }, 1},
    {"ge(-1)", [](const std::vector<Tensor>& x) { return ge(x[0], -1); },
     [](Real a, Real) { return a >= -1; }, 1},
    {"eq(2)", [](const std::vector<Tensor>& x) { return eq(x[0], 2); },
     [](Real a, Real) { return a == 2; }, 1},
    {"1<x", [](const std::vector<Tensor>& x) -> Tensor { return 1 < x[0]; },
     [](Real a, Real) { return 1 < a; }, 1},
    {"1<=x", [](const std::vector<Tensor>& x) -> Tensor { return 1 <= x[0]; },
     [](Real a, Real) { return 1 <= a; }, 1},
    {"1>x", [](const std::vector<Tensor>& x) -> Tensor { return 1 > x[0]; },
     [](Real a, Real) { return 1 > a; }, 1},
    {"1>=x", [](const std::vector<Tensor>& x) -> Tensor { return 1 >= x[0]; },
     [](Real a, Real) { return 1 >= a; }, 1},
};

Row row_of(const Logic& logic) {
  Row row;
  row.op = logic.name;
  row.run = [f = logic.function](std::vector<Tensor> x, const Case&) { return f(x); };
  row.reference = [holds = logic.holds](const std::vector<Array>& x, const Case&) {
    Result result{{DType::kBool, x[0].shape, {}}, {}, 0};
    for (std::size_t i = 0; i < x[0].values.size(); i++)
      result.array.values.push_back(holds(x[0].values[i], x.back().values[i]));
    return result;
  };
  for (const DType dtype : kAll) row.dtypes.emplace_back(logic.operands, dtype);
  for (const HostShape& shape : {HostShape{0}, {}, {7}, {3, 11}, {5, 205}})
    row.geometries.push_back({std::vector<HostShape>(logic.operands, shape)});
  row.domain = {-3, 3};
  return row;
}

Row masked_fill_row() {
  Row row;
  row.op = "masked_fill";
  row.run = [](std::vector<Tensor> x, const Case&) { return masked_fill(x[0], x[1], 3); };
  row.reference = [](const std::vector<Array>& x, const Case&) {
    const Array mask = reference::expand(x[1], x[0].shape);
    Result result{x[0], {}, 0};
    for (std::size_t i = 0; i < mask.values.size(); i++) {
      if (mask.values[i] != 0)
        result.array.values[i] = reference::convert(DType::kI64, x[0].dtype, 3);
    }
    return result;
  };
  for (const DType dtype : kAll) row.dtypes.push_back({dtype, DType::kBool});
  row.geometries = {{{{0}, {0}}},
                    {{{}, {}}},
                    {{{3, 11}, {3, 11}}},
                    {{{2, 3, 4, 5}, {4, 1}}},
                    {{{5, 205}, {205}}}};
  row.differentiable = {0};
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"composed">() {
  std::vector<Row> rows;
  for (const Composed& c : kComposed) rows.push_back(row_of(c));
  rows.push_back(round_row());
  for (const Logic& l : kLogic) rows.push_back(row_of(l));
  rows.push_back(masked_fill_row());
  return rows;
}

}  // namespace wick::conformance
