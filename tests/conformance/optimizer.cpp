// adamw_: operands parameter, gradient, mean, square. Geometries' options are the step, and which
// of the option sets.
#include "wick/abi/ops/optimizer.h"
#include "reference/fused.h"
#include "shapes.h"
#include "values.h"
#include "wick/ops/arrange.h"
#include "wick/ops/optimizer.h"
#include "wick/ops/shape.h"

namespace wick::conformance {
namespace {

AdamWOptions options_of(const Case& c) {
  if (c.geometry.dims.at(1) == 0) return {};
  return {.rate = 0.05, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-6, .weight_decay = 0.5};
}

/// The square is a mean of squares.
Array make(std::size_t operand, const Case& c, Random& random) {
  const HostShape& shape = c.geometry.operands[operand];
  const Domain domain = operand == 0 ? Domain{-2, 2} : Domain{-1, 1};
  Array x = c.values == Values::kSpecial ? sprinkled_array(c.dtypes[0], shape, domain, random)
                                         : random_array(c.dtypes[0], shape, domain, random);
  if (operand == 3) {
    for (Real& value : x.values) value = std::fabs(value);
  }
  return x;
}

Row adamw_row() {
  Row row;
  row.op = "adamw";
  row.run = [](std::vector<Tensor> x, const Case& c) {
    Var parameter(x[0], false), mean(x[2], false), square(x[3], false);
    adamw_(parameter, x[1], mean, square, c.geometry.dims.at(0), options_of(c));
    const auto line = [](const Var& v) { return reshape(v, {1, v.tensor().numel()}); };
    return cat({line(parameter), line(mean), line(square)}, 0);
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    const AdamWOptions o = options_of(c);
    return reference::adamw(
        x[0], x[1], x[2], x[3],
        {o.rate, o.beta1, o.beta2, o.eps, o.weight_decay, c.geometry.dims.at(0)});
  };
  row.make = make;
  for (const DType dtype : kFloats) row.dtypes.push_back({dtype});
  std::size_t i = 0;
  const int64_t steps[] = {1, 2, 7, 1000};
  for (const HostShape& shape : kShapes) {
    row.geometries.push_back({{shape, shape, shape, shape}, {steps[i % 4], int64_t(i % 2)}});
    i++;
  }
  // Numbers of the options count a rounding each, and so does each operation on them.
  row.tolerance = sums(6);
  row.fused = true;
  row.bench = Geometry{{{1 << 22}, {1 << 22}, {1 << 22}, {1 << 22}}, {7, 0}};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kAdamW, d[0]}};
  };
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"optimizer">() {
  return {adamw_row()};
}

}  // namespace wick::conformance
