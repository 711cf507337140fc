// Matrix products: shapes from nothing to several tiles, batches that broadcast, vectors; and linear's
// epilogue.
#include <cmath>
#include <tuple>

#include "epilogues.h"
#include "shapes.h"
#include "values.h"
#include "wick/abi/ops/linear_epilogue.h"
#include "wick/abi/ops/matmul.h"
#include "wick/ops/matmul.h"

namespace wick::conformance {
namespace {

const std::vector<Geometry> kGeometries = {
    {{{1, 1}, {1, 1}}},
    {{{7, 33}, {33, 5}}},
    {{{16, 16}, {16, 16}}},
    {{{1, 1025}, {1025, 3}}},
    {{{65, 130}, {130, 67}}},
    {{{5}, {5}}},
    {{{33}, {33, 7}}},
    {{{7, 33}, {33}}},
    {{{2, 3, 5}, {5}}},
    {{{5}, {2, 5, 3}}},
    {{{2, 3, 4}, {4, 6}}},
    {{{3, 4}, {2, 4, 6}}},
    {{{2, 1, 3, 4}, {5, 4, 6}}},
    {{{3, 17, 40}, {3, 40, 18}}},
    {{{1, 2, 1, 2, 1, 2, 1, 3, 4}, {2, 1, 2, 1, 2, 1, 2, 4, 3}}},
    {{{0, 3}, {3, 4}}},
    {{{2, 3, 4}, {2, 4, 0}}},
    {{{0, 3, 4}, {4, 5}}},
    {{{3, 0}, {0, 4}}},  // sums of nothing: zeros
    {{{2, 3, 0}, {0, 4}}},
    // Large and narrow tiles of f64 on matrix units, whose operands need even strides.
    {{{3, 66, 50}, {3, 50, 66}}},
    {{{3, 130, 18}, {3, 18, 60}}},
    {{{130, 257}, {257, 190}}},
};

// AVX-512's vdpbf16ps takes subnormals as zero, and so do CDNA 2's matrix units, those of f16 too:
// beside an infinity in the other operand that is NaN instead of infinity.
const std::vector<DType> kMatrixUnitsFlush = {DType::kBf16, DType::kF16};

Array make_sums(std::size_t operand, const Case& c, Random& random) {
  const DType dtype = c.dtypes[std::min(operand, c.dtypes.size() - 1)];
  const HostShape& shape = c.geometry.operands[operand];
  if (!is_floating(dtype) && c.values == Values::kSpecial)
    return special_array(dtype, shape, operand, random);
  if (!is_floating(dtype)) return random_array(dtype, shape, {-100, 100}, random);
  if (c.values == Values::kSpecial) return sprinkled_array(dtype, shape, {-1, 1}, random);
  return random_array(dtype, shape, {-1, 1}, random);
}

Row matmul_row() {
  Row row;
  row.op = "matmul";
  row.run = [](std::vector<Tensor> x, const Case&) { return matmul(x[0], x[1]); };
  row.reference = [](const std::vector<Array>& x, const Case&) {
    return reference::matmul(x[0], x[1]);
  };
  row.make = make_sums;
  for (const DType dtype : kFloats) row.dtypes.push_back({dtype, dtype});
  row.geometries = kGeometries;
  row.long_geometries = {{{{333, 311}, {311, 327}}},
                         {{{37, 1999}, {1999, 53}}},
                         {{{9, 101, 103}, {9, 103, 107}}},
                         // Of few tiles, whose k cards split.
                         {{{40, 1032}, {1032, 48}}},
                         {{{2, 24, 800}, {2, 800, 72}}},
                         {{{3, 33347}, {33347, 5}}}};
  row.wide_geometries = {{{{320, 136, 40}, {320, 40, 72}}}, {{{7, 136}, {136, 19464}}}};
  row.tolerance = sums(2, 1);
  row.may_flush = kMatrixUnitsFlush;
  row.differentiable = {0, 1};
  row.bench = Geometry{{{512, 512}, {512, 512}}};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kMatmul, d[0] == DType::kBool ? DType::kI64 : d[0]}};
  };
  return row;
}

