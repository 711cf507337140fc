// Images in other sizes. Geometries' options: the result's height and width; whether the corners
// are aligned; tenths by which x was scaled in both dims, or 0; the mode (of interpolate).
#include "reference/resample.h"

#include "reference/pool.h"
#include "shapes.h"
#include "values.h"
#include "wick/abi/ops/gather.h"
#include "wick/ops/resample.h"

namespace wick::conformance {
namespace {

using reference::Sampling;

int64_t option(const Case& c, std::size_t i, int64_t otherwise) {
  return i < c.geometry.dims.size() ? c.geometry.dims[i] : otherwise;
}

UpsampleOptions options_of(const Case& c, std::size_t dims) {
  UpsampleOptions options{.align_corners = option(c, 2, 0) != 0};
  if (const int64_t tenths = option(c, 3, 0)) options.scale.assign(dims, double(tenths) / 10);
  return options;
}

/// x [N, C, L] is [N, C, 1, L] to the reference.
Result expected(const Array& x, const Case& c, Sampling mode) {
  reference::Resampling r;
  r.mode = mode;
  r.align_corners = option(c, 2, 0) != 0;
  if (const int64_t tenths = option(c, 3, 0)) r.scale = {Real(tenths) / 10, Real(tenths) / 10};
  Array image = x;
  const bool flat = x.shape.size() == 3;
  if (flat) {
    image.shape.insert(image.shape.end() - 1, 1);
    r.size = {1, option(c, 1, 1)};
    if (!r.scale.empty()) r.scale[0] = 1;
  } else {
    r.size = {option(c, 0, 1), option(c, 1, 1)};
  }
  Result y = reference::resample(image, r);
  if (flat) y.array.shape.erase(y.array.shape.end() - 2);
  return y;
}

const std::vector<Geometry> kSizes = {
    {{{1, 1, 1, 1}}, {1, 1}},        {{{2, 3, 2, 3}}, {4, 9}},
    {{{1, 2, 5, 4}}, {3, 7}},        {{{2, 2, 3, 4}}, {3, 4}},
    {{{1, 2, 4, 4}}, {1, 1}},        {{{1, 2, 1, 3}}, {4, 2}},
    {{{1, 2, 3, 4}}, {6, 8, 0, 20}}, {{{1, 2, 4, 5}}, {10, 12, 0, 25}},
    {{{1, 2, 2, 3}}, {2, 3, 0, 13}}, {{{0, 2, 3, 3}}, {4, 4}},
    {{{2, 5, 17, 13}}, {29, 31}},  // by the scale other elements are nearest than by the sizes:
    {{{1, 2, 3, 4}}, {7, 10, 0, 26}}};
/// Geometries with aligned corners, which sizes of 1 have too.
const std::vector<Geometry> kAligned = {{{{2, 3, 2, 3}}, {4, 9, 1}},
                                        {{{1, 2, 5, 4}}, {3, 7, 1}},
                                        {{{1, 2, 4, 4}}, {1, 3, 1}},
                                        {{{1, 2, 1, 3}}, {4, 2, 1}},
                                        {{{2, 5, 17, 13}}, {29, 31, 1}}};
const std::vector<Geometry> kLengths = {{{{1, 1, 1}}, {1, 1}},        {{{2, 3, 4}}, {1, 9}},
                                        {{{2, 3, 7}}, {1, 3}},        {{{1, 2, 4}}, {1, 8, 0, 20}},
                                        {{{1, 2, 3}}, {1, 7, 0, 26}}, {{{2, 5, 33}}, {1, 71}}};

template <class Run>
Row picking_row(const char* op, Sampling mode, const std::vector<Geometry>& geometries, Run run) {
  Row row;
  row.op = op;
  for (const DType dtype : kAll) row.dtypes.push_back({dtype});
  row.geometries = geometries;
  row.run = [run](std::vector<Tensor> x, const Case& c) { return run(x[0], c); };
  row.reference = [mode](const std::vector<Array>& x, const Case& c) {
    return expected(x[0], c, mode);
  };
  row.domain = {-50, 50};
  row.differentiable = {0};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kGather, d[0]}};
  };
  return row;
}

template <class Run>
Row weighing_row(const char* op, Sampling mode, const std::vector<Geometry>& geometries, Run run) {
  Row row = picking_row(op, mode, geometries, run);
  row.dtypes.clear();
  for (const DType dtype : kFloats) row.dtypes.push_back({dtype});
  row.make = [](std::size_t, const Case& c, Random& random) {
    return random_array(c.dtypes[0], c.geometry.operands[0], {-8, 8}, random);
  };
  row.special = false;  // an infinity times a weight of 0 is left open
  row.tolerance = sums(4);
  row.loose = kHoldsInAnyOrder;
  return row;
}

std::vector<Geometry> with_aligned(std::vector<Geometry> geometries) {
  geometries.insert(geometries.end(), kAligned.begin(), kAligned.end());
  return geometries;
}

Pair size_of(const Case& c) { return {option(c, 0, 1), option(c, 1, 1)}; }

