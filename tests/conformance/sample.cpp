// sample: logits [B, V], uniform [B]. Geometries' options are the temperature in hundredths, top_k,
// top_p in hundredths, and min_p in hundredths if there is a fourth.
#include <stdexcept>

#include "bounds.h"
#include "placement.h"
#include "reference/fused.h"
#include "shapes.h"
#include "wick/abi/ops/sample.h"
#include "wick/ops/arrange.h"
#include "wick/ops/create.h"
#include "wick/ops/sample.h"
#include "wick/ops/shape.h"

namespace wick::conformance {
namespace {

SampleOptions options_of(const Case& c) {
  const std::vector<int64_t>& o = c.geometry.dims;
  return {.temperature = double(o.at(0)) / 100,
          .top_k = o.at(1),
          .top_p = double(o.at(2)) / 100,
          .min_p = o.size() > 3 ? double(o[3]) / 100 : 0};
}

reference::Samples samples(const std::vector<Array>& x, const Case& c) {
  const SampleOptions o = options_of(c);
  return reference::sample(x[0], x[1], {o.temperature, o.top_k, o.top_p, o.min_p});
}

/// Special: ids that are masked, ties, one that is sure; the ends of [0, 1).
Array make(std::size_t operand, const Case& c, Random& random) {
  const HostShape& shape = c.geometry.operands[operand];
  const bool special = c.values == Values::kSpecial;
  if (operand == 1) {
    return reference::build(DType::kF32, shape, [&](const Index&) -> Real {
      const int64_t which = special ? random.below(4) : 3;
      if (which == 0) return 0;
      if (which == 1) return 1 - 0x1p-24L;
      return std::floor(random.unit() * 0x1p24L) * 0x1p-24L;
    });
  }
  Array x = random_array(c.dtypes[0], shape, {-8, 8}, random);
  if (!special) return x;
  const Real masked = reference::round_to_format(
      c.dtypes[0], -std::numeric_limits<Real>::infinity());  // NaN where there is no infinity
  for (std::size_t begin = 0; begin < x.values.size(); begin += std::size_t(shape[1])) {
    for (int64_t i = 1; i < shape[1]; i++) {
      Real& value = x.values[begin + std::size_t(i)];
      const int64_t which = random.below(6);
      if (which == 0 && !std::isnan(masked)) value = masked;
      if (which == 1) value = x.values[begin];
      if (which == 2) value = 0;
    }
    // Nearly sure; at the lowest temperature the others have still a share that f32 holds, e^-72.
    if (random.below(4) == 0) x.values[begin + std::size_t(random.below(shape[1]))] = 28;
  }
  return x;
}

Row sample_row() {
  Row row;
  row.op = "sample";
  row.run = [](std::vector<Tensor> x, const Case& c) { return sample(x[0], x[1], options_of(c)); };
  row.reference = [](const std::vector<Array>& x, const Case& c) { return samples(x, c).result; };
  // An id beside the reference's is right where its share is as near to the uniform number, or to
  // top_p, as the exponentials and their sum may be off.
  row.or_else = [](const std::vector<Array>& x, const Case& c) { return samples(x, c).or_else; };
  row.make = make;
  for (const DType dtype : kFloats) row.dtypes.push_back({dtype, DType::kF32});
  const std::vector<int64_t> options[] = {
      {0, 0, 100},  {100, 0, 100}, {70, 5, 100},  {100, 0, 90},      {150, 40, 95},
      {50, 1, 100}, {100, 0, 1},   {1000, 9, 50}, {150, 0, 100, 20}, {120, 30, 97, 3}};
  for (const std::vector<int64_t>& o : options) {
    for (const auto& [b, v] :
         std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {3, 7}, {5, 50}, {2, 1025}, {4, 3000}}) {
      row.geometries.push_back({{{b, v}, {b}}, o});
    }
  }
  row.geometries.push_back({{{0, 5}, {0}}, {100, 0, 100}});
  row.long_geometries = {{{{3, 33347}, {3}}, {70, 50, 95}}, {{{5, 20011}, {5}}, {100, 0, 100}}};
  row.bench = Geometry{{{1, 128256}, {1}}, {80, 40, 95}};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kSample, d[0], DType::kI32}};
  };
  return row;
}

/// Operands: the drawn ids, whether rows grow, tokens, positions, state, history.
Array make_rows(std::size_t operand, const Case& c, Random& random) {
  const int64_t length = c.geometry.operands[5][1];
  return reference::build(DType::kI64, c.geometry.operands[operand], [&](const Index&) -> Real {
    if (operand == 0) return Real(random.below(9)) - 2;
    if (operand == 1) return Real(random.below(2));
    if (operand == 3) return Real(random.below(length + 2)) - 1;
    return Real(random.below(1000));
  });
}

