// expert_linear: x [T, K] or [T, J, K], weights [E, N, K], ids [T, J]. Shapes of blocks count blocks in the
// last dim.
#include "blocks.h"
#include "epilogues.h"
#include "shapes.h"
#include "wick/abi/ops/linear_epilogue.h"
#include "wick/abi/ops/matmul.h"
#include "wick/ops/matmul.h"

namespace wick::conformance {
namespace {

const std::vector<DType> kActivations = {DType::kF32, DType::kF16, DType::kBf16};

Array random_floats(DType dtype, const HostShape& shape, Values values, Random& random) {
  return values == Values::kSpecial ? sprinkled_array(dtype, shape, {-1, 1}, random)
                                    : random_array(dtype, shape, {-1, 1}, random);
}
Array ids_of(const Case& c, Random& random) {
  return random_ids(c.geometry.operands[2], c.geometry.operands[1][0], random, c.dtypes[2]);
}
std::vector<KernelQuestion> question(const std::vector<DType>& d) {
  return {{kExpertLinear, d[0], d[1]}};
}

Row floats_row() {
  Row row;
  row.op = "expert_linear";
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    if (operand == 2) return ids_of(c, random);
    return random_floats(c.dtypes[operand], c.geometry.operands[operand], c.values, random);
  };
  row.run = [](std::vector<Tensor> x, const Case&) { return expert_linear(x[0], x[1], x[2]); };
  row.reference = [](const std::vector<Array>& x, const Case&) {
    return reference::expert_linear(x[0], x[1], x[2]);
  };
  for (const DType x : kActivations)
    for (const DType weights : kActivations) row.dtypes.push_back({x, weights, DType::kI64});
  for (const DType ids : kIds) row.dtypes.push_back({DType::kF32, DType::kF32, ids});
  row.geometries = {{{{1, 1}, {1, 1, 1}, {1, 1}}},      {{{1, 33}, {4, 5, 33}, {1, 2}}},
                    {{{3, 2, 7}, {5, 3, 7}, {3, 2}}},   {{{2, 70}, {3, 9, 70}, {2, 3}}},
                    {{{9, 257}, {2, 11, 257}, {9, 1}}}, {{{17, 3, 64}, {4, 3, 64}, {17, 3}}},
                    {{{0, 5}, {3, 4, 5}, {0, 2}}},      {{{3, 5}, {3, 4, 5}, {3, 0}}},
                    {{{2, 0}, {3, 4, 0}, {2, 2}}},      {{{2, 3}, {3, 0, 3}, {2, 2}}},
                    {{{70, 24}, {2, 67, 24}, {70, 3}}}, {{{3, 1030}, {4, 17, 1030}, {3, 2}}},
                    {{{2, 2, 96}, {4, 9, 96}, {2, 2}}}, {{{3, 1056}, {4, 17, 1056}, {3, 2}}}};
  row.long_geometries = {{{{3, 1999}, {5, 131, 1999}, {3, 2}}},
                         {{{601, 101}, {9, 61, 101}, {601, 2}}},
                         {{{499, 67}, {1, 71, 67}, {499, 1}}}};
  row.tolerance = sums(2, 1);
  row.loose = kHoldsOfItsOp;
  row.fused = true;
  row.bench = Geometry{{{1, 2048}, {64, 768, 2048}, {1, 8}}};
  row.kernels = question;
  return row;
}

Row blocks_row() {
  Row row = floats_row();
  row.op = "expert_linear of blocks";
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    const HostShape& shape = c.geometry.operands[operand];
    if (operand == 2) return ids_of(c, random);
    if (operand == 1) return block_bytes(c.dtypes[1], shape, Values::kRandom, random);
    return random_floats(c.dtypes[0], in_elements(c.dtypes[1], shape), c.values, random);
  };
  row.run = [](std::vector<Tensor> x, const Case& c) {
    const ExactActivations exact;
    return expert_linear(x[0], as_blocks(c.dtypes[1], x[1]), x[2]);
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::expert_linear(x[0], reference::dequantize(c.dtypes[1], x[1]), x[2]);
  };
  row.dtypes.clear();
  for (const DType weights : kBlocks)
    for (const DType x : kActivations) row.dtypes.push_back({x, weights, DType::kI64});
  row.geometries = {{{{1, 1}, {1, 1, 1}, {1, 1}}},      {{{1, 2}, {4, 5, 2}, {1, 2}}},
                    {{{3, 2, 3}, {5, 3, 3}, {3, 2}}},   {{{9, 1}, {2, 11, 1}, {9, 1}}},
                    {{{17, 3, 2}, {4, 3, 2}, {17, 3}}}, {{{0, 1}, {3, 4, 1}, {0, 2}}},
                    {{{70, 1}, {3, 37, 1}, {70, 2}}}};
  row.long_geometries = {{{{3, 3}, {5, 131, 3}, {3, 2}}}, {{{301, 1}, {9, 61, 1}, {301, 2}}}};
  row.tolerance = sums(2, 2);  // the terms of blocks with offsets are alike
  // A row of equal x makes terms alike, whose roundings add up beyond this bound.
  row.distinct = {0, 1};
  row.bench = Geometry{{{1, 8}, {64, 768, 8}, {1, 8}}};
  return row;
}

