// Convolutions, their transposes and gradients, and windows as columns. Geometries' options: stride
// of height and width, padding at top, bottom, left and right, dilation of both, groups; then
// output padding of both, or the mode of padding (conv2d).
#include "reference/conv.h"

#include <algorithm>

#include "shapes.h"
#include "values.h"
#include "wick/abi/ops/conv.h"
#include "wick/abi/ops/gather.h"
#include "wick/abi/ops/matmul.h"
#include "wick/abi/ops/pool.h"
#include "wick/core/var.h"
#include "wick/ops/autograd.h"
#include "wick/ops/conv.h"

namespace wick::conformance {
namespace {

// Dtypes whose products may flush subnormals, as matmul.cpp has them.
const std::vector<DType> kMatrixUnitsFlush = {DType::kBf16, DType::kF16};

int64_t option(const Case& c, std::size_t i, int64_t otherwise) {
  return i < c.geometry.dims.size() ? c.geometry.dims[i] : otherwise;
}

reference::Convolution convolution_of(const Case& c) {
  reference::Convolution result;
  for (std::size_t d = 0; d < 2; d++) {
    result.stride[d] = option(c, d, 1);
    result.before[d] = option(c, 2 + 2 * d, 0);
    result.behind[d] = option(c, 3 + 2 * d, 0);
    result.dilation[d] = option(c, 6 + d, 1);
    result.output_padding[d] = option(c, 9 + d, 0);
  }
  result.groups = option(c, 8, 1);
  return result;
}

Padding2d padding_of(const reference::Convolution& c) {
  return {c.before[0], c.behind[0], c.before[1], c.behind[1]};
}

Conv2dOptions conv_options(const Case& c, const Tensor& bias = {}) {
  const reference::Convolution o = convolution_of(c);
  return {.bias = bias,
          .stride = {o.stride[0], o.stride[1]},
          .padding = padding_of(o),
          .dilation = {o.dilation[0], o.dilation[1]},
          .groups = o.groups};
}

ConvTranspose2dOptions transpose_options(const Case& c, const Tensor& bias = {}) {
  const reference::Convolution o = convolution_of(c);
  return {.bias = bias,
          .stride = {o.stride[0], o.stride[1]},
          .padding = padding_of(o),
          .output_padding = {o.output_padding[0], o.output_padding[1]},
          .dilation = {o.dilation[0], o.dilation[1]},
          .groups = o.groups};
}

/// Only one operand is special, and not the one that meets the zeros of the padding: whether those
/// are multiplied is left open.
Array make(std::size_t special, std::size_t operand, const Case& c, Random& random) {
  const DType dtype = c.dtypes[std::min(operand, c.dtypes.size() - 1)];
  const HostShape& shape = c.geometry.operands[operand];
  if (c.values == Values::kSpecial && operand == special)
    return sprinkled_array(dtype, shape, {-1, 1}, random);
  return random_array(dtype, shape, {-1, 1}, random);
}

/// Matrix units also take a subnormal product or result as zero, which shows where nothing larger
/// is added.
Result with_flushed_products(Result y, const Case& c) {
  if (c.dtypes[0] != DType::kBf16 || c.values != Values::kSpecial) return y;
  const Real lost = reference::smallest_normal(DType::kF32) * Real(y.terms);
  for (Real& magnitude : y.magnitude) magnitude += lost / reference::unit_roundoff(DType::kF32);
  return y;
}

const std::vector<Geometry> kConvolutions = {
    {{{1, 1, 1, 1}, {1, 1, 1, 1}}},
    {{{2, 3, 5, 4}, {4, 3, 3, 3}}, {1, 1, 1, 1, 1, 1}},
    {{{1, 2, 4, 3}, {2, 2, 2, 2}}, {2, 1, 1, 0, 0, 2}},
    {{{1, 2, 5, 5}, {2, 2, 2, 2}}, {1, 1, 0, 0, 0, 0, 2, 3}},
    {{{2, 4, 4, 4}, {6, 2, 3, 1}}, {1, 2, 1, 1, 0, 0, 1, 1, 2}},
    {{{2, 6, 5, 5}, {6, 1, 3, 3}}, {1, 1, 1, 1, 1, 1, 1, 1, 6}},  // depthwise
    {{{1, 3, 4, 4}, {6, 1, 2, 2}}, {2, 2, 0, 0, 0, 0, 1, 1, 3}},
    {{{1, 1, 2, 2}, {1, 1, 2, 2}}, {1, 1, 3, 3, 4, 2}},  // windows of padding alone
    {{{1, 2, 7, 8}, {3, 2, 2, 2}}, {3, 4}},              // elements in no window
    {{{3, 5, 4, 3}, {7, 5, 1, 1}}},
    {{{2, 2, 1, 6}, {3, 2, 1, 3}}, {1, 2, 0, 0, 1, 1}},
    {{{0, 2, 3, 3}, {2, 2, 2, 2}}},
    {{{2, 0, 3, 3}, {2, 0, 2, 2}}},  // sums of nothing: zeros
    {{{2, 2, 3, 3}, {0, 2, 2, 2}}},
    {{{2, 17, 9, 11}, {33, 17, 3, 3}}, {1, 1, 1, 1, 1, 1}},
    {{{1, 32, 12, 12}, {32, 32, 3, 3}}, {2, 2, 1, 1, 1, 1}},
    {{{2, 64, 5, 6}, {20, 64, 3, 3}}, {1, 1, 1, 1, 1, 1}},
    {{{1, 64, 4, 5}, {64, 32, 3, 3}}, {1, 1, 1, 1, 1, 1, 1, 1, 2}},
    {{{1, 8, 3, 4}, {66, 8, 3, 3}}, {1, 1, 1, 1, 1, 1}},            // a large tile of channels
    {{{1, 2, 17, 18}, {2, 1, 3, 3}}, {1, 1, 1, 1, 1, 1, 1, 1, 2}},  // depthwise, many pixels
    {{{2, 40, 6, 8}, {72, 40, 1, 1}}},                              // a product
    {{{2, 48, 7, 9}, {40, 24, 3, 2}}, {2, 1, 1, 0, 2, 1, 2, 1, 2}},
    {{{1, 40, 5, 9}, {24, 20, 3, 3}}, {1, 2, 1, 1, 1, 1, 1, 1, 2}},  // packs of channels with zeros
};

// Small for what they are called: the reference takes long for each multiplication.
const std::vector<Geometry> kLongConvolutions = {
    {{{5, 17, 13, 17}, {37, 17, 3, 3}}, {1, 1, 1, 1, 1, 1}},
    {{{1, 67, 13, 11}, {69, 67, 3, 3}}, {1, 1, 1, 1, 1, 1}},
    {{{3, 36, 11, 13}, {66, 18, 3, 3}}, {1, 1, 1, 1, 1, 1, 1, 1, 2}},
};

// A product, and windows.
const std::vector<Geometry> kWideConvolutions = {
    {{{8, 16, 70, 70}, {136, 16, 1, 1}}},
    {{{8, 8, 71, 70}, {136, 8, 2, 1}}},
};

Row common(const Op& op) {
  Row row;
  row.op = op.name;
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    return make(0, operand, c, random);
  };
  for (const DType dtype : kFloats) row.dtypes.push_back({dtype});
  row.tolerance = sums(4, 2);
  row.loose = kHoldsInAnyOrder;
  row.may_flush = kMatrixUnitsFlush;
  row.differentiable = {0, 1};
  row.bench = Geometry{{{1, 64, 56, 56}, {64, 64, 3, 3}}, {1, 1, 1, 1, 1, 1}};
  row.kernels = [op](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{op, d[0]}};
  };
  return row;
}

