// cross_entropy, its gradient and nll_loss.
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

// The rows of options hold them in a geometry's dims: the reduction, and the label smoothing in
// hundredths. The weight of each class is operand 2; targets that are classes may be ignored.

Reduction reduction_of(const Case& c) { return Reduction(c.geometry.dims[0]); }
double smoothing_of(const Case& c) { return double(c.geometry.dims[1]) / 100; }

reference::Loss options_of(const Case& c, const Array& weight) {
  return {.weight = &weight,
          .reduction = reference::Loss::Reduction(c.geometry.dims[0]),
          .smoothing = Real(c.geometry.dims[1]) / 100};
}

/// Targets of which every third but the first is -100.
Array targets_with_ignored(const Case& c, Random& random) {
  Array targets =
      random_ids(c.geometry.operands[1], c.geometry.operands[0][1], random, c.dtypes[1]);
  for (std::size_t i = 2; i < targets.values.size(); i += 3) targets.values[i] = -100;
  return targets;
}

Row weighted_row(std::string op) {
  Row row;
  row.op = std::move(op);
  for (const DType dtype : kFloats)
    row.dtypes.push_back({dtype, DType::kI64, reference::accumulator(dtype)});
  row.differentiable = {0, 2};
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    if (operand == 0) return make(c, random);
    return operand == 1 ? targets_with_ignored(c, random)
                        : random_array(c.dtypes[2], c.geometry.operands[2], {0.5, 2}, random);
  };
  row.tolerance = sums(2);
  row.loose = kHoldsOnCards;
  return row;
}

Row cross_entropy_options_row() {
  Row row = weighted_row("cross_entropy(options)");
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return cross_entropy(x[0], x[1],
                         {.weight = x[2],
                          .ignore_index = -100,
                          .reduction = reduction_of(c),
                          .label_smoothing = smoothing_of(c)});
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::cross_entropy(x[0], x[1], options_of(c, x[2]));
  };
  row.distinct = {1};
  row.geometries = {{{{1, 1}, {1}, {1}}, {0, 0}},    {{{7, 11}, {7}, {11}}, {0, 10}},
                    {{{33, 7}, {33}, {7}}, {1, 25}}, {{{5, 205}, {5}, {205}}, {2, 100}},
                    {{{9, 40}, {9}, {40}}, {2, 0}},  {{{40, 5}, {40}, {5}}, {1, 0}}};
  return row;
}

Row cross_entropy_probabilities_row() {
  Row row = weighted_row("cross_entropy(probabilities)");
  for (std::vector<DType>& dtypes : row.dtypes) dtypes[1] = dtypes[0];
  row.differentiable = {0, 1, 2};
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return cross_entropy(
        x[0], x[1],
        {.weight = x[2], .reduction = reduction_of(c), .label_smoothing = smoothing_of(c)});
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::cross_entropy_of_probabilities(x[0], x[1], options_of(c, x[2]));
  };
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    if (operand == 0) return make(c, random);
    const Domain domain = operand == 1 ? Domain{0, 1} : Domain{0.5, 2};
    return random_array(c.dtypes[operand], c.geometry.operands[operand], domain, random);
  };
  row.geometries = {{{{1, 1}, {1, 1}, {1}}, {0, 0}},
                    {{{7, 11}, {7, 11}, {11}}, {0, 10}},
                    {{{33, 7}, {33, 7}, {7}}, {1, 0}},
                    {{{5, 205}, {5, 205}, {205}}, {2, 25}}};
  return row;
}

Row nll_loss_row() {
  Row row = weighted_row("nll_loss");
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return nll_loss(x[0], x[1],
                    {.weight = x[2], .ignore_index = -100, .reduction = reduction_of(c)});
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::nll_loss(x[0], x[1], options_of(c, x[2]));
  };
  row.distinct = {1};
  row.loose = nullptr;
  row.geometries = {{{{1, 1}, {1}, {1}}, {0, 0}},
                    {{{7, 11}, {7}, {11}}, {0, 0}},
                    {{{33, 7}, {33}, {7}}, {1, 0}},
                    {{{5, 205}, {5}, {205}}, {2, 0}}};
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"loss">() {
  return {cross_entropy_row(), cross_entropy_gradient_row(), cross_entropy_options_row(),
          cross_entropy_probabilities_row(), nll_loss_row()};
}

}  // namespace wick::conformance
