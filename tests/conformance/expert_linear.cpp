// expert_linear: x [T, K] or [T, J, K], weights [E, N, K], ids [T, J]. Shapes of blocks count blocks in the
// last dim.
#include "blocks.h"
#include "shapes.h"
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

}  // namespace

template <>
std::vector<Row> rows_of<"expert_linear">() {
  return {floats_row(), blocks_row(), rounded_row(), composite_row(), wide_blocks_row()};
}

}  // namespace wick::conformance