/// By sizes in one dim or two, by scales where the geometry has them; every mode.
Row interpolate_row() {
  Row row = weighing_row("interpolate", Sampling::kLinear, {}, [](const Tensor& x, const Case& c) {
    const Pair size = size_of(c);
    InterpolateOptions options{.mode = Interpolation(option(c, 4, 0)),
                               .align_corners = option(c, 2, 0) != 0};
    if (const int64_t tenths = option(c, 3, 0))
      options.scale = {double(tenths) / 10};
    else
      options.size = x.rank() == 3 ? Dims{size.width} : Dims{size.height, size.width};
    return interpolate(x, options);
  });
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    const Interpolation mode = Interpolation(option(c, 4, 0));
    if (mode != Interpolation::kArea) return expected(x[0], c, Sampling(option(c, 4, 0)));
    return reference::avg_pool(x[0], reference::adaptive_windows(x[0].shape[2], option(c, 0, 1)),
                               reference::adaptive_windows(x[0].shape[3], option(c, 1, 1)), 0);
  };
  for (const int64_t mode : {0, 1, 2, 3, 4}) {
    row.geometries.push_back({{{2, 3, 5, 4}}, {3, 7, 0, 0, mode}});
    if (mode < 4) row.geometries.push_back({{{1, 2, 3, 5}}, {4, 7, 0, 15, mode}});
    if (mode < 3) row.geometries.push_back({{{2, 2, 5}}, {1, 8, 0, 0, mode}});
  }
  row.tolerance = sums(4);
  return row;
}

/// Options: nearest, padding, aligned corners.
Row grid_row() {
  Row row;
  row.op = "grid_sample";
  for (const DType dtype : kFloats) row.dtypes.push_back({dtype});
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    const DType dtype = c.dtypes[0];
    const HostShape& shape = c.geometry.operands[operand];
    if (operand == 0) return random_array(dtype, shape, {-4, 4}, random);
    // Such that places are exact in f32: which elements are the neighbours is not left to rounding.
    return reference::build(dtype, shape, [&](const Index&) {
      return reference::round_to_format(dtype, Real(random.below(49) - 24) / 16);
    });
  };
  row.special = false;  // infinities times weights of 0
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return grid_sample(x[0], x[1],
                       {.nearest = c.geometry.dims[0] != 0,
                        .padding = GridPadding(c.geometry.dims[1]),
                        .align_corners = c.geometry.dims[2] != 0});
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::grid_sample(
        x[0], x[1], {c.geometry.dims[0] != 0, int(c.geometry.dims[1]), c.geometry.dims[2] != 0});
  };
  for (const int64_t nearest : {0, 1})
    for (const int64_t padding : {0, 1, 2})
      for (const int64_t aligned : {0, 1})
        for (const int64_t n : {1, 2})  // one is few enough for gradients
          row.geometries.push_back({{{n, 2, 3, 4}, {n, 2, 3, 2}}, {nearest, padding, aligned}});
  row.geometries.push_back({{{1, 3, 1, 1}, {1, 2, 2, 2}}, {0, 2, 1}});
  row.geometries.push_back({{{0, 3, 2, 2}, {0, 2, 2, 2}}, {0, 0, 0}});
  row.geometries.push_back({{{2, 5, 13, 17}, {2, 9, 11, 2}}, {0, 0, 0}});
  row.tolerance = sums(2);
  row.loose = kHoldsInAnyOrder;
  row.differentiable = {0, 1};
  // No neighbour changes in these, of images of 1, 3 and 4 elements.
  row.grad_domains = {{-4, 4},
                      {{-1.47, -1.36},
                       {-1.22, -1.03},
                       {-0.97, -0.78},
                       {-0.64, -0.53},
                       {-0.2, -0.05},
                       {0.05, 0.2},
                       {0.36, 0.47},
                       {0.78, 0.97},
                       {1.03, 1.22},
                       {1.36, 1.47}}};
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"resample">() {
  std::vector<Row> rows = {
      picking_row("upsample_nearest1d", Sampling::kNearest, kLengths,
                  [](const Tensor& x, const Case& c) {
                    return upsample_nearest1d(x, option(c, 1, 1), options_of(c, 1));
                  }),
      picking_row("upsample_nearest2d", Sampling::kNearest, kSizes,
                  [](const Tensor& x, const Case& c) {
                    return upsample_nearest2d(x, size_of(c), options_of(c, 2));
                  }),
      picking_row("upsample_nearest_exact1d", Sampling::kNearestExact, kLengths,
                  [](const Tensor& x, const Case& c) {
                    return upsample_nearest_exact1d(x, option(c, 1, 1), options_of(c, 1));
                  }),
      picking_row("upsample_nearest_exact2d", Sampling::kNearestExact, kSizes,
                  [](const Tensor& x, const Case& c) {
                    return upsample_nearest_exact2d(x, size_of(c), options_of(c, 2));
                  }),
      weighing_row("upsample_linear1d", Sampling::kLinear, kLengths,
                   [](const Tensor& x, const Case& c) {
                     return upsample_linear1d(x, option(c, 1, 1), options_of(c, 1));
                   }),
      weighing_row("upsample_bilinear2d", Sampling::kLinear, with_aligned(kSizes),
                   [](const Tensor& x, const Case& c) {
                     return upsample_bilinear2d(x, size_of(c), options_of(c, 2));
                   }),
      weighing_row("upsample_bicubic2d", Sampling::kCubic, with_aligned(kSizes),
                   [](const Tensor& x, const Case& c) {
                     return upsample_bicubic2d(x, size_of(c), options_of(c, 2));
                   }),
      interpolate_row(),
      grid_row()};
  return rows;
}

}  // namespace wick::conformance