/// The row of a public function: with a bias, by the composite, so that both ways are taken.
Row by_composite(Row row, const char* name) {
  row.op = name;
  row.long_geometries.clear();
  row.wide_geometries.clear();
  for (Geometry& g : row.geometries) {
    const bool transposed = row.op.starts_with("conv_transpose");
    const int64_t groups = g.dims.size() > 8 ? g.dims[8] : 1;
    g.operands.push_back({transposed ? g.operands[1][1] * groups : g.operands[1][0]});
  }
  row.tolerance = condition(6, 2);  // y is rounded to the dtype before the bias is added
  row.loose = kHoldsOfItsOp;
  row.differentiable = {0, 1, 2};
  row.bench->operands.push_back({64});
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kMatmul, d[0]}, {kScatterAdd, d[0]}};
  };
  const auto run = row.run;
  row.run = [run](std::vector<Tensor> x, const Case& c) {
    const CompositeScope always(CompositeMode::kAlways);
    return run(std::move(x), c);
  };
  const auto reference = row.reference;
  row.reference = [reference](const std::vector<Array>& x, const Case& c) {
    return reference::add_bias(reference(x, c), x[2]);
  };
  return row;
}

Row conv_row() {
  Row row = common(kConv);
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return conv2d(x[0], x[1], conv_options(c, x.size() > 2 ? x[2] : Tensor()));
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return with_flushed_products(reference::conv2d(x[0], x[1], convolution_of(c)), c);
  };
  row.geometries = kConvolutions;
  row.long_geometries = kLongConvolutions;
  row.wide_geometries = kWideConvolutions;
  return row;
}

