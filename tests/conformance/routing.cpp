// select_experts. Geometry::dims: selected, scores, groups, selected groups, whether it renormalizes,
// whether there is a correction, 100 times the scale.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "shapes.h"
#include "values.h"
#include "wick/abi/ops/routing.h"
#include "wick/ops/routing.h"

namespace wick::conformance {
namespace {

constexpr double kLeastSum = 0.375;  // above some sums, and below others

SelectExpertsOptions options_of(const std::vector<Tensor>& x, const Case& c) {
  const auto& dims = c.geometry.dims;
  return {.scores = dims[1] ? RouterScores::kSigmoid : RouterScores::kSoftmax,
          .correction = dims[5] ? x[1] : Tensor(),
          .groups = dims[2],
          .selected_groups = dims[3],
          .group_score = dims[4] ? GroupScore::kMax : GroupScore::kSumOfTop2,
          .renormalizes = dims[4] != 0,
          .least_sum = dims[1] ? kLeastSum : 0,
          .scale = double(dims[6]) / 100};
}

/// The first `count` indices of values in descending order.
std::vector<std::size_t> largest(const std::vector<Real>& values, std::size_t count) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  order.resize(count);
  return order;
}

/// Sets the ranks of experts outside of the selected groups to -inf.
void keep_groups(std::vector<Real>& ranks, const Case& c) {
  const auto& dims = c.geometry.dims;
  const std::size_t groups = std::size_t(dims[2]), size = ranks.size() / groups;
  std::vector<Real> scores;
  for (std::size_t g = 0; g < groups; g++) {
    const std::vector<Real> own(ranks.begin() + std::ptrdiff_t(g * size),
                                ranks.begin() + std::ptrdiff_t((g + 1) * size));
    const auto order = largest(own, std::min<std::size_t>(2, size));
    scores.push_back(dims[4] || order.size() == 1 ? own[order[0]] : own[order[0]] + own[order[1]]);
  }
  const auto kept = largest(scores, std::size_t(dims[3]));
  for (std::size_t i = 0; i < ranks.size(); i++)
    if (std::find(kept.begin(), kept.end(), i / size) == kept.end())
      ranks[i] = -std::numeric_limits<Real>::infinity();
}

Result selected(const std::vector<Array>& x, const Case& c, bool wants_ids) {
  const auto& dims = c.geometry.dims;
  const std::size_t rows = std::size_t(x[0].shape[0]), experts = std::size_t(x[0].shape[1]),
                    count = std::size_t(dims[0]);
  Array y;
  y.shape = {x[0].shape[0], dims[0]};
  y.dtype = wants_ids ? DType::kI64 : x[0].dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  for (std::size_t row = 0; row < rows; row++) {
    const Real* const logits = x[0].values.data() + row * experts;
    std::vector<Real> scores, ranks;
    Real sum = 0;
    for (std::size_t e = 0; e < experts; e++) sum += std::exp(logits[e]);
    for (std::size_t e = 0; e < experts; e++) {
      scores.push_back(dims[1] ? 1 / (1 + std::exp(-logits[e])) : std::exp(logits[e]) / sum);
      ranks.push_back(dims[5] ? scores[e] + x[1].values[e] : scores[e]);
    }
    if (dims[3] < dims[2]) keep_groups(ranks, c);
    const auto chosen = largest(ranks, count);
    Real all = 0;
    for (const std::size_t e : chosen) all += scores[e];
    if (dims[1]) all = std::max(all, Real(kLeastSum));
    for (const std::size_t e : chosen)
      y.values.push_back(wants_ids ? Real(e)
                                   : scores[e] / (dims[4] ? all : 1) * Real(dims[6]) / 100);
  }
  return {y, {}, 0};
}

Row selected_row(const char* op, bool wants_ids) {
  Row row;
  row.op = op;
  // Multiples of 1/4 and 1/2: sums of different scores and corrections lie far apart.
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    Array a = random_array(c.dtypes[operand], c.geometry.operands[operand], {-4, 4}, random);
    for (Real& value : a.values)
      value = operand == 0 ? std::round(value * 4) / 4 : std::round(value / 4) / 2;
    return a;
  };
  row.run = [wants_ids](std::vector<Tensor> x, const Case& c) {
    const ValuesIndices y = select_experts(x[0], c.geometry.dims[0], options_of(x, c));
    return wants_ids ? y.indices : y.values;
  };
  row.reference = [wants_ids](const std::vector<Array>& x, const Case& c) {
    return selected(x, c, wants_ids);
  };
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBf16, DType::kF64})
    row.dtypes.push_back({dtype, dtype});
  row.geometries = {
      {{{1, 1}, {1}}, {1, 0, 1, 1, 0, 0, 100}},       {{{3, 8}, {8}}, {2, 0, 1, 1, 1, 0, 100}},
      {{{2, 128}, {128}}, {8, 0, 1, 1, 1, 0, 100}},   {{{5, 60}, {60}}, {4, 0, 1, 1, 0, 0, 100}},
      {{{1, 16}, {16}}, {1, 1, 1, 1, 0, 0, 100}},     {{{4, 129}, {129}}, {6, 1, 1, 1, 1, 1, 250}},
      {{{3, 512}, {512}}, {10, 0, 1, 1, 0, 1, 250}},  {{{2, 32}, {32}}, {4, 1, 8, 4, 1, 1, 250}},
      {{{2, 32}, {32}}, {4, 0, 4, 2, 0, 0, 1600}},    {{{3, 7}, {7}}, {7, 0, 1, 1, 1, 0, 100}},
      {{{2, 2000}, {2000}}, {3, 1, 1, 1, 1, 0, 100}}, {{{0, 8}, {8}}, {2, 0, 1, 1, 0, 0, 100}}};
  row.tolerance = wants_ids ? exact() : ulp(8);
  row.special = false;
  if (!wants_ids) row.differentiable = {0};
  row.grad_domains = {apart(4), either_sign(0.25, 0.5)};
  row.bench = Geometry{{{64, 128}, {128}}, {8, 0, 1, 1, 1, 0, 100}};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kSelectExperts, d[0]}};
  };
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"routing">() {
  return {selected_row("select_experts", false), selected_row("select_experts' ids", true)};
}

}  // namespace wick::conformance
