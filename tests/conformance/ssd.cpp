// ssd: what it gives of each token, and the state. Options in geometries: the composite's chunk; with
// dt_bias, the limits of the step in hundredths.
#include "wick/abi/ops/ssd.h"
#include "reference/states.h"
#include "shapes.h"
#include "values.h"
#include "wick/ops/ssd.h"

namespace wick::conformance {
namespace {

enum Operand : std::size_t { kX, kDt, kA, kB, kC, kD, kState, kLengths };

constexpr std::size_t kDtBias = kD;  // of rows with steps, whose last operand it is

/// The operands of a row: all but dt_bias; those that may not be left out; and dt_bias beside them.
enum class With { kAll, kPlain, kSteps };

struct Sizes {
  int64_t b, t, h, p, g, n;
  int64_t chunk = 64;
};

constexpr int64_t kMaxOfPlain = 4096;  // products of a call

const Sizes kSizes[] = {
    {1, 1, 1, 1, 1, 1},    {1, 2, 2, 2, 1, 2},    {2, 3, 2, 1, 2, 2, 2}, {1, 5, 1, 3, 1, 2, 2},
    {2, 1, 4, 16, 2, 16},  {3, 7, 4, 5, 2, 3, 4}, {0, 3, 2, 4, 1, 4},    {2, 0, 2, 4, 1, 4},
    {1, 2, 3, 0, 1, 4},    {1, 2, 3, 4, 1, 0},    {1, 70, 2, 17, 1, 33}, {2, 65, 2, 8, 1, 64, 16},
    {1, 1, 3, 64, 1, 128}, {1, 5, 2, 64, 1, 128}, {1, 4, 1, 3, 1, 200},  {1, 3, 2, 20, 2, 256},
    {1, 3, 1, 7, 1, 500},  {1, 130, 1, 4, 1, 16},
};

/// Of calls without a state the small ones: the kernels' loops are the same.
std::vector<Geometry> geometries(With with) {
  std::vector<Geometry> result;
  for (const Sizes& s : kSizes) {
    if (with != With::kAll && s.b * s.t * s.h * s.p * s.n > kMaxOfPlain) continue;
    Geometry geometry{{{s.b, s.t, s.h, s.p},
                       {s.b, s.t, s.h},
                       {s.h},
                       {s.b, s.t, s.g, s.n},
                       {s.b, s.t, s.g, s.n},
                       {s.h},
                       {s.b, s.h, s.p, s.n},
                       {s.b}},
                      {s.chunk}};
    if (with != With::kAll) geometry.operands.resize(with == With::kPlain ? kD : kDtBias + 1);
    if (with == With::kSteps) {
      geometry.dims.push_back(s.t % 2 ? 0 : 30);  // else no limits but those of softplus
      geometry.dims.push_back(s.t % 2 ? 100'000 : 150);
    }
    result.push_back(geometry);
  }
  return result;
}

Array value_of(std::size_t operand, const Case& c, Random& random) {
  const bool has_steps = c.geometry.dims.size() > 1;
  const HostShape& shape = c.geometry.operands[operand];
  const DType dtype = c.dtypes[operand];
  if (operand == kLengths && !has_steps)
    return random_ids(shape, c.geometry.operands[kX][1] + 2, random);
  const Domain domain = operand == kDt  ? (has_steps ? Domain{-3, 3} : Domain{0.05, 1})
                        : operand == kA ? Domain{-2, -0.1}
                                        : Domain{-2, 2};
  return random_array(dtype, shape, domain, random);
}

Row row_of(bool is_state, With with) {
  const bool is_plain = with == With::kPlain, has_steps = with == With::kSteps;
  Row row;
  row.op = is_state ? "ssd(state)" : is_plain ? "ssd(plain)" : has_steps ? "ssd(steps)" : "ssd";
  row.run = [=](std::vector<Tensor> x, const Case& c) {
    SsdOptions options{.chunk = c.geometry.dims.at(0)};
    if (with == With::kAll)
      options.d = x[kD], options.state = x[kState], options.lengths = x[kLengths];
    if (has_steps) {
      options.dt_bias = x[kDtBias];
      options.step_limit = {double(c.geometry.dims[1]) / 100, double(c.geometry.dims[2]) / 100};
    }
    const TensorAndState result = ssd(x[kX], x[kDt], x[kA], x[kB], x[kC], options);
    return is_state ? result.state : result.y;
  };
  row.reference = [=](const std::vector<Array>& x, const Case& c) {
    const auto given = [&](Operand operand) { return with == With::kAll ? &x[operand] : nullptr; };
    const auto limit = [&](std::size_t i) {
      return has_steps ? Real(c.geometry.dims[i]) / 100 : Real(0);
    };
    const reference::TensorAndState result =
        reference::ssd(x[kX], x[kDt], x[kA], x[kB], x[kC], given(kD), given(kState),
                       given(kLengths), has_steps ? &x[kDtBias] : nullptr, limit(1), limit(2));
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
    row.dtypes.push_back({t, rest, rest, t, t, rest, rest, DType::kI64});
    if (is_plain) row.dtypes.back().resize(kD);
    if (has_steps) row.dtypes.back().resize(kDtBias + 1);
  }
  row.geometries = geometries(with);
  row.tolerance = sums(1);
  // A sum of equal terms errs by one rounding's bias for each, more than a bound by log2(N) says.
  row.distinct = {kB, kC};
  row.few_layouts = {kDt, kA, kD, kState, kLengths};
  if (has_steps) row.few_layouts = {kX, kA, kB, kC, kDtBias};
  row.loose = kHoldsInAnyOrder;
  row.special = false;  // in chunks a NaN times the weight 0 of later tokens
  row.fused = true;
  for (std::size_t i = 0; i < row.dtypes[0].size(); i++)
    if (i != kLengths && (!is_state || (i != kC && i != kD))) row.differentiable.push_back(i);
  // A layer of 80 heads, as Mamba 2 of 2.7 billion weights has.
  row.bench = Geometry{{{1, 512, 80, 64},
                        {1, 512, 80},
                        {80},
                        {1, 512, 1, 128},
                        {1, 512, 1, 128},
                        {80},
                        {1, 80, 64, 128},
                        {1}},
                       {64}};
  if (with != With::kAll) row.bench->operands.resize(is_plain ? kD : kDtBias + 1);
  if (has_steps) row.bench->dims = {64, 0, 100'000};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kSsd, d[kX], d[kDt]}};
  };
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"ssd">() {
  return {row_of(false, With::kAll), row_of(true, With::kAll), row_of(false, With::kPlain),
          row_of(false, With::kSteps)};
}

}  // namespace wick::conformance
