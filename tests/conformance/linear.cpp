// linear with weights of another dtype than x: floats, and blocks, whose shapes count blocks in the last
// dim.
#include <algorithm>
#include <cmath>
#include <utility>

#include "blocks.h"
#include "epilogues.h"
#include "reference/fused.h"
#include "shapes.h"
#include "wick/abi/ops/linear_epilogue.h"
#include "wick/abi/ops/matmul.h"
#include "wick/ops/arrange.h"
#include "wick/ops/cast.h"
#include "wick/ops/matmul.h"
#include "wick/ops/shape.h"

namespace wick::conformance {
namespace {

const std::vector<DType> kActivations = {DType::kF32, DType::kF16, DType::kBf16};

/// Of a case {x, weight}.
DType weights_of(const Case& c) { return c.dtypes[1]; }

Array random_x(const Case& c, const HostShape& shape, Random& random) {
  if (c.values == Values::kSpecial) return sprinkled_array(c.dtypes[0], shape, {-1, 1}, random);
  return random_array(c.dtypes[0], shape, {-1, 1}, random);
}

/// The product in x's dtype.
Result product(const Array& x, const Array& weight) {
  Result y = reference::linear(x, weight, nullptr);
  y.array.dtype = x.dtype;
  return y;
}

/// Results of the same rows, one beside the other.
Result side_by_side(const std::vector<Result>& parts, DType dtype) {
  Result all = parts[0];
  HostShape shape = all.array.shape;
  shape.back() = 0;
  for (const Result& part : parts) shape.back() += part.array.shape.back();
  all.array.values.clear(), all.magnitude.clear();
  const std::size_t rows = parts[0].array.values.size() / std::size_t(parts[0].array.shape.back());
  for (std::size_t row = 0; row < rows; row++)
    for (const Result& part : parts) {
      const auto columns = part.array.shape.back(), first = int64_t(row) * columns;
      const auto append = [&](auto& to, const auto& from) {
        to.insert(to.end(), from.begin() + first, from.begin() + first + columns);
      };
      append(all.array.values, part.array.values);
      append(all.magnitude, part.magnitude);
    }
  all.array.shape = shape, all.array.dtype = dtype;
  return all;
}

/// The rows of weights [N + 1, K + a block] but the first one and the first block of each: whole rows of
/// a larger table.
Tensor inner_rows(const Tensor& table) {
  const int64_t block = facts_of(table.dtype()).block_elements;
  return narrow(narrow(table, 0, 1, table.size(0) - 1), 1, block, table.size(1) - block);
}
Array inner_rows(const Array& table, int64_t block) {
  HostShape shape = table.shape;
  shape[0] -= 1, shape[1] -= block;
  return reference::build(table.dtype, shape, [&](const Index& at) {
    return table.values[std::size_t(reference::position(table.shape, {at[0] + 1, at[1] + block}))];
  });
}

Result product_with_blocks(const Array& x, const Array& bytes, const Case& c) {
  const Array table = reference::dequantize(weights_of(c), bytes);
  const int64_t block = facts_of(weights_of(c)).block_elements;
  return product(x, c.geometry.dims[0] ? inner_rows(table, block) : table);
}
Tensor linear_of_blocks(const std::vector<Tensor>& x, const Case& c) {
  const Tensor table = as_blocks(weights_of(c), x[1]);
  return linear(x[0], c.geometry.dims[0] ? inner_rows(table) : table);
}

/// x [..., K] and weights [N, K], or where dims say 1 a table that has them in it.
Row blocks_row() {
  Row row;
  row.op = "linear of blocks";
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    const HostShape& shape = c.geometry.operands[operand];
    if (operand == 0) return random_x(c, in_elements(weights_of(c), shape), random);
    return block_bytes(weights_of(c), shape, Values::kRandom, random);
  };
  row.run = [](std::vector<Tensor> x, const Case& c) {
    const ExactActivations exact;
    return linear_of_blocks(x, c);
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return product_with_blocks(x[0], x[1], c);
  };
  for (const DType weights : kBlocks)
    for (const DType x : kActivations) row.dtypes.push_back({x, weights});
  // Every number of rows up to 16, odd numbers of weights' rows.
  for (int64_t m = 1; m <= 16; m++)
    row.geometries.push_back({{{m, 1 + m % 3}, {3 + 2 * (m % 5), 1 + m % 3}}, {0}});
  for (const Geometry& more : std::vector<Geometry>{{{{2}, {5, 2}}, {0}},
                                                    {{{2, 3, 1}, {37, 1}}, {0}},
                                                    {{{1, 5}, {4, 6}}, {1}},
                                                    {{{7, 2}, {8, 3}}, {1}},
                                                    {{{0, 2}, {3, 2}}, {0}}})
    row.geometries.push_back(more);
  row.long_geometries = {{{{1, 3}, {211, 3}}, {0}}, {{{5, 2}, {157, 2}}, {0}}};
  row.tolerance = sums(2, 1);
  row.chosen_alone = true;
  row.fused = true;
  // A row of equal x makes terms alike, whose roundings add up beyond this bound.
  row.distinct = {0, 1};
  row.bench = Geometry{{{1, 16}, {4096, 16}}, {0}};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kLinear, d[0], d[1]}};
  };
  return row;
}