Row append_row() {
  Row row;
  row.op = "append_tokens";
  row.run = [](std::vector<Tensor> x, const Case&) {
    Var tokens(x[2], false), positions(x[3], false), state(x[4], false), history(x[5], false);
    Var marked(zeros_like(x[2]), false);
    append_tokens_({tokens, marked, positions, state, history}, x[0], x[1]);
    const auto line = [](const Var& v) { return reshape(v, {v.tensor().numel()}); };
    return cat({line(tokens), line(marked), line(positions), line(state), line(history)}, 0);
  };
  row.reference = [](const std::vector<Array>& x, const Case&) {
    return reference::append_tokens(x[0], x[1], x[2], x[3], x[4], x[5]);
  };
  row.make = make_rows;
  row.dtypes = {std::vector<DType>(6, DType::kI64)};
  for (const auto& [b, s] : std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {5, 9}, {130, 33}})
    row.geometries.push_back({{{b}, {b, 1}, {b, 1}, {b, 1}, {b, 3}, {b, s}}});
  row.special = false;
  row.few_layouts = {2, 3, 4, 5};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kAppendTokens, d[0]}};
  };
  return row;
}

/// Logits that are no distribution.
void check_in_range(const Device& device) {
  constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN(),
                 kInfinity = std::numeric_limits<Real>::infinity();
  for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF64}) {
    for (const SampleOptions& options : {SampleOptions{}, SampleOptions{.temperature = 0},
                                         SampleOptions{.top_k = 2}, SampleOptions{.top_p = 0.5}}) {
      const Array logits{dtype,
                         {5, 3},
                         {kNan, kNan, kNan, 1, kNan, 2, kInfinity, kInfinity, 0, -kInfinity,
                          -kInfinity, -kInfinity, 0, -kInfinity, kInfinity}};
      const Array uniform{DType::kF32, {5}, std::vector<Real>(5, 0.75)};
      const Tensor ids = sample(upload(logits, device), upload(uniform, device), options);
      for (const Real id : download(ids).values) {
        if (!(0 <= id && id < 3))
          throw std::runtime_error(std::string(dtype_name(dtype)) + ": id " + number(id));
      }
    }
  }
}

/// A share of 1 and three of 2.7e-8, which f32 would add to it as nothing: the largest uniform
/// number falls into the first of them.
void check_small_shares(const Device& device) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kF64}) {
    const Array logits{dtype, {1, 4}, {0, -17.4375, -17.4375, -17.4375}};
    const Array uniform{DType::kF32, {1}, {1 - 0x1p-24L}};
    const Tensor id = sample(upload(logits, device), upload(uniform, device));
    if (const Real got = download(id).values[0]; got != 1)
      throw std::runtime_error(std::string(dtype_name(dtype)) + ": expected id 1, got " +
                               number(got));
  }
}

/// x [B]: temperatures. Dims: top_k, the other options in eighths.
Row settings_row() {
  Row row;
  row.op = "sample_settings";
  row.run = [](std::vector<Tensor> x, const Case& c) {
    const std::vector<int64_t>& o = c.geometry.dims;
    std::vector<SampleOptions> rows;
    for (const float temperature : x[0].to_vector<float>())
      rows.push_back({.temperature = temperature,
                      .top_k = o[0],
                      .top_p = double(o[1]) / 8,
                      .min_p = double(o[2]) / 8,
                      .repetition_penalty = double(o[3]) / 8,
                      .frequency_penalty = double(o[4]) / 8,
                      .presence_penalty = double(o[5]) / 8});
    return sample_settings(rows, x[0].device());
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    Result y;
    y.array = reference::build(DType::kF32, {x[0].shape[0], 7}, [&](const Index& at) -> Real {
      const int64_t column = at[1];
      if (column == 0) return x[0].values[std::size_t(at[0])];
      const Real option = Real(c.geometry.dims[std::size_t(column - 1)]);
      return column == 1 ? option : option / 8;
    });
    return y;
  };
  row.dtypes = {{DType::kF32}};
  row.geometries = {{{{1}}, {0, 8, 0, 8, 0, 0}}, {{{3}}, {40, 7, 1, 9, -3, 5}}};
  row.domain = {0, 2};
  row.special = false;
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"sample">() {
  return {sample_row(), append_row(), settings_row()};
}

template <>
std::vector<Behaviour> behaviours_of<"sample">() {
  return {{"sample", "logits that are no distribution give an id in range", check_in_range},
          {"sample", "shares below the digits of f32 are added to the others", check_small_shares}};
}

}  // namespace wick::conformance
