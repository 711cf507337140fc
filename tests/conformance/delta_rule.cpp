// gated_delta_rule: what it gives of each token, and the state. Options in geometries: the composite's
// chunk, and the scale in hundredths (0: 1 / sqrt(K)); of a layer's rule, whether heads are tiled, and
// the eps of the norms in thousandths.
#include <cmath>

#include "reference/states.h"
#include "shapes.h"
#include "values.h"
#include "wick/abi/ops/delta_rule.h"
#include "wick/ops/delta_rule.h"

namespace wick::conformance {
namespace {

enum Operand : std::size_t { kQ, kK, kV, kDecay, kBeta, kState, kLengths };

constexpr std::size_t kALog = kState, kDtBias = kLengths;  // of a layer's rule

/// The operands of a row: all but a_log and dt_bias; those that may not be left out; or these and
/// a_log and dt_bias, with norms and the sigmoid, as layers call it.
enum class With { kAll, kPlain, kLayer };

struct Sizes {
  int64_t b, t, h, k, v;
  int64_t chunk = 64, scale = 0;
};

constexpr int64_t kMaxOfPlain = 4096;  // products of a call

const Sizes kSizes[] = {
    {1, 1, 1, 1, 1},     {1, 2, 2, 2, 1},    {2, 3, 2, 1, 2, 2}, {1, 5, 1, 3, 2, 4, 70},
    {2, 1, 4, 16, 16},   {3, 7, 2, 5, 3, 4}, {0, 3, 2, 4, 4},    {2, 0, 2, 4, 4},
    {1, 2, 3, 4, 0},     {1, 2, 3, 0, 4},    {1, 70, 1, 17, 9},  {2, 65, 1, 8, 20, 16, 100},
    {1, 1, 3, 128, 128}, {1, 5, 2, 128, 40}, {1, 4, 1, 200, 3},  {1, 3, 2, 256, 20},
    {1, 3, 1, 300, 7},   {1, 130, 1, 16, 4},
};

/// Heads of a layer, of which groups share q and k.
struct LayerSizes {
  int64_t b, t, g, h, k, v;
  int64_t is_tiled = 0, eps = 1;
};
const LayerSizes kLayerSizes[] = {
    {1, 1, 1, 1, 1, 1},         {1, 2, 2, 4, 2, 1, 0, 500}, {2, 3, 2, 4, 3, 2, 1},
    {2, 1, 2, 6, 16, 16, 1},    {0, 3, 1, 2, 4, 4},         {2, 0, 1, 2, 4, 4},
    {1, 2, 1, 3, 4, 0},         {1, 20, 1, 2, 17, 9},       {1, 3, 1, 2, 128, 40},
    {1, 2, 1, 1, 300, 3, 0, 9},
};

Geometry geometry_of(const LayerSizes& s) {
  return {{{s.b, s.t, s.g, s.k},
           {s.b, s.t, s.g, s.k},
           {s.b, s.t, s.h, s.v},
           {s.b, s.t, s.h},
           {s.b, s.t, s.h},
           {s.h},
           {s.h}},
          {4, 0, s.is_tiled, s.eps}};
}

/// Of plain calls the small ones: the kernels' loops are the same.
std::vector<Geometry> geometries(With with) {
  std::vector<Geometry> result;
  if (with == With::kLayer) {
    for (const LayerSizes& s : kLayerSizes) result.push_back(geometry_of(s));
    return result;
  }
  for (const Sizes& s : kSizes) {
    if (with == With::kPlain && s.b * s.t * s.h * s.k * s.v > kMaxOfPlain) continue;
    Geometry geometry{{{s.b, s.t, s.h, s.k},
                       {s.b, s.t, s.h, s.k},
                       {s.b, s.t, s.h, s.v},
                       {s.b, s.t, s.h},
                       {s.b, s.t, s.h},
                       {s.b, s.h, s.k, s.v},
                       {s.b}},
                      {s.chunk, s.scale}};
    if (with == With::kPlain) geometry.operands.resize(kState);
    result.push_back(geometry);
  }
  return result;
}

Array value_of_layer(std::size_t operand, const Case& c, Random& random) {
  const Domain domain = operand == kALog ? Domain{-1, 0.5} : Domain{-2, 2};
  return random_array(c.dtypes[operand], c.geometry.operands[operand], domain, random);
}

/// Keys have a length of about 1, as callers normalize them.
Array value_of(std::size_t operand, const Case& c, Random& random) {
  const HostShape& shape = c.geometry.operands[operand];
  if (operand == kLengths) return random_ids(shape, c.geometry.operands[kQ][1] + 2, random);
  const double of_key = std::sqrt(3.0 / double(std::max<int64_t>(1, c.geometry.operands[kK][3])));
  const Domain domain = operand <= kK       ? Domain{-std::min(1.0, of_key), std::min(1.0, of_key)}
                        : operand == kDecay ? Domain{-1, -0.01}
                        : operand == kBeta  ? Domain{0.05, 1}
                                            : Domain{-2, 2};
  return random_array(c.dtypes[operand], shape, domain, random);
}

Row row_of(bool is_state, With with) {
  const bool is_layer = with == With::kLayer;
  Row row;
  row.op = "gated_delta_rule";
  if (with == With::kPlain) row.op += "(plain)";
  if (is_layer) row.op += "(layer)";
  if (is_state) row.op += "(state)";
  row.run = [=](std::vector<Tensor> x, const Case& c) {
    DeltaRuleOptions options{.scale = double(c.geometry.dims.at(1)) / 100,
                             .chunk = c.geometry.dims.at(0)};
    if (with == With::kAll) options.state = x[kState], options.lengths = x[kLengths];
    if (is_layer) {
      options.a_log = x[kALog], options.dt_bias = x[kDtBias];
      options.tiled_heads = c.geometry.dims.at(2) != 0;
      options.qk_norm_eps = double(c.geometry.dims.at(3)) / 1000;
      options.sigmoid_beta = true;
    }
    const TensorAndState result =
        gated_delta_rule(x[kQ], x[kK], x[kV], x[kDecay], x[kBeta], options);
    return is_state ? result.state : result.y;
  };
  row.reference = [=](const std::vector<Array>& x, const Case& c) {
    reference::DeltaRule options{.scale = Real(c.geometry.dims.at(1)) / 100};
    if (with == With::kAll) options.state = &x[kState], options.lengths = &x[kLengths];
    if (is_layer) {
      options.a_log = &x[kALog], options.dt_bias = &x[kDtBias];
      options.tiled_heads = c.geometry.dims.at(2) != 0;
      options.qk_norm_eps = Real(c.geometry.dims.at(3)) / 1000;
      options.sigmoid_beta = true;
    }
    const reference::TensorAndState result =
        reference::gated_delta_rule(x[kQ], x[kK], x[kV], x[kDecay], x[kBeta], options);
    return is_state ? result.state : result.y;
  };
  row.make = is_layer ? value_of_layer : value_of;
  // f64 first: mode grad takes its other operands as they are.
  for (const auto& [t, rest] : {std::pair{DType::kF64, DType::kF64},
                                {DType::kF8E4M3, DType::kF32},
                                {DType::kF8E5M2, DType::kF32},
                                {DType::kBf16, DType::kF32},
                                {DType::kF16, DType::kF32},
                                {DType::kF32, DType::kF32},
                                {DType::kBf16, DType::kBf16}}) {
    row.dtypes.push_back({t, t, t, rest, rest, rest, DType::kI64});
    if (with == With::kPlain) row.dtypes.back().resize(kState);
    if (is_layer) row.dtypes.back()[kDtBias] = rest;
  }
  row.geometries = geometries(with);
  row.tolerance = sums(1);
  row.few_layouts = {kDecay, kBeta, kState, kLengths};
  if (is_layer) row.few_layouts = {kQ, kK, kV, kALog, kDtBias};
  row.loose = kHoldsInAnyOrder;
  row.special = false;  // in chunks a NaN times the weight 0 of later tokens
  row.fused = true;
  for (std::size_t i = 0; i < row.dtypes[0].size(); i++)
    if ((is_layer || i != kLengths) && (!is_state || i != kQ)) row.differentiable.push_back(i);
  // A layer of Qwen 3 Next.
  row.bench = Geometry{{{1, 512, 32, 128},
                        {1, 512, 32, 128},
                        {1, 512, 32, 128},
                        {1, 512, 32},
                        {1, 512, 32},
                        {1, 32, 128, 128},
                        {1}},
                       {64, 0}};
  if (with == With::kPlain) row.bench->operands.resize(kState);
  if (is_layer) row.bench = geometry_of({1, 512, 16, 32, 128, 128});
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kGatedDeltaRule, d[kQ], d[kDecay]}};
  };
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"delta_rule">() {
  return {row_of(false, With::kAll), row_of(true, With::kAll), row_of(false, With::kPlain),
          row_of(false, With::kLayer)};
}

}  // namespace wick::conformance