Row conv_input_gradient_row() {
  Row row = common(kConvInputGradient);
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return conv_transpose2d(x[0], x[1], transpose_options(c, x.size() > 2 ? x[2] : Tensor()));
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return with_flushed_products(reference::conv_transpose2d(x[0], x[1], convolution_of(c)), c);
  };
  row.geometries = {
      {{{1, 1, 1, 1}, {1, 1, 1, 1}}},
      {{{2, 4, 3, 4}, {4, 3, 3, 3}}, {1, 1, 1, 1, 1, 1}},
      {{{1, 2, 3, 3}, {2, 2, 2, 2}}, {2, 2}},
      {{{1, 2, 3, 2}, {2, 2, 3, 3}}, {2, 3, 1, 0, 0, 2, 1, 1, 1, 1, 2}},
      {{{1, 2, 3, 3}, {2, 1, 2, 2}}, {1, 1, 0, 1, 1, 0, 2, 3, 1, 1, 2}},
      {{{2, 4, 3, 3}, {4, 2, 3, 3}}, {2, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1}},
      {{{2, 6, 3, 3}, {6, 1, 3, 3}}, {1, 1, 1, 1, 1, 1, 1, 1, 6}},
      {{{1, 2, 2, 2}, {2, 2, 1, 1}}, {3, 3}},
      {{{0, 2, 3, 3}, {2, 2, 2, 2}}},
      {{{2, 0, 3, 3}, {0, 2, 2, 2}}},
      {{{1, 5, 3, 4}, {5, 5, 3, 2}}, {4, 2, 1, 1, 0, 0, 2, 2}},  // steps with a divisor
      {{{1, 8, 3, 4}, {8, 66, 3, 3}}, {1, 1, 1, 1, 1, 1}},
      {{{2, 33, 5, 6}, {33, 17, 3, 3}}, {2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1}}};
  row.wide_geometries = {{{{8, 16, 70, 70}, {16, 136, 1, 1}}}, {{{8, 8, 70, 70}, {8, 136, 2, 1}}}};
  row.long_geometries = {{{{5, 17, 13, 17}, {17, 37, 3, 3}}, {1, 1, 1, 1, 1, 1}},
                         {{{1, 67, 13, 11}, {67, 69, 3, 3}}, {1, 1, 1, 1, 1, 1}},
                         {{{3, 36, 11, 9}, {36, 33, 3, 3}}, {2, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1}}};
  return row;
}

/// The gradient of the weight: operands gy, x and weight, of which the last gives the shape.
Row conv_weight_gradient_row() {
  Row row = common(kConvWeightGradient);
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    return make(1, operand, c, random);
  };
  row.run = [](std::vector<Tensor> x, const Case& c) {
    const Var weight(x[2]);
    backward(conv2d(x[1], weight, conv_options(c)), {.seed = x[0]});
    return weight.grad();
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return with_flushed_products(
        reference::conv_weight_gradient(x[0], x[1], c.geometry.operands[2], convolution_of(c)), c);
  };
  const auto with_result = [](const Geometry& g) -> Geometry {
    const HostShape &x = g.operands[0], &weight = g.operands[1];
    Case c;
    c.geometry = g;
    const reference::Convolution o = convolution_of(c);
    HostShape y = {x[0], weight[0], 0, 0};
    for (std::size_t d = 0; d < 2; d++)
      y[2 + d] = (x[2 + d] + o.before[d] + o.behind[d] - (weight[2 + d] - 1) * o.dilation[d] - 1) /
                     o.stride[d] +
                 1;
    return {{y, x, weight}, g.dims};
  };
  for (const Geometry& g : kConvolutions) row.geometries.push_back(with_result(g));
  for (const Geometry& g : kLongConvolutions) row.long_geometries.push_back(with_result(g));
  row.differentiable = {};
  row.bench = Geometry{{{1, 64, 56, 56}, {1, 64, 56, 56}, {64, 64, 3, 3}}, {1, 1, 1, 1, 1, 1}};
  return row;
}

