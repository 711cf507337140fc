#include "elementwise.h"

#include "scalar/binary.h"
#include "scalar/unary.h"
#include "wick/abi/ops/cast.h"

namespace wick::conformance {

Result Formula::operator()(const std::vector<Array>& operands, bool once) const {
  const bool two = operands.size() == 2;
  const DType promoted = two ? reference::promote(operands[0], operands[1]) : operands[0].dtype;
  const DType dtype = integer_ ? promoted : reference::floating(promoted);
  const HostShape shape =
      two ? reference::broadcast(operands[0].shape, operands[1].shape) : operands[0].shape;
  const Array a = reference::expand(reference::convert(operands[0], dtype), shape);
  const Array b = two ? reference::expand(reference::convert(operands[1], dtype), shape) : a;
  Result result{{dtype, shape, {}}, {}, 0};
  for (std::size_t i = 0; i < a.values.size(); i++) {
    const Real reals[] = {a.values[i], b.values[i]};
    if (!is_floating(dtype)) {
      const Wide integers[] = {Wide(reals[0]), Wide(reals[1])};
      result.array.values.push_back(reference::wrap(dtype, integer_(integers)));
    } else {
      result.array.values.push_back(once ? reference::rounded_to_odd([&] { return real_(reals); })
                                         : real_(reals));
    }
  }
  return result;
}

std::vector<Geometry> two_operands() {
  std::vector<Geometry> result;
  for (const HostShape& shape : kShapes) result.push_back({{shape, shape}});
  for (const auto& [a, b] : std::vector<std::pair<HostShape, HostShape>>{
           {{3, 11}, {11}},
           {{7, 1}, {1, 9}},
           {{5}, {2, 1, 5}},
           {{}, {3, 11}},
           {{3, 11}, {1}},
           {{1, 0}, {3, 1}},
           {{300, 100}, {300, 1}},
           {{2, 1, 3, 1, 2, 1, 2, 1, 2, 1}, {1, 2, 1, 2, 1, 2, 1, 2, 1, 2}}}) {
    result.push_back({{a, b}});
  }
  return result;
}

namespace {

/// Every numeric dtype, for all operands alike.
std::vector<std::vector<DType>> numeric(std::size_t operands) {
  std::vector<std::vector<DType>> result;
  for (const DType d : kNumeric) result.emplace_back(operands, d);
  return result;
}

template <class F>
constexpr bool kIsLong = requires {
  requires F::kLong;
};
template <class... F>
bool is_long(const Op& id, TypeList<F...>) {
  return ((F::op == id && kIsLong<F>) || ...);
}

/// Kernels call formulas of long code, and those that integers go into as f32, in loops of their own.
std::string loop_of(const char* operands, const Op& id, const Formula& formula) {
  const bool long_code =
      is_long(id, Unary{}) || is_long(id, UnaryWithNumbers{}) || is_long(id, Binary{});
  return std::string(operands) + (formula.of_integers() ? ", integers" : "") +
         (long_code ? ", long" : "");
}

Row common(const Op& id, const Formula& formula, Domain domain, Tolerance tolerance,
           std::optional<Edge> at_edge, const Extras& extras) {
  Row row;
  row.op = id.name;
  row.domain = domain;
  row.tolerance = tolerance;
  row.edge = at_edge;
  row.elementwise = true;
  row.signed_zero = true;
  row.in_place = true;
  row.fused = extras.fused;
  row.grad_domains = extras.grad_domains;
  row.reference = [formula, once = tolerance.kind == Tolerance::Kind::kRounded](
                      const std::vector<Array>& x, const Case&) { return formula(x, once); };
  row.kernels = [id, of_integers = formula.of_integers()](const std::vector<DType>& dtypes) {
    DType dtype = dtypes.size() == 2 ? reference::promote(dtypes[0], dtypes[1]) : dtypes[0];
    if (!of_integers) dtype = reference::floating(dtype);
    std::vector<KernelQuestion> questions;
    for (const DType d : dtypes) {
      if (d != dtype) questions.push_back({kCast, d, dtype});
    }
    questions.push_back({id, dtype});
    return questions;
  };
  return row;
}

}  // namespace

Row row_of(const UnaryRow& u) {
  Row row = common(u.id, u.formula, u.domain, u.tolerance, u.edge, u.extras);
  row.run = [f = u.function](std::vector<Tensor> x, const Case&) { return f(std::move(x[0])); };
  if (!row.fused) row.loop = loop_of("unary", u.id, u.formula);
  row.dtypes = numeric(1);
  row.geometries = one_operand();
  row.bench = Geometry{{{1 << 22}}};
  if (u.extras.differentiable) row.differentiable = {0};
  return row;
}

Row row_of(const BinaryRow& b) {
  Row row = common(b.id, b.formula, b.domain, b.tolerance, b.edge, b.extras);
  row.run = [f = b.function](std::vector<Tensor> x, const Case&) {
    return f(std::move(x[0]), x[1]);
  };
  if (!row.fused) row.loop = loop_of("binary", b.id, b.formula);
  row.dtypes = numeric(2);
  for (const auto& [lhs, rhs] : kMixed) row.dtypes.push_back({lhs, rhs});
  row.geometries = two_operands();
  row.bench = Geometry{{{1 << 22}, {1 << 22}}};
  if (b.extras.differentiable) row.differentiable = {0, 1};
  return row;
}

Row row_of(const WithNumberRow& w) {
  Row row = common(w.id, w.formula, w.domain, w.tolerance, w.edge, w.extras);
  row.op = w.name;
  row.run = [f = w.function](std::vector<Tensor> x, const Case&) { return f(std::move(x[0])); };
  row.loop = loop_of("with a number", w.id, w.formula);
  row.dtypes = numeric(1);
  row.geometries = one_operand();
  row.bench = Geometry{{{1 << 22}}};
  if (w.extras.differentiable) row.differentiable = {0};
  return row;
}

}  // namespace wick::conformance
