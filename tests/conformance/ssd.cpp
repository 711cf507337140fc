// ssd: what it gives of each token, and the state. Options in geometries: the composite's chunk.
#include "wick/abi/ops/ssd.h"
#include "reference/states.h"
#include "shapes.h"
#include "values.h"
#include "wick/ops/ssd.h"

namespace wick::conformance {
namespace {

enum Operand : std::size_t { kX, kDt, kA, kB, kC, kD, kState, kLengths, kNumOperands };

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

/// Of plain calls the small ones: the kernels' loops are the same.
std::vector<Geometry> geometries(bool is_plain) {
  std::vector<Geometry> result;
  for (const Sizes& s : kSizes) {
    if (is_plain && s.b * s.t * s.h * s.p * s.n > kMaxOfPlain) continue;
    Geometry geometry{{{s.b, s.t, s.h, s.p},
                       {s.b, s.t, s.h},
                       {s.h},
                       {s.b, s.t, s.g, s.n},
                       {s.b, s.t, s.g, s.n},
                       {s.h},
                       {s.b, s.h, s.p, s.n},
                       {s.b}},
                      {s.chunk}};
    if (is_plain) geometry.operands.resize(kD);
    result.push_back(geometry);
  }
  return result;
}

Array value_of(std::size_t operand, const Case& c, Random& random) {
  const HostShape& shape = c.geometry.operands[operand];
  const DType dtype = c.dtypes[operand];
  if (operand == kLengths) return random_ids(shape, c.geometry.operands[kX][1] + 2, random);
  const Domain domain = operand == kDt  ? Domain{0.05, 1}
                        : operand == kA ? Domain{-2, -0.1}
                                        : Domain{-2, 2};
  return random_array(dtype, shape, domain, random);
}

/// is_plain: without the operands that may be left out.
Row row_of(bool is_state, bool is_plain) {
  Row row;
  row.op = is_state ? "ssd(state)" : is_plain ? "ssd(plain)" : "ssd";
  row.run = [=](std::vector<Tensor> x, const Case& c) {
    SsdOptions options{.chunk = c.geometry.dims.at(0)};
    if (!is_plain) options.d = x[kD], options.state = x[kState], options.lengths = x[kLengths];
    const TensorAndState result = ssd(x[kX], x[kDt], x[kA], x[kB], x[kC], options);
    return is_state ? result.state : result.y;
  };
  row.reference = [=](const std::vector<Array>& x, const Case&) {
    const auto given = [&](Operand operand) { return is_plain ? nullptr : &x[operand]; };
    const reference::TensorAndState result = reference::ssd(
        x[kX], x[kDt], x[kA], x[kB], x[kC], given(kD), given(kState), given(kLengths));
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
  }
  row.geometries = geometries(is_plain);
  row.tolerance = sums(1);
  // A sum of equal terms errs by one rounding's bias for each, more than a bound by log2(N) says.
  row.distinct = {kB, kC};
  row.few_layouts = {kDt, kA, kD, kState, kLengths};
  row.loose = kHoldsInAnyOrder;
  row.special = false;  // in chunks a NaN times the weight 0 of later tokens
  row.fused = true;
  for (std::size_t i = 0; i < (is_plain ? std::size_t(kD) : std::size_t(kLengths)); i++)
    if (!is_state || (i != kC && i != kD)) row.differentiable.push_back(i);
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
  if (is_plain) row.bench->operands.resize(kD);
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kSsd, d[0]}};
  };
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"ssd">() {
  return {row_of(false, false), row_of(true, false), row_of(false, true)};
}

}  // namespace wick::conformance