/// Products in the integers' own dtype, modulo 2^bits; of bool as i64.
Row integer_row() {
  Row row = matmul_row();
  row.op = "matmul of integers";
  row.long_geometries = {{{{37, 1999}, {1999, 53}}}};
  row.wide_geometries = {};
  row.dtypes.clear();
  for (const DType dtype : kIntegers) row.dtypes.push_back({dtype, dtype});
  row.dtypes.push_back({DType::kBool, DType::kBool});
  // What tells tiles apart, without their whole volume.
  row.geometries.pop_back();
  for (const auto& [m, k, n] : {std::tuple{3, 600, 5}, {200, 3, 20}, {20, 3, 270}, {2, 70, 300}})
    row.geometries.push_back({{{m, k}, {k, n}}});
  row.tolerance = exact();
  row.differentiable = {};
  row.may_flush = {};
  row.bench = Geometry{{{512, 512}, {512, 512}}};
  return row;
}

Row linear_row() {
  Row row;
  row.op = "linear";
  row.run = [](std::vector<Tensor> x, const Case&) { return linear(x[0], x[1], x[2]); };
  row.reference = [](const std::vector<Array>& x, const Case&) {
    return reference::linear(x[0], x[1], &x[2]);
  };
  row.make = make_sums;
  for (const DType dtype : kFloats) row.dtypes.push_back({dtype});
  row.geometries = {{{{4, 33}, {7, 33}, {7}}},
                    {{{3}, {2, 3}, {2}}},
                    {{{2, 3, 5}, {4, 5}, {4}}},
                    {{{0, 5}, {4, 5}, {4}}},
                    {{{65, 130}, {67, 130}, {67}}}};
  // The bound of the product, which is rounded to the dtype before the bias is added.
  row.tolerance = condition(4, 1);
  row.loose = kHoldsOfItsOp;
  row.may_flush = kMatrixUnitsFlush;
  row.differentiable = {0, 1, 2};
  return row;
}

/// What a case's dims say: the activation, whether there are a bias and a residual.
const ActivationRow& activation_of(const Case& c) { return kEpilogues[c.geometry.dims.at(0)]; }
bool has_bias(const Case& c) { return c.geometry.dims.at(1) != 0; }
bool has_residual(const Case& c) { return c.geometry.dims.at(2) != 0; }

/// x, the weight, the bias, the residual, which has y's dtype.
Tensor linear_with_epilogue(const std::vector<Tensor>& x, const Case& c) {
  return linear(x[0], x[1], has_bias(c) ? x[2] : Tensor(),
                {.activation = activation_of(c).activation,
                 .residual = has_residual(c) ? x[3] : Tensor(),
                 .dtype = c.dtypes.back()});
}
Result expected_epilogue(const std::vector<Array>& x, const Case& c) {
  const ActivationRow& f = activation_of(c);
  Result y = reference::linear(x[0], x[1], has_bias(c) ? &x[2] : nullptr);
  y.array.dtype = c.dtypes.back();
  add_epilogue(y, f, has_residual(c) ? &x[3] : nullptr);
  return y;
}

Geometry epilogue_geometry(const HostShape& x, int64_t out, const Dims& options) {
  HostShape y = x;
  y.back() = out;
  return {{x, {out, x.back()}, {out}, y}, {options.begin(), options.end()}};
}