/// More rows than vector kernels take, in f32.
Row many_row() {
  Row row = blocks_row();
  row.op = "linear of blocks by many rows";
  row.loose = kHoldsOfItsOp;
  std::erase_if(row.dtypes, [](const auto& dtypes) { return dtypes[0] != DType::kF32; });
  row.geometries = {
      {{{17, 2}, {3, 2}}, {0}}, {{{19, 3}, {67, 4}}, {1}}, {{{2, 13, 1}, {70, 1}}, {0}}};
  row.long_geometries = {{{{31, 2}, {267, 2}}, {0}}};
  row.wide_geometries = {{{{17, 1}, {38920, 1}}, {0}}};
  row.bench = Geometry{{{32, 4}, {1024, 4}}, {0}};
  return row;
}

/// So many that cards decode the weights once for all.
Row decoded(Row row) {
  row.op += " decoded";
  row.geometries = {
      {{{33, 2}, {3, 2}}, {0}}, {{{40, 3}, {67, 4}}, {1}}, {{{3, 15, 1}, {70, 1}}, {0}}};
  row.long_geometries = {{{{131, 1}, {67, 1}}, {0}}};
  row.wide_geometries = {};
  row.bench = Geometry{{{512, 4}, {1024, 4}}, {0}};
  row.fused = false;
  row.kernels = nullptr;
  return row;
}

/// With f16 and bf16 cards round the weights for their matrix units.
Row narrow_row(Row row) {
  row.op += " of narrow x";
  row.dtypes.clear();
  for (const DType weights : kBlocks)
    for (const DType x : {DType::kF16, DType::kBf16}) row.dtypes.push_back({x, weights});
  row.tolerance = condition(2, 0);
  row.chosen_alone = false;
  row.loose = "matrix units multiply weights that are rounded to x's dtype; the CPU does not round";
  row.may_flush = {DType::kBf16, DType::kF16};
  return row;
}

bool is_of_one_row(const Geometry& g) {
  const HostShape& x = g.operands[0];
  return x.size() == 1 || (x.size() == 2 && x[0] == 1);
}
Row of_one_row(Row row) {
  std::erase_if(row.geometries, [](const Geometry& g) { return !is_of_one_row(g); });
  std::erase_if(row.long_geometries, [](const Geometry& g) { return !is_of_one_row(g); });
  row.op += " in one row";
  return row;
}
/// By default the CPU rounds x.
Row rounded(Row row) {
  row.op += " by rounded x";
  row.run = [](std::vector<Tensor> x, const Case& c) { return linear_of_blocks(x, c); };
  row.or_else = [](const std::vector<Array>& x, const Case& c) {
    return product_with_blocks(rounded_activations(x[0]), x[1], c);
  };
  row.may_flush = {};
  return row;
}

/// Columns for several turns of a GPU's block, and a row that it rounds in parts: of some formats.
Row large_rounded_row() {
  Row row = rounded(of_one_row(blocks_row()));
  row.op = "linear of blocks in one large row";
  row.dtypes = {{DType::kF32, DType::kQ4_K},
                {DType::kBf16, DType::kQ6_K},
                {DType::kF16, DType::kQ4_0},
                {DType::kBf16, DType::kQ8_0}};
  row.geometries = {{{{1, 1}, {6211, 1}}, {0}}, {{{1, 137}, {5, 137}}, {0}}};
  row.long_geometries = {};
  row.special = false;
  return row;
}
Row without_narrow(Row row) {
  std::erase_if(row.dtypes, [](const auto& dtypes) { return dtypes[0] != DType::kF32; });
  return row;
}

