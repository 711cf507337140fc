// cross_entropy and its gradient.
#include "wick/abi/ops/loss.h"
#include "reference/fused.h"
#include "shapes.h"
#include "values.h"
#include "wick/core/var.h"
#include "wick/ops/autograd.h"
#include "wick/ops/loss.h"

namespace wick::conformance {
namespace {

Array make(const Case& c, Random& random) {
  const Domain domain{-8, 8};
  if (c.values == Values::kSpecial)
    return sprinkled_array(c.dtypes[0], c.geometry.operands[0], domain, random);
  return random_array(c.dtypes[0], c.geometry.operands[0], domain, random);
}

const std::vector<Geometry> kClasses = {{{{1, 1}, {1}}},    {{{3, 11}, {3}}},
                                        {{{33, 7}, {33}}},  {{{5, 205}, {5}}},
                                        {{{2, 1025}, {2}}}, {{{200, 150}, {200}}}};

Row cross_entropy_row() {
  Row row;
  row.op = "cross_entropy";
  for (const DType dtype : kFloats) row.dtypes.push_back({dtype, DType::kI64});
  for (const DType ids : kIds) row.dtypes.push_back({DType::kF32, ids});
  row.differentiable = {0};
  row.run = [](std::vector<Tensor> x, const Case&) { return cross_entropy(x[0], x[1]); };
  row.reference = [](const std::vector<Array>& x, const Case&) {
    return reference::cross_entropy(x[0], x[1]);
  };
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    return operand == 0
               ? make(c, random)
               : random_ids(c.geometry.operands[1], c.geometry.operands[0][1], random, c.dtypes[1]);
  };
  row.geometries = kClasses;
  row.long_geometries = {{{{331, 307}, {331}}}};
  row.fused = true;
  // Fewer than softmax's: a mean's errors cancel.
  row.tolerance = sums(2);
  row.loose = kHoldsOnCards;
  row.bench = Geometry{{{1024, 1024}, {1024}}};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kCrossEntropy, d[0]}};
  };
  return row;
}

/// The gradient of logits, by backward, which takes the kernel where the mode allows it.
Row cross_entropy_gradient_row() {
  Row row = cross_entropy_row();
  row.op = "cross_entropy_gradient";
  row.run = [](std::vector<Tensor> x, const Case&) {
    const Var logits(x[0]);
    backward(cross_entropy(logits, x[1]), {.seed = x[2]});
    return logits.grad();
  };
  row.reference = [](const std::vector<Array>& x, const Case&) {
    return reference::cross_entropy_gradient(x[0], x[1], x[2]);
  };
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    if (operand == 0) return make(c, random);
    return operand == 1
               ? random_ids(c.geometry.operands[1], c.geometry.operands[0][1], random, c.dtypes[1])
               : random_array(reference::accumulator(c.dtypes[0]), {}, {-2, 2}, random);
  };
  for (std::vector<DType>& dtypes : row.dtypes) dtypes.push_back(reference::accumulator(dtypes[0]));
  for (auto* list : {&row.geometries, &row.long_geometries})
    for (Geometry& geometry : *list) geometry.operands.push_back({});
  // exp(x - l), with three roundings in the exponent, times gloss.
  row.tolerance = sums(3);
  row.loose = nullptr;
  row.special = false;  // a loss that is no number has no gradient to hold to
  row.differentiable = {};
  row.bench->operands.push_back({});
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kCrossEntropyGradient, d[0]}};
  };
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"loss">() {
  return {cross_entropy_row(), cross_entropy_gradient_row()};
}

}  // namespace wick::conformance