/// By default the CPU rounds x.
Row rounded_row() {
  Row row = blocks_row();
  row.op += " by rounded x";
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return expert_linear(x[0], as_blocks(c.dtypes[1], x[1]), x[2]);
  };
  row.or_else = [](const std::vector<Array>& x, const Case& c) {
    return reference::expert_linear(rounded_activations(x[0]),
                                    reference::dequantize(c.dtypes[1], x[1]), x[2]);
  };
  return row;
}

/// Dtypes whose products are composites, and the gradients.
Row composite_row() {
  Row row = floats_row();
  row.op = "expert_linear of floats without a kernel";
  row.dtypes.clear();
  for (const DType x : kFloats)
    for (const DType weights : kFloats)
      if (x == DType::kF64 || weights == DType::kF64 || dtype_size(x) == 1 ||
          dtype_size(weights) == 1)
        row.dtypes.push_back({x, weights, DType::kI64});
  row.geometries = {{{{1, 1}, {1, 1, 1}, {1, 1}}},
                    {{{3, 2, 7}, {5, 3, 7}, {3, 2}}},
                    {{{2, 70}, {3, 9, 70}, {2, 3}}},
                    {{{0, 5}, {3, 4, 5}, {0, 2}}},
                    {{{2, 0}, {3, 4, 0}, {2, 2}}}};
  row.long_geometries = {};
  row.fused = false;
  row.differentiable = {0, 1};
  row.bench = {};
  row.kernels = nullptr;
  return row;
}

/// The gradient of x.
Row wide_blocks_row() {
  Row row = blocks_row();
  row.op = "expert_linear of blocks in f64";
  row.loose = kHoldsOfItsOp;
  row.dtypes.clear();
  for (const DType weights : kBlocks) row.dtypes.push_back({DType::kF64, weights, DType::kI64});
  row.geometries = {{{{1, 1}, {2, 2, 1}, {1, 1}}}, {{{2, 1}, {3, 3, 1}, {2, 2}}}};
  row.long_geometries = {};
  row.fused = false;
  row.differentiable = {0};
  row.bench = {};
  row.kernels = nullptr;
  return row;
}