/// Over one dim, with a bias. options: stride, left, right, dilation, groups, output padding.
Row one_dim_row(bool transposed) {
  Row row = common(transposed ? kConvInputGradient : kConv);
  row.op = transposed ? "conv_transpose1d" : "conv1d";
  row.run = [transposed](std::vector<Tensor> x, const Case& c) {
    const Padding1d padding(option(c, 1, 0), option(c, 2, 0));
    if (transposed)
      return conv_transpose1d(x[0], x[1],
                              {.bias = x[2],
                               .stride = option(c, 0, 1),
                               .padding = padding,
                               .output_padding = option(c, 5, 0),
                               .dilation = option(c, 3, 1),
                               .groups = option(c, 4, 1)});
    return conv1d(x[0], x[1],
                  {.bias = x[2],
                   .stride = option(c, 0, 1),
                   .padding = padding,
                   .dilation = option(c, 3, 1),
                   .groups = option(c, 4, 1)});
  };
  row.reference = [transposed](const std::vector<Array>& x, const Case& c) {
    reference::Convolution o;
    o.stride[1] = option(c, 0, 1);
    o.before[1] = option(c, 1, 0);
    o.behind[1] = option(c, 2, 0);
    o.dilation[1] = option(c, 3, 1);
    o.groups = option(c, 4, 1);
    o.output_padding[1] = option(c, 5, 0);
    const auto flat = [](Array a) {
      a.shape.insert(a.shape.end() - 1, 1);
      if (a.shape.size() == 3) a.shape.insert(a.shape.begin(), 1);
      return a;
    };
    const Array weight = flat(x[1]);
    Result y = reference::add_bias(transposed ? reference::conv_transpose2d(flat(x[0]), weight, o)
                                              : reference::conv2d(flat(x[0]), weight, o),
                                   x[2]);
    y.array.shape.erase(y.array.shape.begin() + 2);
    if (x[0].shape.size() == 2) y.array.shape.erase(y.array.shape.begin());
    return y;
  };
  if (transposed)
    row.geometries = {{{{2, 3, 4}, {3, 2, 3}, {2}}, {2, 1, 1, 1, 1, 1}},
                      {{{4, 3}, {4, 1, 2}, {2}}, {1, 0, 0, 2, 2}},
                      {{{2, 33, 20}, {33, 5, 4}, {5}}, {2, 1, 1}}};
  else
    row.geometries = {{{{2, 3, 7}, {4, 3, 3}, {4}}, {2, 1, 0}},
                      {{{4, 6}, {4, 2, 3}, {4}}, {1, 2, 2, 2, 2}},
                      {{{3, 80, 30}, {17, 80, 3}, {17}}, {1, 1, 1}}};
  row.tolerance = condition(6, 2);
  row.loose = kHoldsOfItsOp;
  row.differentiable = {0, 1, 2};
  row.bench = {};
  return row;
}

/// What stands in the padding: mirrored, repeated, from the other end.
Row padding_row() {
  Row row = common(kConv);
  row.op = "conv2d padding modes";
  row.run = [](std::vector<Tensor> x, const Case& c) {
    Conv2dOptions options = conv_options(c);
    options.padding_mode = PaddingMode(option(c, 9, 0));
    return conv2d(x[0], x[1], options);
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    reference::Convolution o = convolution_of(c);
    const Array wide = reference::padded(x[0], int(option(c, 9, 0)), o);
    for (int d = 0; d < 2; d++) o.before[d] = o.behind[d] = 0;
    return reference::conv2d(wide, x[1], o);
  };
  for (const int64_t mode : {1, 2, 3}) {
    row.geometries.push_back({{{2, 2, 3, 4}, {3, 2, 3, 3}}, {1, 1, 1, 2, 3, 0, 1, 1, 1, mode}});
    row.geometries.push_back({{{1, 4, 9, 7}, {4, 2, 3, 3}}, {2, 1, 1, 1, 0, 2, 1, 2, 2, mode}});
  }
  row.bench = {};
  return row;
}