/// A few rows of f16 and bf16 on matrix units, unless x is exact.
Row few_narrow_row() {
  Row row = narrow_row(blocks_row());
  row.run = [](std::vector<Tensor> x, const Case& c) { return linear_of_blocks(x, c); };
  std::erase_if(row.geometries, is_of_one_row);
  std::erase_if(row.long_geometries, is_of_one_row);
  return row;
}

/// A shape that counts blocks, or of floats 32 of them, in elements.
HostShape elements_of(const Case& c, HostShape shape) {
  if (is_block(weights_of(c))) return in_elements(weights_of(c), shape);
  shape.back() *= 32;
  return shape;
}

/// `weights`: the operands that are weights, of the dtype of the first of them.
Row weights_row(const char* op, const std::vector<std::size_t>& weights) {
  Row row;
  row.op = op;
  row.make = [weights](std::size_t operand, const Case& c, Random& random) {
    const HostShape& shape = c.geometry.operands[operand];
    const bool is_weight = std::find(weights.begin(), weights.end(), operand) != weights.end();
    if (is_weight && is_block(weights_of(c)))
      return block_bytes(weights_of(c), shape, Values::kRandom, random);
    return random_array(c.dtypes[operand],
                        is_weight || operand == 0 ? elements_of(c, shape) : shape, {-1, 1}, random);
  };
  row.tolerance = condition(4, 1);  // the CPU rounds every step
  row.loose = kHoldsOfItsOp;
  row.special = false;
  row.distinct = {0};
  row.distinct.insert(row.distinct.end(), weights.begin(), weights.end());
  return row;
}
/// A case's operand of weights, for the op and for the reference.
Tensor weights_at(std::size_t i, const std::vector<Tensor>& x, const Case& c) {
  return is_block(weights_of(c)) ? as_blocks(weights_of(c), x[i]) : x[i];
}
Array weights_at(std::size_t i, const std::vector<Array>& x, const Case& c) {
  return is_block(weights_of(c)) ? reference::dequantize(weights_of(c), x[i]) : x[i];
}

using Run = Tensor (*)(const std::vector<Tensor>& x, const Case& c);

/// The same without rounding x.
template <Run run>
Tensor exactly(std::vector<Tensor> x, const Case& c) {
  const ExactActivations exact;
  return run(x, c);
}

Tensor run_epilogue(const std::vector<Tensor>& x, const Case& c) {
  const auto& dims = c.geometry.dims;
  return linear(
      x[0], weights_at(1, x, c), dims[1] ? x[2] : Tensor(),
      {.activation = kEpilogues[dims[0]].activation, .residual = dims[2] ? x[3] : Tensor()});
}
/// Dims: the activation, whether there are a bias and a residual.
Row epilogue_row() {
  Row row = weights_row("linear_mixed_epilogue of blocks", {1});
  row.run = exactly<run_epilogue>;
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    const auto& dims = c.geometry.dims;
    Result y = reference::linear(x[0], weights_at(1, x, c), dims[1] ? &x[2] : nullptr);
    y.array.dtype = x[0].dtype;
    add_epilogue(y, kEpilogues[dims[0]], dims[2] ? &x[3] : nullptr);
    return y;
  };
  for (const DType weights : kBlocks)
    for (const DType x : kActivations) row.dtypes.push_back({x, weights, x, x});
  int64_t i = 0;
  for (const int64_t m : {1, 2, 5, 13, 17, 35})
    for (const int64_t activation : {i % 5, (i + 2) % 5}) {
      const int64_t n = 5 + 4 * i++;
      row.geometries.push_back(
          {{{m, 1 + m % 2}, {n, 1 + m % 2}, {n}, {m, n}}, {activation, i & 1, i >> 1 & 1}});
    }
  return row;
}

