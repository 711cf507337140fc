// Pooling. Geometries' options: kernel, stride, padding and dilation of height, then of width;
// ceil_mode, whether padding counts, the divisor. Of adaptive pooling: the sizes.
#include "reference/pool.h"

#include "shapes.h"
#include "values.h"
#include "wick/abi/ops/gather.h"
#include "wick/abi/ops/pool.h"
#include "wick/ops/pool.h"

namespace wick::conformance {
namespace {

int64_t option(const Case& c, std::size_t i, int64_t otherwise) {
  return i < c.geometry.dims.size() ? c.geometry.dims[i] : otherwise;
}

reference::Pooling pooling(const Case& c, std::size_t d) {
  reference::Pooling p;
  p.kernel = option(c, 4 * d, 1);
  p.stride = option(c, 4 * d + 1, p.kernel);
  p.padding = option(c, 4 * d + 2, 0);
  p.dilation = option(c, 4 * d + 3, 1);
  p.ceil_mode = option(c, 8, 0) != 0;
  p.count_padding = option(c, 9, 1) != 0;
  return p;
}

reference::Windows windows(const Case& c, std::size_t d) {
  return reference::windows_along(c.geometry.operands[0][2 + d], pooling(c, d));
}

Pair pair(const Case& c, std::size_t which) {
  return {option(c, which, 1), option(c, 4 + which, 1)};
}

const std::vector<Geometry> kPooled = {
    {{{1, 1, 1, 1}}, {1, 1, 0, 1, 1, 1, 0, 1}},
    {{{2, 3, 4, 6}}, {2, 2, 0, 1, 2, 2, 0, 1}},
    {{{1, 2, 5, 5}}, {3, 1, 1, 1, 3, 1, 1, 1}},  // windows overlap
    {{{2, 2, 5, 4}}, {3, 2, 1, 1, 2, 2, 1, 1}},
    {{{1, 2, 5, 6}}, {2, 2, 0, 1, 3, 3, 1, 1, 1}},
    {{{1, 2, 4, 7}}, {3, 2, 1, 1, 2, 3, 0, 1, 1, 0}},
    {{{1, 1, 6, 4}}, {2, 3, 0, 1, 2, 3, 1, 1, 1, 1, 3}},
    {{{1, 1, 2, 5}}, {3, 2, 0, 1, 2, 2, 1, 1, 1, 0}},  // a window larger than the plane
    {{{0, 2, 3, 3}}, {2, 2, 0, 1, 2, 2, 0, 1}},
    {{{2, 5, 33, 37}}, {3, 2, 1, 1, 3, 2, 1, 1}},
    {{{3, 2, 20, 70}}, {3, 1, 1, 1, 5, 3, 2, 1, 0, 0}},
};

Row common(const char* op, const std::vector<DType>& dtypes) {
  Row row;
  row.op = op;
  for (const DType dtype : dtypes) row.dtypes.push_back({dtype});
  row.geometries = kPooled;
  row.domain = {-50, 50};
  row.differentiable = {0};
  return row;
}

/// Values that repeat: the first winner is asked for.
Array make_ties(std::size_t, const Case& c, Random& random) {
  const HostShape& shape = c.geometry.operands[0];
  if (c.values == Values::kSpecial)
    return random.below(2) ? special_array(c.dtypes[0], shape, 0, random)
                           : sprinkled_array(c.dtypes[0], shape, {-3, 3}, random);
  return random_array(c.dtypes[0], shape, {-3, 3}, random);
}

Row max_row(const char* name, bool indices) {
  Row row = common(name, kNumeric);
  row.make = make_ties;
  row.geometries.push_back({{{1, 2, 7, 6}}, {2, 1, 1, 2, 3, 2, 1, 2}});
  row.geometries.push_back({{{1, 2, 6, 9}}, {2, 2, 1, 3, 3, 3, 0, 2, 1}});
  row.run = [indices](std::vector<Tensor> x, const Case& c) {
    const MaxPoolResult y = max_pool2d_with_indices(x[0], pair(c, 0),
                                                    {.stride = pair(c, 1),
                                                     .padding = pair(c, 2),
                                                     .dilation = pair(c, 3),
                                                     .ceil_mode = option(c, 8, 0) != 0});
    return indices ? y.indices : y.values;
  };
  row.reference = [indices](const std::vector<Array>& x, const Case& c) {
    const reference::MaxPooled y = reference::max_pool(x[0], windows(c, 0), windows(c, 1));
    return indices ? y.indices : y.values;
  };
  if (indices) row.differentiable = {};
  row.grad_domains = {apart(8)};
  row.bench = Geometry{{{1, 64, 112, 112}}, {3, 2, 1, 1, 3, 2, 1, 1}};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kMaxPool, d[0]}};
  };
  return row;
}

