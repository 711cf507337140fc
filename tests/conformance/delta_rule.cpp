// gated_delta_rule: what it gives of each token, and the state. Options in geometries: the composite's
// chunk, and the scale in hundredths (0: 1 / sqrt(K)).
#include <cmath>

#include "reference/states.h"
#include "shapes.h"
#include "values.h"
#include "wick/abi/ops/delta_rule.h"
#include "wick/ops/delta_rule.h"

namespace wick::conformance {
namespace {

enum Operand : std::size_t { kQ, kK, kV, kDecay, kBeta, kState, kLengths };

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

/// Of plain calls the small ones: the kernels' loops are the same.
std::vector<Geometry> geometries(bool is_plain) {
  std::vector<Geometry> result;
  for (const Sizes& s : kSizes) {
    if (is_plain && s.b * s.t * s.h * s.k * s.v > kMaxOfPlain) continue;
    Geometry geometry{{{s.b, s.t, s.h, s.k},
                       {s.b, s.t, s.h, s.k},
                       {s.b, s.t, s.h, s.v},
                       {s.b, s.t, s.h},
                       {s.b, s.t, s.h},
                       {s.b, s.h, s.k, s.v},
                       {s.b}},
                      {s.chunk, s.scale}};
    if (is_plain) geometry.operands.resize(kState);
    result.push_back(geometry);
  }
  return result;
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

/// is_plain: without the operands that may be left out.
Row row_of(bool is_state, bool is_plain) {
  Row row;
  row.op = is_state   ? "gated_delta_rule(state)"
           : is_plain ? "gated_delta_rule(plain)"
                      : "gated_delta_rule";
  row.run = [=](std::vector<Tensor> x, const Case& c) {
    DeltaRuleOptions options{.scale = double(c.geometry.dims.at(1)) / 100,
                             .chunk = c.geometry.dims.at(0)};
    if (!is_plain) options.state = x[kState], options.lengths = x[kLengths];
    const TensorAndState result =
        gated_delta_rule(x[kQ], x[kK], x[kV], x[kDecay], x[kBeta], options);
    return is_state ? result.state : result.y;
  };
  row.reference = [=](const std::vector<Array>& x, const Case& c) {
    const auto given = [&](Operand operand) { return is_plain ? nullptr : &x[operand]; };
    const reference::TensorAndState result =
        reference::gated_delta_rule(x[kQ], x[kK], x[kV], x[kDecay], x[kBeta], given(kState),
                                    given(kLengths), Real(c.geometry.dims.at(1)) / 100);
    return is_state ? result.state : result.y;
  };
  row.make = value_of;
  // f64 first: mode grad takes its other operands as they are.
  for (const auto& [t, rest] : {std::pair{DType::kF64, DType::kF64},
                                {DType::kF8E4M3, DType::kF32},
                                {DType::kF8E5M2, DType::kF32},
                                {DType::kBf16, DType::kF32},
                                {DType::kF16, DType::kF32},
                                {DType::kF32, DType::kF32},
                                {DType::kBf16, DType::kBf16}}) {
    row.dtypes.push_back({t, t, t, rest, rest, rest, DType::kI64});
    if (is_plain) row.dtypes.back().resize(kState);
  }
  row.geometries = geometries(is_plain);
  row.tolerance = sums(1);
  row.few_layouts = {kDecay, kBeta, kState, kLengths};
  row.loose = kHoldsInAnyOrder;
  row.special = false;  // in chunks a NaN times the weight 0 of later tokens
  row.fused = true;
  for (std::size_t i = 0; i < (is_plain ? std::size_t(kState) : std::size_t(kLengths)); i++)
    if (!is_state || i != kQ) row.differentiable.push_back(i);
  // A layer of Qwen 3 Next.
  row.bench = Geometry{{{1, 512, 32, 128},
                        {1, 512, 32, 128},
                        {1, 512, 32, 128},
                        {1, 512, 32},
                        {1, 512, 32},
                        {1, 32, 128, 128},
                        {1}},
                       {64, 0}};
  if (is_plain) row.bench->operands.resize(kState);
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kGatedDeltaRule, d[0]}};
  };
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"delta_rule">() {
  return {row_of(false, false), row_of(true, false), row_of(false, true)};
}

}  // namespace wick::conformance