Tensor run_parts(const std::vector<Tensor>& x, const Case& c) {
  std::vector<Tensor> weights, biases;
  for (std::size_t i = 0; i < std::size_t(c.geometry.dims[0]); i++) {
    weights.push_back(weights_at(1 + i, x, c));
    biases.push_back(c.geometry.dims[1] ? x[4 + i] : Tensor());
  }
  return cat(linear_parts(x[0], weights, biases), -1);
}
/// Dims: the number of weights, whether there are biases.
Row parts_row() {
  Row row = weights_row("linear_parts", {1, 2, 3});
  row.run = exactly<run_parts>;
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    std::vector<Result> parts;
    for (std::size_t i = 0; i < std::size_t(c.geometry.dims[0]); i++)
      parts.push_back(reference::linear(x[0], weights_at(1 + i, x, c),
                                        c.geometry.dims[1] ? &x[4 + i] : nullptr));
    return side_by_side(parts, x[0].dtype);
  };
  row.few_layouts = {1, 2, 3, 4, 5, 6};
  for (const DType x : kActivations) {
    for (const DType weights : kBlocks)
      row.dtypes.push_back({x, weights, weights, weights, x, x, x});
    row.dtypes.push_back({x, x, x, x, x, x, x});
  }
  for (const int64_t m : {1, 1, 1, 2})
    for (const int64_t parts : {2, 3}) {
      const int64_t i = int64_t(row.geometries.size()), k = 1 + i % 3;
      row.geometries.push_back(
          {{{m, k}, {5 + i, k}, {1 + i, k}, {18, k}, {5 + i}, {1 + i}, {18}}, {parts, i >> 1 & 1}});
    }
  return row;
}

/// Weights of blocks of several dtypes. Shapes of weights count blocks.
Row mixed_parts_row() {
  const auto dtype_at = [](std::size_t i, const Case& c) { return c.dtypes[i]; };
  Row row = parts_row();
  row.op = "linear_mixed_parts";
  row.make = [=](std::size_t operand, const Case& c, Random& random) {
    const HostShape& shape = c.geometry.operands[operand];
    if (1 <= operand && operand <= 3)
      return block_bytes(dtype_at(operand, c), shape, Values::kRandom, random);
    return random_array(c.dtypes[operand], operand == 0 ? in_elements(DType::kQ4_K, shape) : shape,
                        {-1, 1}, random);
  };
  row.run = [=](std::vector<Tensor> x, const Case& c) {
    const std::size_t count = std::size_t(c.geometry.dims[0]);
    std::vector<Tensor> weights, biases;
    for (std::size_t i = 1; i <= count; i++) {
      weights.push_back(as_blocks(dtype_at(i, c), x[i]));
      biases.push_back(c.geometry.dims[1] ? x[3 + i] : Tensor());
    }
    return cat(linear_parts(x[0], weights, biases), -1);
  };
  row.reference = [=](const std::vector<Array>& x, const Case& c) {
    std::vector<Result> parts;
    for (std::size_t i = 1; i <= std::size_t(c.geometry.dims[0]); i++)
      parts.push_back(reference::linear(x[0], reference::dequantize(dtype_at(i, c), x[i]),
                                        c.geometry.dims[1] ? &x[3 + i] : nullptr));
    return side_by_side(parts, x[0].dtype);
  };
  row.or_else = [reference = row.reference](const std::vector<Array>& x, const Case& c) {
    std::vector<Array> rounded = x;
    rounded[0] = rounded_activations(x[0]);
    return reference(rounded, c);
  };
  row.dtypes.clear();
  row.geometries.clear();
  // Of blocks of 256 elements alone: every operand's k counts the same blocks. One pair has no kernel.
  const std::pair<DType, DType> pairs[] = {
      {DType::kQ4_K, DType::kQ6_K},   {DType::kQ5_K, DType::kQ6_K},  {DType::kQ4_K, DType::kQ5_K},
      {DType::kQ3_K, DType::kQ5_K},   {DType::kQ3_K, DType::kQ4_K},  {DType::kQ2_K, DType::kQ4_K},
      {DType::kQ5_K, DType::kIQ4_XS}, {DType::kIQ2_S, DType::kTQ1_0}};
  for (std::size_t i = 0; i < std::size(pairs); i++) {
    const DType x = kActivations[i % 3];
    const auto [a, b] = pairs[i];
    row.dtypes.push_back({x, a, a, b, x, x, x});
    row.dtypes.push_back({x, b, a, b, x, x, x});
  }
  for (const int64_t m : {1, 1, 2})
    for (const int64_t parts : {2, 3}) {
      const int64_t i = int64_t(row.geometries.size()), k = 1 + i % 3;
      row.geometries.push_back(
          {{{m, k}, {5 + i, k}, {1 + i, k}, {18, k}, {5 + i}, {1 + i}, {18}}, {parts, i >> 1 & 1}});
    }
  row.geometries.push_back(
      {{{1, 2}, {4099, 2}, {1030, 2}, {515, 2}, {4099}, {1030}, {515}}, {3, 0}});
  row.bench =
      Geometry{{{1, 16}, {4096, 16}, {1024, 16}, {1024, 16}, {4096}, {1024}, {1024}}, {3, 0}};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kLinearMixedParts, d[0], DType::kU8}};
  };
  return row;
}