/// Of several steps at once. Shapes of weights and x count blocks, or of floats 32 elements.
bool has_blocks(const Case& c) { return is_block(c.dtypes[1]); }
HostShape elements_of(const Case& c, HostShape shape) {
  if (has_blocks(c)) return in_elements(c.dtypes[1], shape);
  shape.back() *= 32;
  return shape;
}
Tensor weights_at(std::size_t i, const std::vector<Tensor>& x, const Case& c) {
  return has_blocks(c) ? as_blocks(c.dtypes[1], x[i]) : x[i];
}
Array weights_at(std::size_t i, const std::vector<Array>& x, const Case& c) {
  return has_blocks(c) ? reference::dequantize(c.dtypes[1], x[i]) : x[i];
}
/// weights: how many operands from 1 on are weights; ids: the operand of ids.
Row steps_row(const char* op, std::size_t weights, std::size_t ids) {
  Row row;
  row.op = op;
  row.make = [weights, ids](std::size_t operand, const Case& c, Random& random) {
    const HostShape& shape = c.geometry.operands[operand];
    if (operand == ids) return random_ids(shape, c.geometry.operands[1][0], random, c.dtypes[ids]);
    const bool is_weight = 1 <= operand && operand <= weights;
    if (is_weight && has_blocks(c)) return block_bytes(c.dtypes[1], shape, Values::kRandom, random);
    return random_array(c.dtypes[operand],
                        is_weight || operand == 0 ? elements_of(c, shape) : shape, {-1, 1}, random);
  };
  row.tolerance = condition(4, 1);  // composites round every step
  row.loose = kHoldsOfItsOp;
  row.special = false;
  row.distinct = {0};
  for (std::size_t i = 1; i <= weights; i++) row.distinct.push_back(i);
  return row;
}
/// The same of x rounded as kernels do it.
std::function<Result(const std::vector<Array>&, const Case&)> of_rounded(const Row& row) {
  return [reference = row.reference](const std::vector<Array>& x, const Case& c) {
    std::vector<Array> rounded = x;
    rounded[0] = rounded_activations(x[0]);
    return reference(has_blocks(c) ? rounded : x, c);
  };
}

/// Dims: the activation.
Row gated_row() {
  Row row = steps_row("gated_expert_linear", 2, 3);
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return gated_expert_linear(x[0], weights_at(1, x, c), weights_at(2, x, c), x[3],
                               kEpilogues[c.geometry.dims[0]].activation);
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    Result y = reference::expert_linear(x[0], weights_at(1, x, c), x[3]);
    const Result up = reference::expert_linear(x[0], weights_at(2, x, c), x[3]);
    add_epilogue(y, kEpilogues[c.geometry.dims[0]], nullptr);
    for (std::size_t i = 0; i < y.array.values.size(); i++) {
      Real& value = y.array.values[i];
      y.magnitude[i] =
          y.magnitude[i] * std::fabs(up.array.values[i]) + std::fabs(value) * up.magnitude[i];
      value *= up.array.values[i];
    }
    return y;
  };
  row.or_else = of_rounded(row);
  for (std::size_t i = 0; i < kBlocks.size(); i++)  // each format beside one dtype of x
    row.dtypes.push_back({kActivations[i % 3], kBlocks[i], kBlocks[i], DType::kI64});
  for (const DType x : kActivations)
    for (const DType weights : kActivations)
      row.dtypes.push_back({x, weights, weights, DType::kI64});
  row.dtypes.push_back({DType::kF32, DType::kF32, DType::kF32, DType::kU8});
  for (int64_t activation = 0; activation < 5; activation++) {
    const int64_t t = 1 + activation % 3, j = 1 + activation % 2, k = 1 + activation % 3,
                  n = 3 + 8 * activation;
    row.geometries.push_back({{{t, k}, {4, n, k}, {4, n, k}, {t, j}}, {activation}});
  }
  row.geometries.push_back({{{2, 3, 2}, {5, 6, 2}, {5, 6, 2}, {2, 3}}, {2}});
  row.geometries.push_back({{{13, 1}, {2, 5, 1}, {2, 5, 1}, {13, 1}}, {4}});  // many rows
  row.bench = Geometry{{{1, 8}, {64, 768, 8}, {64, 768, 8}, {1, 8}}, {2}};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kGatedExpertLinear, d[0], d[1]}};
  };
  return row;
}