std::vector<KernelQuestion> avg_kernels(const std::vector<DType>& d) { return {{kAvgPool, d[0]}}; }

Array make_sums(std::size_t, const Case& c, Random& random) {
  const HostShape& shape = c.geometry.operands[0];
  return c.values == Values::kSpecial ? sprinkled_array(c.dtypes[0], shape, {-8, 8}, random)
                                      : random_array(c.dtypes[0], shape, {-8, 8}, random);
}

Row avg_row(const char* name) {
  Row row = common(name, kFloats);
  row.make = make_sums;
  row.run = [](std::vector<Tensor> x, const Case& c) {
    AvgPool2dOptions options{.stride = pair(c, 1),
                             .padding = pair(c, 2),
                             .ceil_mode = option(c, 8, 0) != 0,
                             .count_include_pad = option(c, 9, 1) != 0};
    if (const int64_t divisor = option(c, 10, 0)) options.divisor_override = divisor;
    return avg_pool2d(x[0], pair(c, 0), options);
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::avg_pool(x[0], windows(c, 0), windows(c, 1), option(c, 10, 0));
  };
  row.tolerance = sums(2, 1);
  row.bench = Geometry{{{1, 64, 112, 112}}, {3, 2, 1, 1, 3, 2, 1, 1}};
  row.kernels = avg_kernels;
  return row;
}

/// The pooling of x [N, C, L] as of [N, C, 1, L]. Options: kernel, stride, padding, dilation.
Result flat_reference(const Array& x, const std::function<Result(const Array&)>& pool) {
  Array flat = x;
  flat.shape.insert(flat.shape.end() - 1, 1);
  Result y = pool(flat);
  y.array.shape.erase(y.array.shape.end() - 2);
  return y;
}

const reference::Windows kOneRow = {{{0}, 1}};

Row one_dim_row(bool largest) {
  Row row = largest ? max_row("max_pool1d", false) : avg_row("avg_pool1d");
  row.geometries = {{{{1, 1, 1}}},
                    {{{2, 3, 9}}, {3, 2, 1}},
                    {{{2, 2, 8}}, {2, 3, 1}},
                    {{{2, 5, 133}}, {5, 1, 2}}};
  row.run = [largest](std::vector<Tensor> x, const Case& c) {
    const reference::Pooling p = pooling(c, 0);
    return largest ? max_pool1d(x[0], p.kernel, {.stride = p.stride, .padding = p.padding})
                   : avg_pool1d(x[0], p.kernel, {.stride = p.stride, .padding = p.padding});
  };
  row.reference = [largest](const std::vector<Array>& x, const Case& c) {
    const reference::Windows columns = reference::windows_along(x[0].shape[2], pooling(c, 0));
    return flat_reference(x[0], [&](const Array& flat) {
      return largest ? reference::max_pool(flat, kOneRow, columns).values
                     : reference::avg_pool(flat, kOneRow, columns, 0);
    });
  };
  row.bench = {};
  return row;
}

const std::vector<Geometry> kAdaptive = {{{{1, 1, 1, 1}}, {1, 1}},  {{{2, 3, 6, 4}}, {3, 2}},
                                         {{{2, 2, 5, 7}}, {1, 1}},  {{{1, 2, 5, 7}}, {3, 2}},
                                         {{{1, 2, 3, 2}}, {5, 3}},  {{{0, 2, 5, 7}}, {3, 2}},
                                         {{{2, 9, 17, 14}}, {7, 5}}};

enum class Adaptive { kMean, kLargest, kIndices };

Row adaptive_row(const char* name, Adaptive what) {
  Row row = what == Adaptive::kMean ? avg_row(name) : max_row(name, what == Adaptive::kIndices);
  row.geometries = kAdaptive;
  row.run = [what](std::vector<Tensor> x, const Case& c) {
    const Pair size(c.geometry.dims[0], c.geometry.dims[1]);
    if (what == Adaptive::kMean) return adaptive_avg_pool2d(x[0], size);
    if (what == Adaptive::kLargest) return adaptive_max_pool2d(x[0], size);
    return adaptive_max_pool2d_with_indices(x[0], size).indices;
  };
  row.reference = [what](const std::vector<Array>& x, const Case& c) {
    const reference::Windows rows = reference::adaptive_windows(x[0].shape[2], c.geometry.dims[0]);
    const reference::Windows columns =
        reference::adaptive_windows(x[0].shape[3], c.geometry.dims[1]);
    if (what == Adaptive::kMean) return reference::avg_pool(x[0], rows, columns, 0);
    const reference::MaxPooled y = reference::max_pool(x[0], rows, columns);
    return what == Adaptive::kLargest ? y.values : y.indices;
  };
  // The mean of nothing, as mean over both dims gives it, is divided once more.
  if (what == Adaptive::kMean) row.tolerance = sums(3, 1), row.loose = kHoldsOfItsOp;
  row.bench = {};
  return row;
}

