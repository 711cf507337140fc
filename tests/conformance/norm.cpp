// rms_norm, layer_norm and their gradients. Geometries' one option is n, eps being 10^-n; else 10^-5.
#include "wick/abi/ops/norm.h"
#include "reference/fused.h"
#include "shapes.h"
#include "values.h"
#include "wick/core/var.h"
#include "wick/ops/arrange.h"
#include "wick/ops/autograd.h"
#include "wick/ops/norm.h"
#include "wick/ops/shape.h"

namespace wick::conformance {
namespace {

double eps_of(const Case& c) {
  return c.geometry.dims.empty() ? 1e-5 : std::pow(10, -double(c.geometry.dims[0]));
}

const std::vector<Geometry> kRows = {{{{1}, {1}}},
                                     {{{5, 1}, {1}}},
                                     {{{7}, {7}}},
                                     {{{2, 3, 7}, {7}}, {1}},
                                     {{{0, 7}, {7}}},
                                     {{{4, 33}, {33}}},
                                     {{{2, 3, 33}, {33}}},
                                     {{{130, 64}, {64}}},
                                     {{{3, 1025}, {1025}}, {2}},
                                     {{{3, 4100}, {4100}}},
                                     {{{2, 40, 320}, {320}}}};

/// Weights, and the bias after them, are about 1, so that what is lost to underflow is not made
/// larger.
Array make(std::size_t weight, std::size_t operand, const Case& c, Random& random) {
  const Domain domain = operand >= weight ? Domain{-2, 2} : Domain{-8, 8};
  const HostShape& shape = c.geometry.operands[operand];
  return c.values == Values::kSpecial && operand < weight
             ? sprinkled_array(c.dtypes[0], shape, domain, random)
             : random_array(c.dtypes[0], shape, domain, random);
}

Row rms_norm_row() {
  Row row;
  row.op = "rms_norm";
  row.run = [](std::vector<Tensor> x, const Case& c) { return rms_norm(x[0], x[1], eps_of(c)); };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::rms_norm(x[0], x[1], eps_of(c));
  };
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    return make(1, operand, c, random);
  };
  for (const DType dtype : kFloats) row.dtypes.push_back({dtype});
  row.geometries = kRows;
  // Of the sum 4 roundings, its division and eps; the root halves those 6. Then the root itself,
  // the reciprocal and two products.
  row.tolerance = sums(7);
  row.fused = true;
  row.differentiable = {0, 1};
  row.long_geometries = {{{{331, 307}, {307}}}};
  // Of a row of one element it turns within sqrt(eps) of 0.
  row.grad_domains = {either_sign(0.5, 3), {-2, 2}};
  row.bench = Geometry{{{2048, 2048}, {2048}}};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kRmsNorm, d[0]}};
  };
  return row;
}

/// The gradients of x and of weight, by backward, which takes the kernel where the mode allows it.
Row rms_norm_gradient_row() {
  Row row = rms_norm_row();
  row.op = "rms_norm_gradient";
  row.run = [](std::vector<Tensor> x, const Case& c) {
    const Var in(x[1]), weight(x[2]);
    backward(rms_norm(in, weight, eps_of(c)), {.seed = x[0]});
    return cat({reshape(in.grad(), {in.tensor().numel()}), weight.grad()}, 0);
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::rms_norm_gradient(x[0], x[1], x[2], eps_of(c));
  };
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    return make(2, operand, c, random);
  };
  for (auto* list : {&row.geometries, &row.long_geometries})
    for (Geometry& g : *list) g.operands.insert(g.operands.begin(), g.operands[0]);
  row.bench->operands.insert(row.bench->operands.begin(), row.bench->operands[0]);
  // r is cubed, of a sum of squares and its root: 3 (8 / 2 + 3) roundings; 8 more of the mean.
  row.tolerance = sums(8);
  row.special = false;  // infinities cancel as the order of the formula has it
  row.differentiable = {};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kRmsNormGradient, d[0]}};
  };
  return row;
}

/// The shapes of rms_norm with a bias.
Geometry with_bias(Geometry g) {
  g.operands.push_back(g.operands.back());
  return g;
}

Row layer_norm_row(bool has_bias) {
  Row row = rms_norm_row();
  row.op = has_bias ? "layer_norm" : "layer_norm_without_bias";
  row.run = [=](std::vector<Tensor> x, const Case& c) {
    return layer_norm(x[0], x[1], has_bias ? x[2] : Tensor(), eps_of(c));
  };
  row.reference = [=](const std::vector<Array>& x, const Case& c) {
    return reference::layer_norm(x[0], x[1], has_bias ? &x[2] : nullptr, eps_of(c));
  };
  if (has_bias) {
    for (auto* list : {&row.geometries, &row.long_geometries})
      for (Geometry& g : *list) g = with_bias(g);
    row.bench = with_bias(*row.bench);
    row.differentiable = {0, 1, 2};
  }
  // As of rms_norm, and the addition of the bias; the mean is a sum too.
  row.tolerance = sums(8);
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kLayerNorm, d[0]}};
  };
  return row;
}

/// Of x, weight and bias, by backward.
Row layer_norm_gradient_row() {
  Row row = rms_norm_gradient_row();
  row.op = "layer_norm_gradient";
  row.loose =
      "rms_norm_gradient's, whose row comes near it; a mean that is subtracted too adds little";
  row.run = [](std::vector<Tensor> x, const Case& c) {
    const Var in(x[1]), weight(x[2]), bias(x[2]);
    backward(layer_norm(in, weight, bias, eps_of(c)), {.seed = x[0]});
    return cat({reshape(in.grad(), {in.tensor().numel()}), weight.grad(), bias.grad()}, 0);
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::layer_norm_gradient(x[0], x[1], x[2], eps_of(c));
  };
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kLayerNormGradient, d[0]}};
  };
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"norm">() {
  return {rms_norm_row(), rms_norm_gradient_row(), layer_norm_row(true), layer_norm_row(false),
          layer_norm_gradient_row()};
}

}  // namespace wick::conformance