/// Every epilogue with sizes of each kernel: a row, a few, those of small, split and large tiles; with packs
/// and without.
Row linear_epilogue_row() {
  Row row = linear_row();
  row.op = "linear_epilogue";
  row.run = [](std::vector<Tensor> x, const Case& c) { return linear_with_epilogue(x, c); };
  row.reference = expected_epilogue;
  row.dtypes.clear();
  for (const DType dtype : kFloats) row.dtypes.push_back({dtype, dtype, dtype, dtype});
  for (const DType dtype : {DType::kF16, DType::kBf16})
    row.dtypes.push_back({dtype, dtype, dtype, DType::kF32});
  struct Sizes {
    HostShape x;
    int64_t out;
    bool is_small;
  };
  const Sizes sizes[] = {{{16, 40}, 24, true},   {{1, 72}, 20, true},    {{3, 1, 33}, 5, true},
                         {{18, 48}, 7, true},    {{0, 5}, 4, true},      {{20, 3}, 17, true},
                         {{24, 520}, 33, false}, {{40, 520}, 48, false}, {{2, 64, 160}, 136, false},
                         {{130, 40}, 264, false}};
  row.geometries.clear();
  for (int64_t f = 0; f < int64_t(std::size(kEpilogues)); f++)
    for (int64_t i = 0; i < int64_t(std::size(sizes)); i++) {
      const auto& [x, out, is_small] = sizes[i];
      const int64_t parts = f + i;  // with and without a bias and a residual
      if (is_small || f == i % 4)   // all but the last activation, once
        row.geometries.push_back(epilogue_geometry(x, out, {f, parts & 1, parts >> 1 & 1}));
    }
  // A residual without an activation has code of its own in kernels of tiles.
  row.geometries.push_back(epilogue_geometry({40, 520}, 48, {0, 0, 1}));
  row.geometries.push_back(epilogue_geometry({130, 40}, 264, {0, 1, 1}));
  // Thin tiles.
  row.long_geometries = {epilogue_geometry({6, 512}, 520, {3, 1, 1})};
  row.wide_geometries = {epilogue_geometry({136, 40}, 38920, {1, 1, 1}),
                         epilogue_geometry({7, 136}, 19464, {2, 1, 0})};
  row.fused = true;
  row.differentiable = {};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kLinearEpilogue, d[0], d[3]}};
  };
  return row;
}

/// The rule of the kernel, and the gradients of the smaller ops where there is an activation.
Row epilogue_gradient_row() {
  Row row = linear_epilogue_row();
  row.op = "gradients of linear's epilogue";
  row.dtypes = {{DType::kF64, DType::kF64, DType::kF64, DType::kF64}};
  row.geometries.clear();
  for (int64_t f = 0; f < int64_t(std::size(kEpilogues)); f++)
    row.geometries.push_back(epilogue_geometry({3, 4}, 3, {f, 1, 1}));
  row.long_geometries = {};
  row.wide_geometries = {};
  row.differentiable = {0, 1, 2, 3};
  // Sums away from the kink of relu.
  row.grad_domains = {{0.1, 1}};
  row.kernels = nullptr;
  return row;
}

/// A few rows by weights that lie along k, which cards read straight into matrix registers: one run of k, and
/// several; few columns, more, and, on the emulator, many.
Row few_rows_row() {
  Row row = linear_row();
  row.op = "linear of few rows";
  row.dtypes = {{DType::kF16}, {DType::kBf16}};
  row.geometries = {{{{5, 136}, {24, 136}, {24}}},
                    {{{19, 136}, {16, 136}, {16}}},
                    {{{2, 1096}, {16, 1096}, {16}}},
                    {{{21, 136}, {40, 136}, {40}}},
                    {{{3, 136}, {136, 136}, {136}}}};
  row.long_geometries = {{{{20, 1544}, {2072, 1544}, {2072}}}, {{{7, 520}, {8216, 520}, {8216}}}};
  row.wide_geometries = {{{{7, 136}, {19464, 136}, {19464}}}};
  row.differentiable = {};  // as linear's
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"matmul">() {
  return {matmul_row(),          integer_row(),           linear_row(),
          linear_epilogue_row(), epilogue_gradient_row(), few_rows_row()};
}

}  // namespace wick::conformance