Tensor run_gated(const std::vector<Tensor>& x, const Case& c) {
  return gated_linear(x[0], weights_at(1, x, c), weights_at(2, x, c),
                      kEpilogues[c.geometry.dims[0]].activation);
}
/// Dims: the activation.
Row gated_row() {
  Row row = weights_row("gated_linear", {1, 2});
  row.run = exactly<run_gated>;
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    const ActivationRow& f = kEpilogues[c.geometry.dims[0]];
    Result y = product(x[0], weights_at(1, x, c));
    const Result up = product(x[0], weights_at(2, x, c));
    add_epilogue(y, f, nullptr);
    for (std::size_t i = 0; i < y.array.values.size(); i++) {
      Real& value = y.array.values[i];
      y.magnitude[i] =
          y.magnitude[i] * std::fabs(up.array.values[i]) + std::fabs(value) * up.magnitude[i];
      value *= up.array.values[i];
    }
    return y;
  };
  for (const DType x : kActivations) {
    for (const DType weights : kBlocks) row.dtypes.push_back({x, weights, weights});
    row.dtypes.push_back({x, x, x});
  }
  for (const int64_t m : {1, 3})
    for (int64_t activation = 0; activation < 5; activation++) {
      const int64_t n = 3 + 7 * activation, k = 1 + activation % 3;
      row.geometries.push_back({{{m, k}, {n, k}, {n, k}}, {activation}});
    }
  return row;
}

/// Keeps of each format the dtypes beside one dtype of x, of `of_x` in turn: the others differ in rows that
/// compare all of them.
void take_turns(Row& row, const std::vector<DType>& of_x) {
  std::erase_if(row.dtypes, [&](const auto& dtypes) {
    const auto format = std::find(kBlocks.begin(), kBlocks.end(), dtypes[1]);
    return format != kBlocks.end() &&
           dtypes[0] != of_x[std::size_t(format - kBlocks.begin()) % of_x.size()];
  });
}

/// Several rows of f16 and bf16 by several weights of blocks: on matrix units, unless x is exact.
Row of_narrow_rows(Row row) {
  row.op += " of narrow rows";
  std::erase_if(row.dtypes, [](const auto& dtypes) { return !is_block(dtypes[1]); });
  take_turns(row, {DType::kF16, DType::kBf16});
  std::erase_if(row.geometries, [](const Geometry& g) { return g.operands[0][0] == 1; });
  row.loose = "matrix units multiply weights that are rounded to x's dtype; the CPU does not round";
  row.may_flush = {DType::kBf16, DType::kF16};
  row.tolerance = condition(2, 0);
  return row;
}
Row narrow_parts_row() {
  Row row = of_narrow_rows(parts_row());
  for (const int64_t m : {2, 7, 16, 17, 32})
    for (const int64_t parts : {2, 3}) {
      const int64_t i = int64_t(row.geometries.size()), k = 1 + i % 3;
      row.geometries.push_back(
          {{{m, k}, {4 + i, k}, {33, k}, {19, k}, {4 + i}, {33}, {19}}, {parts, i >> 1 & 1}});
    }
  row.run = run_parts;
  return row;
}
Row narrow_gated_row() {
  Row row = of_narrow_rows(gated_row());
  for (const int64_t m : {2, 8, 16, 19})
    for (const int64_t activation : {m % 5, (m + 2) % 5})
      row.geometries.push_back(
          {{{m, 2}, {9 + 8 * activation, 2}, {9 + 8 * activation, 2}}, {activation}});
  row.run = run_gated;
  return row;
}
Row narrow_epilogue_row() {
  const Row all = epilogue_row();
  Row row = of_narrow_rows(all);
  row.tolerance = all.tolerance;
  row.run = run_epilogue;
  return row;
}