WindowOptions window_options(const Case& c) {
  const reference::Convolution o = convolution_of(c);
  return {.stride = {o.stride[0], o.stride[1]},
          .padding = {o.before[0], o.before[1]},
          .dilation = {o.dilation[0], o.dilation[1]}};
}

/// Options: as above; then the window's height and width, and of fold those of the result.
Row unfold_row() {
  Row row;
  row.op = "unfold2d";
  for (const DType dtype : kAll) row.dtypes.push_back({dtype});
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return unfold2d(x[0], {option(c, 9, 1), option(c, 10, 1)}, window_options(c));
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::unfold2d(x[0], {option(c, 9, 1), option(c, 10, 1)}, convolution_of(c));
  };
  row.geometries = {{{{1, 1, 1, 1}}},
                    {{{2, 3, 4, 5}}, {1, 1, 0, 0, 0, 0, 1, 1, 1, 2, 3}},
                    {{{2, 2, 5, 5}}, {2, 3, 1, 1, 2, 2, 1, 1, 1, 3, 2}},
                    {{{1, 2, 6, 5}}, {1, 1, 1, 1, 0, 0, 2, 3, 1, 3, 2}},
                    {{{0, 2, 3, 3}}, {1, 1, 0, 0, 0, 0, 1, 1, 1, 2, 2}},
                    {{{2, 7, 20, 21}}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3}}};
  row.differentiable = {0};
  return row;
}

Row fold_row(const char* name) {
  Row row;
  row.op = name;
  for (const DType dtype : kNumeric) row.dtypes.push_back({dtype});
  row.make = [](std::size_t, const Case& c, Random& random) {
    const HostShape& shape = c.geometry.operands[0];
    return c.values == Values::kSpecial ? sprinkled_array(c.dtypes[0], shape, {-4, 4}, random)
                                        : random_array(c.dtypes[0], shape, {-4, 4}, random);
  };
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return fold2d(x[0], {option(c, 11, 1), option(c, 12, 1)}, {option(c, 9, 1), option(c, 10, 1)},
                  window_options(c));
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::fold2d(x[0], {option(c, 11, 1), option(c, 12, 1)},
                             {option(c, 9, 1), option(c, 10, 1)}, convolution_of(c));
  };
  row.geometries = {{{{1, 1, 1}}},
                    {{{2, 18, 9}}, {1, 1, 0, 0, 0, 0, 1, 1, 1, 2, 3, 4, 5}},
                    {{{2, 12, 9}}, {2, 3, 1, 1, 2, 2, 1, 1, 1, 3, 2, 5, 5}},
                    {{{1, 12, 8}}, {1, 1, 1, 1, 0, 0, 2, 3, 1, 3, 2, 6, 5}},
                    {{{0, 8, 4}}, {1, 1, 0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3}},
                    {{{2, 45, 420}}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 20, 21}}};
  row.tolerance = sums(4, 2);
  row.loose = kHoldsInAnyOrder;
  row.fused = true;
  row.differentiable = {0};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kFold, d[0]}};
  };
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"conv">() {
  Row weight_gradient = conv_weight_gradient_row();
  weight_gradient.op = "conv_weight_gradient composite";
  weight_gradient.long_geometries.clear();
  const auto run = weight_gradient.run;
  weight_gradient.run = [run](std::vector<Tensor> x, const Case& c) {
    const CompositeScope always(CompositeMode::kAlways);
    return run(std::move(x), c);
  };
  return {conv_row(),
          by_composite(conv_row(), "conv2d"),
          conv_input_gradient_row(),
          by_composite(conv_input_gradient_row(), "conv_transpose2d"),
          conv_weight_gradient_row(),
          weight_gradient,
          one_dim_row(false),
          one_dim_row(true),
          padding_row(),
          unfold_row(),
          fold_row("fold"),
          fold_row("fold2d")};
}

}  // namespace wick::conformance
