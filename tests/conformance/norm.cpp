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

/// Operands: x, weight, residual, next weight. Dims: n, then whether there is a next weight.
Row rms_norm_residual_row() {
  Row row;
  row.op = "rms_norm_residual";
  row.run = [](std::vector<Tensor> x, const Case& c) {
    const bool has_next = c.geometry.dims[1] != 0;
    const SumAndNorm y = rms_norm_residual(x[0], x[1], x[2], has_next ? x[3] : Tensor(), eps_of(c));
    return has_next ? cat({y.sum, y.y}, -1) : y.sum;
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    Result sum = reference::rms_norm(x[0], x[1], eps_of(c));
    for (std::size_t i = 0; i < sum.array.values.size(); i++) {
      // The norm is rounded to x's dtype before it is added, where no kernel does both.
      sum.magnitude[i] += std::fabs(sum.array.values[i]) + std::fabs(x[2].values[i]);
      sum.array.values[i] += x[2].values[i];
    }
    sum.array.dtype = x[0].dtype;
    if (!c.geometry.dims[1]) return sum;
    Result y = reference::rms_norm(sum.array, x[3], eps_of(c));
    const std::size_t columns = x[3].values.size();
    Result both = sum;
    both.array.values.clear(), both.magnitude.clear();
    both.array.shape.back() *= 2;
    for (std::size_t first = 0; first < sum.array.values.size(); first += columns) {
      const auto add = [&](const Result& r, bool is_norm) {
        Real squares = 0, errors = 0;  // of the sum's elements, which the norm takes over
        for (std::size_t i = first; i < first + columns; i++) {
          squares += sum.array.values[i] * sum.array.values[i];
          errors += std::fabs(sum.array.values[i]) * sum.magnitude[i];
        }
        for (std::size_t i = first; i < first + columns; i++) {
          both.array.values.push_back(r.array.values[i]);
          const Real size = std::fabs(r.array.values[i]);
          const Real own = sum.array.values[i] == 0
                               ? 0
                               : size * sum.magnitude[i] / std::fabs(sum.array.values[i]);
          both.magnitude.push_back(is_norm ? r.magnitude[i] + own +
                                                 (squares > 0 ? size * errors / squares : 0)
                                           : r.magnitude[i]);
        }
      };
      add(sum, false);
      add(y, true);
    }
    return both;
  };
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    const Domain domain = operand % 2 == 1 ? Domain{-2, 2} : Domain{-8, 8};
    return random_array(c.dtypes[0], c.geometry.operands[operand], domain, random);
  };
  for (const DType dtype : kFloats) row.dtypes.push_back({dtype});
  row.geometries = {{{{1}, {1}, {1}, {1}}, {5, 1}},
                    {{{5, 1}, {1}, {5, 1}, {1}}, {5, 0}},
                    {{{2, 3, 7}, {7}, {2, 3, 7}, {7}}, {1, 1}},
                    {{{4, 33}, {33}, {4, 33}, {33}}, {5, 0}},
                    {{{130, 64}, {64}, {130, 64}, {64}}, {5, 1}},
                    {{{3, 1025}, {1025}, {3, 1025}, {1025}}, {2, 1}},
                    {{{2, 5000}, {5000}, {2, 5000}, {5000}}, {5, 1}},
                    {{{0, 7}, {7}, {0, 7}, {7}}, {5, 1}}};
  row.tolerance = condition(7);
  row.loose = "where no kernel does all, every step rounds to the dtype; here a few of them do";
  row.special = false;
  row.differentiable = {0, 1, 2, 3};
  // Of a row of one element the second norm turns where the sum is 0.
  row.grad_domains = {{0.5, 3}, {0.5, 2}, {0.5, 3}, {-2, 2}};
  row.bench = Geometry{{{1, 4096}, {4096}, {1, 4096}, {4096}}, {5, 1}};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kRmsNormResidual, d[0]}};
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
  return {rms_norm_row(),       rms_norm_residual_row(), rms_norm_gradient_row(),
          layer_norm_row(true), layer_norm_row(false),   layer_norm_gradient_row()};
}

}  // namespace wick::conformance