/// One row by weights of blocks, which cards and the CPU round by default.
Row of_one_rounded_row(Row row, Run run) {
  row.op += " by rounded x";
  std::erase_if(row.dtypes, [](const auto& dtypes) { return !is_block(dtypes[1]); });
  take_turns(row, kActivations);
  std::erase_if(row.geometries, [](const Geometry& g) { return g.operands[0][0] != 1; });
  row.run = run;
  row.or_else = [of = row.reference](const std::vector<Array>& x, const Case& c) {
    std::vector<Array> rounded = x;
    rounded[0] = rounded_activations(x[0]);
    return of(rounded, c);
  };
  return row;
}

/// Weights of floats of another dtype than x.
Row float_epilogue_row() {
  Row row = epilogue_row();
  row.op = "linear_mixed_epilogue of floats";
  row.dtypes.clear();
  for (const DType x : kActivations)
    for (const DType weights : kActivations)
      if (x != weights) row.dtypes.push_back({x, weights, x, x});
  return row;
}

constexpr double kEps = 1e-5;

/// The row's op of rms_norm(x, scale) in place of x, with the scale as the last operand. x and the scale are
/// integers whose products are rounded to themselves: a norm before the product leaves a number near another
/// side of a half otherwise.
Row of_normalized(Row row, const std::string& op) {
  row.op = op;
  if (row.dtypes.size() > 3 * kBlocks.size()) take_turns(row, kActivations);
  const std::size_t scale = row.geometries[0].operands.size();
  for (auto& dtypes : row.dtypes) dtypes.push_back(dtypes[0]);
  for (Geometry& g : row.geometries) g.operands.push_back({g.operands[0].back()});
  if (row.bench) row.bench->operands.push_back({row.bench->operands[0].back()});
  row.make = [make = row.make, scale](std::size_t operand, const Case& c, Random& random) {
    if (operand != 0 && operand != scale) return make(operand, c, random);
    Array y = make(0, c, random);
    const std::size_t size = std::size_t(y.shape.back());
    if (operand == scale) y.shape = {y.shape.back()}, y.values.resize(size);
    for (std::size_t i = 0; i < y.values.size(); i++) {
      const std::size_t at = i % size, run = at / 32;
      const bool is_largest = at % 32 == 7 * run % 32;
      if (operand == scale)
        y.values[i] = is_largest || y.values[i] > 0 ? 2 : 1;
      else
        y.values[i] = is_largest ? 127 : std::nearbyint(100 * y.values[i]);
    }
    return y;
  };
  row.reference = [of = row.reference](const std::vector<Array>& x, const Case& c) {
    std::vector<Array> inputs(x.begin(), x.end() - 1);
    inputs[0].values = reference::rms_norm(x[0], x.back(), kEps).array.values;
    return of(inputs, c);
  };
  row.or_else = nullptr;
  row.tolerance = condition(2, 0.5);  // where the norm is a step of its own, its result is rounded
  row.few_layouts.push_back(scale);
  row.distinct.push_back(scale);
  return row;
}
Row normalized_parts_row(Row row) {
  row = of_normalized(row, "rms_norm_" + row.op);
  // One of several turns of a block takes the emulator long; the row without a norm has it.
  std::erase_if(row.geometries, [](const Geometry& g) { return g.operands[1][0] > 4000; });
  row.run = [](std::vector<Tensor> x, const Case& c) {
    const std::size_t count = std::size_t(c.geometry.dims[0]);
    std::vector<Tensor> weights, biases;
    for (std::size_t i = 1; i <= count; i++) {
      weights.push_back(is_block(c.dtypes[i]) ? as_blocks(c.dtypes[i], x[i]) : x[i]);
      biases.push_back(c.geometry.dims[1] ? x[3 + i] : Tensor());
    }
    return cat(rms_norm_linear_parts(x[0], x.back(), weights, biases, kEps), -1);
  };
  if (row.kernels)
    row.kernels = [](const std::vector<DType>& d) {
      return std::vector<KernelQuestion>{{kRmsNormLinearMixedParts, d[0], DType::kU8}};
    };
  return row;
}
Row normalized_gated_row() {
  Row row = of_normalized(gated_row(), "rms_norm_gated_linear");
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return rms_norm_gated_linear(x[0], x.back(), weights_at(1, x, c), weights_at(2, x, c),
                                 kEpilogues[c.geometry.dims[0]].activation, kEps);
  };
  return row;
}

