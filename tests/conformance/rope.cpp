// rope, by the order of x's dims and what is a pair.
#include <cmath>

#include "reference/fused.h"
#include "shapes.h"
#include "values.h"
#include "wick/abi/ops/rope.h"
#include "wick/ops/rope.h"

namespace wick::conformance {
namespace {

struct Form {
  const char* op;
  Tensor (*run)(const Tensor& x, const Tensor& cos, const Tensor& sin, const Tensor& positions);
  reference::Rope reference;
};
const Form kForms[] = {{"rope", rope, {.interleaved = false, .token_dim = 2}},
                       {"rope_i", rope_i, {.interleaved = true, .token_dim = 2}},
                       {"rope_thd", rope_thd, {.interleaved = false, .token_dim = 1}}};

/// cos or sin of the angles of positions [P, D / 2], in the tables' dtype.
Array table(bool is_sin, const Case& c) {
  const HostShape& shape = c.geometry.operands[1];
  const DType dtype = c.dtypes[1];
  return reference::build(dtype, shape, [&](const Index& index) {
    const Real angle = Real(index[0]) * std::pow(Real(10000), -Real(index[1]) / Real(shape[1]));
    return reference::round_to_format(dtype, is_sin ? std::sin(angle) : std::cos(angle));
  });
}

Row row_of(const Form& form) {
  Row row;
  row.op = form.op;
  row.run = [form](std::vector<Tensor> x, const Case&) { return form.run(x[0], x[1], x[2], x[3]); };
  row.reference = [form](const std::vector<Array>& x, const Case&) {
    return reference::rope(x[0], x[1], x[2], x[3], form.reference);
  };
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    const HostShape& shape = c.geometry.operands[operand];
    if (operand == 3) return random_ids(shape, c.geometry.operands[1][0], random, c.dtypes[3]);
    if (operand > 0) return table(operand == 2, c);
    return c.values == Values::kSpecial ? special_array(c.dtypes[0], shape, 0, random)
                                        : random_array(c.dtypes[0], shape, {-8, 8}, random);
  };
  // f64 first: mode grad takes its other operands as they are.
  row.dtypes = {{DType::kF64, DType::kF64, DType::kF64, DType::kI64}};
  for (const DType d : {DType::kF8E4M3, DType::kF8E5M2, DType::kBf16, DType::kF16, DType::kF32}) {
    row.dtypes.push_back({d, DType::kF32, DType::kF32, DType::kI64});
  }
  for (const DType ids : kIds) row.dtypes.push_back({DType::kF32, DType::kF32, DType::kF32, ids});
  const bool tokens_first = form.reference.token_dim == 1;
  const auto heads = [tokens_first](int64_t b, int64_t t, int64_t h, int64_t d) {
    return tokens_first ? HostShape{b, t, h, d} : HostShape{b, h, t, d};
  };
  // x, the tables [P, D / 2] and positions [B, T]
  for (const auto& [b, t, h, d, p] : std::vector<std::array<int64_t, 5>>{{1, 1, 1, 2, 1},
                                                                         {1, 3, 2, 4, 2},
                                                                         {2, 1, 3, 8, 40},
                                                                         {2, 7, 1, 6, 9},
                                                                         {0, 3, 2, 4, 5},
                                                                         {1, 33, 4, 32, 64},
                                                                         {2, 5, 3, 80, 100},
                                                                         {3, 17, 4, 64, 20},
                                                                         {1, 9, 2, 128, 16},
                                                                         {2, 70, 4, 64, 300}}) {
    row.geometries.push_back({{heads(b, t, h, d), {p, d / 2}, {p, d / 2}, {b, t}}});
  }
  row.long_geometries = {{{heads(3, 129, 4, 66), {300, 33}, {300, 33}, {3, 129}}}};
  // Two products and their sum, each rounded.
  row.tolerance = sums(1);
  row.fused = true;
  row.differentiable = {0, 1, 2};
  row.bench = Geometry{{heads(4, 512, 16, 64), {2048, 32}, {2048, 32}, {4, 512}}};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kRope, d[0]}};
  };
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"rope">() {
  std::vector<Row> rows;
  for (const Form& form : kForms) rows.push_back(row_of(form));
  return rows;
}

}  // namespace wick::conformance