/// Dims: whether there is a residual.
Row sum_row() {
  Row row = steps_row("expert_linear_sum", 1, 2);
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return expert_linear_sum(x[0], weights_at(1, x, c), x[2], x[3],
                             c.geometry.dims[0] ? x[4] : Tensor());
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    const Result each = reference::expert_linear(x[0], weights_at(1, x, c), x[2]);
    const int64_t tokens = x[0].shape[0], slots = x[0].shape[1], n = each.array.shape[2];
    Result y = each;
    y.array.shape = {tokens, n};
    y.array.values.assign(std::size_t(tokens * n), 0);
    y.magnitude.assign(std::size_t(tokens * n), 0);
    y.terms = each.terms * std::max<int64_t>(1, slots);
    for (int64_t t = 0; t < tokens; t++)
      for (int64_t i = 0; i < n; i++) {
        const std::size_t to = std::size_t(t * n + i);
        for (int64_t j = 0; j < slots; j++) {
          const std::size_t from = std::size_t((t * slots + j) * n + i);
          const Real factor = x[3].values[std::size_t(t * slots + j)];
          y.array.values[to] += factor * each.array.values[from];
          y.magnitude[to] += std::fabs(factor) * each.magnitude[from];
        }
        if (!c.geometry.dims[0]) continue;
        y.array.values[to] += x[4].values[to];
        y.magnitude[to] += std::fabs(x[4].values[to]);
      }
    return y;
  };
  row.or_else = of_rounded(row);
  for (std::size_t i = 0; i < kBlocks.size(); i++) {  // each format beside one dtype of x
    const DType x = kActivations[i % 3];
    row.dtypes.push_back({x, kBlocks[i], DType::kI64, DType::kF32, x});
  }
  for (const DType x : kActivations)
    for (const DType weights : kActivations)
      row.dtypes.push_back({x, weights, DType::kI64, DType::kF32, x});
  row.dtypes.push_back({DType::kBf16, DType::kQ4_K, DType::kI32, DType::kBf16, DType::kBf16});
  row.dtypes.push_back({DType::kF64, DType::kF64, DType::kI64, DType::kF64, DType::kF64});
  row.geometries = {{{{1, 1, 1}, {1, 1, 1}, {1, 1}, {1, 1}, {1, 1}}, {0}},
                    {{{1, 2, 1}, {4, 9, 1}, {1, 2}, {1, 2}, {1, 9}}, {1}},
                    {{{3, 3, 2}, {4, 18, 2}, {3, 3}, {3, 3}, {3, 18}}, {1}},
                    {{{2, 8, 1}, {9, 33, 1}, {2, 8}, {2, 8}, {2, 33}}, {0}},
                    {{{9, 2, 1}, {3, 5, 1}, {9, 2}, {9, 2}, {9, 5}}, {1}},
                    {{{2, 0, 1}, {3, 4, 1}, {2, 0}, {2, 0}, {2, 4}}, {1}}};
  row.bench = Geometry{{{1, 8, 3}, {64, 2048, 3}, {1, 8}, {1, 8}, {1, 2048}}, {1}};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kExpertLinearSum, d[0], d[1]}};
  };
  return row;
}

/// The gradients of both.
Row of_floats(Row row, std::vector<std::size_t> differentiable) {
  row.op += " of floats alone";
  std::erase_if(row.dtypes, [](const auto& d) { return d[0] != d[1]; });
  row.geometries.resize(3);
  row.differentiable = std::move(differentiable);
  row.bench = {};
  row.kernels = nullptr;
  row.or_else = nullptr;
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"expert_linear">() {
  return {floats_row(),
          blocks_row(),
          rounded_row(),
          composite_row(),
          wide_blocks_row(),
          gated_row(),
          sum_row(),
          of_floats(gated_row(), {0, 1, 2}),
          of_floats(sum_row(), {0, 1, 3, 4})};
}

}  // namespace wick::conformance
