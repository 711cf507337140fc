// linear with weights of another dtype than x: floats, and blocks, whose shapes count blocks in the last
// dim.
#include "blocks.h"
#include "shapes.h"
#include "wick/abi/ops/matmul.h"
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
      {{{17, 2}, {3, 2}}, {0}}, {{{19, 3}, {67, 4}}, {1}}, {{{3, 11, 1}, {70, 1}}, {0}}};
  row.long_geometries = {{{{131, 1}, {67, 1}}, {0}}};
  row.bench = Geometry{{{512, 4}, {1024, 4}}, {0}};
  return row;
}

/// The same in f16 and bf16: cards round the weights for their matrix units.
Row many_narrow_row() {
  Row row = many_row();
  row.op = "linear of blocks by many narrow rows";
  row.dtypes.clear();
  for (const DType weights : kBlocks)
    for (const DType x : {DType::kF16, DType::kBf16}) row.dtypes.push_back({x, weights});
  row.tolerance = condition(2, 0);
  row.loose = "matrix units multiply weights that are rounded to x's dtype; the CPU does not round";
  row.may_flush = {DType::kBf16, DType::kF16};
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
  return {blocks_row(), many_row(),   many_narrow_row(), rounded(blocks_row()), rounded(many_row()),
          wide_row(),   floats_row(), composite_row(),   gradient_row()};
}

}  // namespace wick::conformance
