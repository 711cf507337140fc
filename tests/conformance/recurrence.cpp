// Recurrences along the tokens of rows, each with a row for the state that it returns.
#include "reference/recurrence.h"

#include "shapes.h"
#include "values.h"
#include "wick/abi/ops/recurrence.h"
#include "wick/ops/recurrence.h"

namespace wick::conformance {
namespace {

/// Which of the two outputs a row compares.
enum class Output { kY, kState };

const Tensor& chosen(const TensorAndState& y, Output output) {
  return output == Output::kY ? y.y : y.state;
}
const Result& chosen(const reference::ResultAndState& y, Output output) {
  return output == Output::kY ? y.y : y.state;
}

/// The i-th option of the case's dims.
bool option(const Case& c, std::size_t i) { return c.geometry.dims[i] != 0; }
Tensor given(const Case& c, std::size_t i, const Tensor& x) { return option(c, i) ? x : Tensor(); }
const Array* given(const Case& c, std::size_t i, const Array& x) {
  return option(c, i) ? &x : nullptr;
}

struct Sizes {
  int64_t b, t, e, k;
};

// The dims: whether it has bias, state and lengths, and silu.
Row conv_row(Output output) {
  Row row;
  row.op = output == Output::kY ? "causal_conv1d" : "causal_conv1d_state";
  row.loop = "causal_conv1d";
  row.run = [output](std::vector<Tensor> x, const Case& c) {
    return chosen(causal_conv1d(x[0], x[1],
                                {.bias = given(c, 0, x[2]),
                                 .state = given(c, 1, x[3]),
                                 .lengths = given(c, 2, x[4]),
                                 .silu = option(c, 3)}),
                  output);
  };
  row.reference = [output](const std::vector<Array>& x, const Case& c) {
    return chosen(reference::causal_conv1d(x[0], x[1], given(c, 0, x[2]), given(c, 1, x[3]),
                                           given(c, 2, x[4]), option(c, 3)),
                  output);
  };
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    const HostShape& shape = c.geometry.operands[operand];
    if (operand == 4) return random_ids(shape, c.geometry.operands[0][1] + 1, random, c.dtypes[4]);
    if (operand == 0 && c.values == Values::kSpecial)
      return sprinkled_array(c.dtypes[0], shape, {-4, 4}, random);
    return random_array(c.dtypes[operand], shape, {-4, 4}, random);
  };
  for (const DType d : kFloats) row.dtypes.push_back({d, d, d, d, DType::kI64});
  for (const DType ids : {DType::kI32, DType::kU8})
    row.dtypes.push_back({DType::kF32, DType::kF32, DType::kF32, DType::kF32, ids});
  const auto geometry = [](Sizes s, std::vector<int64_t> options) {
    return Geometry{{{s.b, s.t, s.e}, {s.e, s.k}, {s.e}, {s.b, s.k - 1, s.e}, {s.b}},
                    std::move(options)};
  };
  row.geometries = {geometry({1, 1, 1, 1}, {0, 0, 0, 0}),   geometry({1, 1, 3, 4}, {1, 1, 0, 1}),
                    geometry({2, 5, 3, 2}, {0, 0, 1, 0}),   geometry({3, 2, 5, 4}, {1, 1, 1, 1}),
                    geometry({0, 3, 2, 4}, {1, 1, 1, 0}),   geometry({2, 0, 3, 3}, {0, 1, 0, 0}),
                    geometry({1, 19, 70, 3}, {1, 0, 0, 0}), geometry({2, 40, 33, 4}, {0, 1, 1, 1}),
                    geometry({1, 300, 5, 7}, {1, 1, 0, 1}), geometry({2, 9, 130, 16}, {1, 1, 1, 0}),
                    geometry({2, 3, 7, 1}, {1, 0, 1, 1})};
  row.long_geometries = {geometry({3, 299, 517, 4}, {1, 1, 1, 1})};
  if (output == Output::kY) row.tolerance = sums(3);
  row.fused = true;
  row.differentiable = {0, 1, 2, 3};
  row.grad_domains = {{-1, 1}};
  row.bench = geometry({1, 512, 4096, 4}, {1, 1, 0, 1});
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kCausalConv1d, d[0]}};
  };
  return row;
}

// The dims: whether it has a state and lengths.
Row scan_row(Output output) {
  Row row;
  row.op = output == Output::kY ? "linear_scan" : "linear_scan_state";
  row.loop = "linear_scan";
  row.run = [output](std::vector<Tensor> x, const Case& c) {
    return chosen(
        linear_scan(x[0], x[1], {.state = given(c, 0, x[2]), .lengths = given(c, 1, x[3])}),
        output);
  };
  row.reference = [output](const std::vector<Array>& x, const Case& c) {
    return chosen(reference::linear_scan(x[0], x[1], given(c, 0, x[2]), given(c, 1, x[3])), output);
  };
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    const HostShape& shape = c.geometry.operands[operand];
    if (operand == 3) return random_ids(shape, c.geometry.operands[0][1] + 1, random, c.dtypes[3]);
    return random_array(c.dtypes[operand], shape, operand == 0 ? Domain{-1, 1} : Domain{-8, 8},
                        random);
  };
  row.dtypes = {{DType::kF64, DType::kF64, DType::kF64, DType::kI64}};
  for (const DType d : {DType::kF8E4M3, DType::kF8E5M2, DType::kBf16, DType::kF16, DType::kF32})
    row.dtypes.push_back({d, d, DType::kF32, DType::kI64});
  row.dtypes.push_back({DType::kF32, DType::kF32, DType::kF32, DType::kI32});
  const auto geometry = [](int64_t b, int64_t t, int64_t e, std::vector<int64_t> options) {
    return Geometry{{{b, t, e}, {b, t, e}, {b, e}, {b}}, std::move(options)};
  };
  row.geometries = {geometry(1, 1, 1, {0, 0}),    geometry(1, 1, 5, {1, 0}),
                    geometry(2, 7, 3, {0, 1}),    geometry(3, 4, 5, {1, 1}),
                    geometry(0, 3, 2, {1, 1}),    geometry(2, 0, 3, {1, 0}),
                    geometry(1, 70, 33, {0, 0}),  geometry(2, 129, 9, {1, 1}),
                    geometry(1, 16, 140, {0, 0}), geometry(2, 20, 2, {1, 0})};
  row.long_geometries = {geometry(3, 299, 517, {1, 1})};
  row.tolerance = sums(2);
  row.special = false;  // infinities cancel as the order of the products has it
  row.fused = true;
  row.differentiable = {0, 1, 2};
  row.grad_domains = {{-1, 1}};
  row.bench = geometry(1, 512, 4096, {1, 0});
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kLinearScan, d[0]}};
  };
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"recurrence">() {
  return {conv_row(Output::kY), conv_row(Output::kState), scan_row(Output::kY),
          scan_row(Output::kState)};
}

}  // namespace wick::conformance