/// The gradient of x, and what has no kernel.
Row wide_row() {
  Row row = blocks_row();
  row.op = "linear of blocks in f64";
  row.loose = kHoldsOfItsOp;
  row.dtypes.clear();
  for (const DType weights : kBlocks) row.dtypes.push_back({DType::kF64, weights});
  row.geometries = {{{{1}, {2, 1}}, {0}}, {{{2, 1}, {3, 1}}, {0}}, {{{3, 2}, {5, 2}}, {0}}};
  row.long_geometries = {};
  row.fused = false;
  row.differentiable = {0};
  row.bench = {};
  row.kernels = nullptr;
  return row;
}

Row floats_row() {
  Row row;
  row.op = "linear of other floats";
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    const HostShape& shape = c.geometry.operands[operand];
    if (operand == 0) return random_x(c, shape, random);
    return random_array(weights_of(c), shape, {-1, 1}, random);
  };
  row.run = [](std::vector<Tensor> x, const Case&) { return linear(x[0], x[1]); };
  row.reference = [](const std::vector<Array>& x, const Case&) { return product(x[0], x[1]); };
  for (const DType x : kActivations)
    for (const DType weights : kActivations)
      if (x != weights) row.dtypes.push_back({x, weights});
  row.geometries = {{{{1, 1}, {1, 1}}},      {{{1, 33}, {5, 33}}},    {{{3}, {2, 3}}},
                    {{{2, 3, 70}, {9, 70}}}, {{{7, 257}, {11, 257}}}, {{{16, 64}, {3, 64}}},
                    {{{0, 5}, {4, 5}}},      {{{4, 0}, {3, 0}}},      {{{65, 130}, {67, 130}}}};
  row.long_geometries = {{{{1, 1999}, {331, 1999}}}, {{{401, 311}, {61, 311}}}};
  row.tolerance = sums(2, 1);
  row.loose = kHoldsOfItsOp;
  row.fused = true;
  row.bench = Geometry{{{1, 4096}, {4096, 4096}}};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kLinear, d[0], d[1]}};
  };
  return row;
}

/// Dtypes whose products are composites.
Row composite_row() {
  Row row = floats_row();
  row.op = "linear of floats without a kernel";
  row.dtypes.clear();
  for (const DType x : kFloats)
    for (const DType weights : kFloats)
      if (x != weights && (x == DType::kF64 || weights == DType::kF64 || dtype_size(x) == 1 ||
                           dtype_size(weights) == 1))
        row.dtypes.push_back({x, weights});
  row.long_geometries = {};
  row.fused = false;
  row.bench = {};
  row.kernels = nullptr;
  return row;
}

/// The gradient of weights wider than x. Values have so few bits that y is exact in f32, with the
/// differences too.
Row gradient_row() {
  Row row = floats_row();
  row.op = "linear of wider weights";
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    return reference::build(c.dtypes[operand], c.geometry.operands[operand],
                            [&](const Index&) { return Real(random.below(17) - 8) / 8; });
  };
  row.run = [](std::vector<Tensor> x, const Case&) {
    return cast(linear(x[0], x[1]), DType::kF64);
  };
  row.reference = [](const std::vector<Array>& x, const Case&) {
    Result y = product(x[0], x[1]);
    y.array.dtype = DType::kF64;
    return y;
  };
  row.dtypes = {{DType::kF32, DType::kF64}};
  row.geometries = {{{{1, 3}, {2, 3}}}, {{{2, 2, 3}, {4, 3}}}};
  row.long_geometries = {};
  row.special = false;
  row.fused = false;
  row.differentiable = {1};
  row.bench = {};
  row.kernels = nullptr;
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"linear">() {
  return {blocks_row(),
          many_row(),
          decoded(many_row()),
          few_narrow_row(),
          narrow_row(many_row()),
          decoded(narrow_row(many_row())),
          rounded(of_one_row(blocks_row())),
          large_rounded_row(),
          rounded(without_narrow(blocks_row())),
          rounded(many_row()),
          epilogue_row(),
          parts_row(),
          mixed_parts_row(),
          gated_row(),
          narrow_parts_row(),
          narrow_gated_row(),
          narrow_epilogue_row(),
          float_epilogue_row(),
          of_one_rounded_row(epilogue_row(), run_epilogue),
          of_one_rounded_row(parts_row(), run_parts),
          of_one_rounded_row(gated_row(), run_gated),
          normalized_parts_row(parts_row()),
          normalized_parts_row(mixed_parts_row()),
          normalized_gated_row(),
          wide_row(),
          floats_row(),
          composite_row(),
          gradient_row()};
}

}  // namespace wick::conformance