Row adaptive_one_dim_row(bool largest) {
  Row row = largest ? max_row("adaptive_max_pool1d", false) : avg_row("adaptive_avg_pool1d");
  row.geometries = {{{{2, 3, 6}}, {3}}, {{{2, 3, 7}}, {1}}, {{{2, 2, 7}}, {3}}, {{{1, 2, 3}}, {5}}};
  row.run = [largest](std::vector<Tensor> x, const Case& c) {
    const int64_t size = c.geometry.dims[0];
    return largest ? adaptive_max_pool1d(x[0], size) : adaptive_avg_pool1d(x[0], size);
  };
  row.reference = [largest](const std::vector<Array>& x, const Case& c) {
    const reference::Windows columns =
        reference::adaptive_windows(x[0].shape[2], c.geometry.dims[0]);
    return flat_reference(x[0], [&](const Array& flat) {
      return largest ? reference::max_pool(flat, kOneRow, columns).values
                     : reference::avg_pool(flat, kOneRow, columns, 0);
    });
  };
  if (!largest) row.tolerance = sums(3, 1), row.loose = kHoldsOfItsOp;
  row.bench = {};
  return row;
}

/// Options as above and then the power.
Row lp_row() {
  Row row = avg_row("lp_pool2d");
  row.make = nullptr;
  row.special = false;  // of powers, which their own row has
  row.domain = {0.5, 4};
  row.geometries = {{{{2, 3, 4, 6}}, {2, 2, 0, 1, 2, 2, 0, 1, 0, 1, 2}},
                    {{{2, 2, 5, 5}}, {3, 2, 0, 1, 2, 1, 0, 1, 0, 1, 3}},
                    {{{1, 2, 6, 5}}, {3, 2, 0, 1, 2, 2, 0, 1, 1, 1, 2}}};
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return lp_pool2d(x[0], double(option(c, 10, 2)), pair(c, 0),
                     {.stride = pair(c, 1), .ceil_mode = option(c, 8, 0) != 0});
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::lp_pool(x[0], windows(c, 0), windows(c, 1), Real(option(c, 10, 2)),
                              pair(c, 0).height * pair(c, 0).width);
  };
  row.tolerance = sums(1);  // of the magnitude that the reference derives
  row.loose =
      "the worst case of powers, sum and root at their own bounds; a sample's powers err less";
  row.bench = {};
  return row;
}

/// Options: the result's sizes. Indices that differ within a plane.
Row unpool_row() {
  Row row;
  row.op = "max_unpool2d";
  for (const DType dtype : kFloats) row.dtypes.push_back({dtype, DType::kI64});
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    const HostShape& shape = c.geometry.operands[operand];
    if (operand == 0)
      return c.values == Values::kSpecial ? special_array(c.dtypes[0], shape, 0, random)
                                          : random_array(c.dtypes[0], shape, {-4, 4}, random);
    const int64_t plane = c.geometry.dims[0] * c.geometry.dims[1], places = shape[2] * shape[3];
    const int64_t shift = random.below(plane);
    return reference::build(DType::kI64, shape, [&](const Index& index) {
      const int64_t place = index[2] * shape[3] + index[3];
      return Real((place * (plane / places) + shift) % plane);
    });
  };
  row.distinct = {1};
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return max_unpool2d(x[0], x[1], 2, {.size = Pair(c.geometry.dims[0], c.geometry.dims[1])});
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::max_unpool(x[0], x[1], c.geometry.dims);
  };
  row.geometries = {{{{1, 1, 1, 1}, {1, 1, 1, 1}}, {2, 2}},
                    {{{2, 3, 2, 3}, {2, 3, 2, 3}}, {4, 6}},
                    {{{2, 2, 3, 3}, {2, 2, 3, 3}}, {5, 7}}};
  row.differentiable = {0};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kScatter, d[0]}};
  };
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"pool">() {
  return {max_row("max_pool", true),
          max_row("max_pool2d", false),
          avg_row("avg_pool"),
          avg_row("avg_pool2d"),
          one_dim_row(true),
          one_dim_row(false),
          adaptive_row("adaptive_avg_pool2d", Adaptive::kMean),
          adaptive_row("adaptive_max_pool2d", Adaptive::kLargest),
          adaptive_row("adaptive_max_pool2d_with_indices", Adaptive::kIndices),
          adaptive_one_dim_row(true),
          adaptive_one_dim_row(false),
          lp_row(),
          unpool_row()};
}

}  // namespace wick::conformance
