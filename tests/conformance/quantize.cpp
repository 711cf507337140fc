// Rows in 8 bits: that codes times scales are near, and the product.
#include <cmath>

#include "shapes.h"
#include "values.h"
#include "wick/abi/ops/quantize.h"
#include "wick/ops/arrange.h"
#include "wick/ops/cast.h"
#include "wick/ops/quantize.h"
#include "wick/ops/shape.h"

namespace wick::conformance {
namespace {

const std::vector<HostShape> kRows = {{32},    {1, 64},   {3, 96},       {2, 5, 32},
                                      {0, 32}, {7, 1024}, {2, 3, 4, 128}};

/// The codes and after them the scales, in f32 in one line.
Row quantize_row() {
  Row row;
  row.op = "quantize_i8";
  row.run = [](std::vector<Tensor> x, const Case&) {
    const RowsInI8 y = quantize_i8(x[0]);
    return cat({cast(flatten(y.codes), DType::kF32), cast(flatten(y.scales), DType::kF32)}, 0);
  };
  // In f32, step by step, as ggml does: the result has one value.
  row.reference = [](const std::vector<Array>& x, const Case&) {
    Result y{{DType::kF32, {}, {}}, {}, 1};
    std::vector<Real> scales;
    const std::size_t group = std::size_t(kScaleGroup);
    for (std::size_t first = 0; first < x[0].values.size(); first += group) {
      float largest = 0;
      for (std::size_t i = 0; i < group; i++)
        largest = std::max(largest, std::fabs(float(x[0].values[first + i])));
      const float scale = largest / 127, inverse = scale > 0 ? 1 / scale : 0;
      for (std::size_t i = 0; i < group; i++)
        y.array.values.push_back(std::round(float(x[0].values[first + i]) * inverse));
      scales.push_back(reference::round_to_format(DType::kF16, scale));
    }
    y.array.values.insert(y.array.values.end(), scales.begin(), scales.end());
    y.array.shape = {int64_t(y.array.values.size())};
    return y;
  };
  row.make = [](std::size_t, const Case& c, Random& random) {
    return random_array(c.dtypes[0], c.geometry.operands[0], {-8, 8}, random);
  };
  for (const DType d : {DType::kF32, DType::kF16, DType::kBf16, DType::kF8E4M3, DType::kF8E5M2})
    row.dtypes.push_back({d});
  for (const HostShape& shape : kRows) row.geometries.push_back({{shape}});
  row.tolerance = exact();
  row.fused = true;
  row.special = false;  // a group with a NaN or an infinity has any codes
  row.bench = Geometry{{{4096, 128}}};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kQuantizeI8, d[0], DType::kI8}};
  };
  return row;
}

Row dequantize_row() {
  Row row;
  row.op = "dequantize_i8";
  row.run = [](std::vector<Tensor> x, const Case&) {
    return dequantize_i8(x[0], x[1], DType::kBf16);
  };
  row.reference = [](const std::vector<Array>& x, const Case&) {
    Result y{{DType::kBf16, x[0].shape, {}}, {}, 1};
    for (std::size_t i = 0; i < x[0].values.size(); i++)
      y.array.values.push_back(x[0].values[i] * x[1].values[i / std::size_t(kScaleGroup)]);
    return y;
  };
  row.dtypes = {{DType::kI8, DType::kF16}};
  for (HostShape shape : kRows) {
    Geometry geometry{{shape}};
    shape.back() /= kScaleGroup;
    geometry.operands.push_back(shape);
    row.geometries.push_back(geometry);
  }
  row.tolerance = rounded();
  row.kernels = {};
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"quantize">() {
  return {quantize_row(), dequantize_row()};
}

}  // namespace wick::conformance
