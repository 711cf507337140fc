#include "wick/ops/pool.h"

#include <algorithm>
#include <vector>

#include "base/calling.h"
#include "core/launch.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/linear/windows.h"
#include "ops/shape/filled.h"
#include "ops/tape/tape.h"
#include "scalar/round_up.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/gather.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"
#include "wick/ops/where.h"

namespace wick {
namespace {

/// The number of windows along one dim, by PyTorch's rule: with ceil_mode, windows that start in x
/// or in the padding before it count, even if they end past the padding.
int64_t places_along(const char* op, const PoolAttributes& a, int d, int64_t size, bool ceil_mode) {
  const int64_t extent = window_extent(a.kernel[d], a.dilation[d]), stride = a.stride[d];
  check(size > 0, ErrorCode::kShapeMismatch, op, "expected H and W of at least 1, got 0");
  check(2 * a.padding[d] <= a.kernel[d], ErrorCode::kInvalidArgument, op,
        "expected padding of at most half the kernel, got ", a.padding[d], " for ", a.kernel[d]);
  const int64_t rest = size + 2 * a.padding[d] - extent + (ceil_mode ? stride - 1 : 0);
  check(rest >= 0, ErrorCode::kShapeMismatch, op, "a window of ", extent,
        " elements does not fit in ", size, " and padding of ", a.padding[d]);
  const int64_t places = rest / stride + 1;
  return ceil_mode && (places - 1) * stride >= size + a.padding[d] ? places - 1 : places;
}

PoolAttributes checked_attributes(const char* op, const Pair& kernel, const Pair& stride,
                                  const Pair& padding, const Pair& dilation) {
  check_pair(op, "kernel", kernel, 1);
  check_pair(op, "stride", stride, 1);
  check_pair(op, "padding", padding, 0);
  check_pair(op, "dilation", dilation, 1);
  return pool_attributes(kernel, stride, padding, dilation);
}

/// Errors: kInvalidArgument if a window contains no element of x, which dilation can cause.
void check_windows(const char* op, const PoolAttributes& a, int d, int64_t size, int64_t places) {
  for (int64_t o = 0; o < places; o++) {
    const int64_t start = o * a.stride[d] - a.padding[d];
    const int64_t skipped =
        start < 0 ? (a.dilation[d] - 1 - start) / a.dilation[d] : 0;  // taps before x
    check(skipped < a.kernel[d] && start + skipped * a.dilation[d] < size,
          ErrorCode::kInvalidArgument, op, "window ", o, " of dim ", d - 2,
          " contains only padding");
    // All later windows start in x too.
    if (start >= 0) break;
  }
}

MaxPoolResult max_pool(const char* op, const Tensor& given, const Pair& kernel,
                       const MaxPool2dOptions& o) {
  const Tensor x = as_images(op, given);
  check(x.dtype() != DType::kBool && is_computed(x.dtype()), ErrorCode::kDTypeMismatch, op,
        "expected a numeric dtype, got ", dtype_name(x.dtype()));
  const PoolAttributes a =
      checked_attributes(op, kernel, o.stride.value_or(kernel), o.padding, o.dilation);
  Shape shape = x.shape();
  for (int d = 0; d < 2; d++) {
    shape[2 + d] = places_along(op, a, d, x.shape()[2 + d], o.ceil_mode);
    check_windows(op, a, d, x.shape()[2 + d], shape[2 + d]);
  }
  Tensor y = Tensor::empty(shape, {.dtype = x.dtype(), .device = x.device()});
  Tensor ids = Tensor::empty(shape, {.dtype = DType::kI64, .device = x.device()});
  if (y.numel() > 0) {
    const View in = make_view(x), out[] = {make_view(y), make_view(ids)};
    launch(x.device(), kMaxPool, {&in, 1}, out, attributes_of(a));
  }
  y = record(op, y, {&x, &ids}, kKeepInput1, [](const RuleContext& c, std::span<Tensor> g) {
    const Shape& s = c.input_shape(0);
    const Shape planes{s[0], s[1], s[2] * s[3]};
    const auto in_planes = [&](const Tensor& t) {
      return reshape(t, {s[0], s[1], t.size(2) * t.size(3)});
    };
    g[0] = reshape(
        scatter_add(zeros(planes, {.dtype = c.gradient.dtype(), .device = c.gradient.device()}), 2,
                    in_planes(c.input(1)), in_planes(c.gradient)),
        s);
  });
  if (given.rank() == 4) return {y, ids};
  return {squeeze(y, 0), squeeze(ids, 0)};
}

/// The divisor of each window's sum, [OH, OW], as avg_pool's kernel computes it.
Tensor divisors(const PoolAttributes& a, const Pair& size, const Pair& places, DType dtype,
                const Device& device) {
  if (a.divisor) return filled({places.height, places.width}, double(a.divisor), {dtype, device});
  const auto counts = [&](int d, int64_t n, int64_t length) {
    std::vector<double> result;
    for (int64_t o = 0; o < n; o++) {
      const int64_t start = o * a.stride[d] - a.padding[d];
      const int64_t from = std::max(start, -a.counted[d]);
      const int64_t to = std::min(start + a.kernel[d], length + a.counted[d]);
      // An empty window's sum is 0, so any divisor will do; 1 avoids 0 / 0.
      result.push_back(double(std::max<int64_t>(to - from, 1)));
    }
    return Tensor::from(result, device);
  };
  return cast(
      unsqueeze(counts(0, places.height, size.height), 1) * counts(1, places.width, size.width),
      dtype);
}

Tensor avg_pool(const char* op, const Tensor& given, const Pair& kernel,
                const AvgPool2dOptions& o) {
  const Tensor x = as_images(op, given);
  check(is_floating(x.dtype()) && is_computed(x.dtype()), ErrorCode::kDTypeMismatch, op,
        "expected a floating dtype, got ", dtype_name(x.dtype()));
  PoolAttributes a = checked_attributes(op, kernel, o.stride.value_or(kernel), o.padding, 1);
  check(o.divisor_override.value_or(1) != 0, ErrorCode::kInvalidArgument, op,
        "expected a divisor_override other than 0, got 0");
  a.divisor = o.divisor_override.value_or(0);
  for (int d = 0; d < 2; d++) a.counted[d] = o.count_include_pad ? a.padding[d] : 0;
  Shape shape = x.shape();
  for (int d = 0; d < 2; d++) shape[2 + d] = places_along(op, a, d, x.shape()[2 + d], o.ceil_mode);
  Tensor y = Tensor::empty(shape, {.dtype = x.dtype(), .device = x.device()});
  if (y.numel() > 0) {
    const View in = make_view(x), out = make_view(y);
    launch(x.device(), kAvgPool, {&in, 1}, {&out, 1}, attributes_of(a));
  }
  y = record(op, y, {&x}, kKeepNothing, [a](const RuleContext& c, std::span<Tensor> g) {
    const Shape& s = c.input_shape(0);
    const Tensor& gy = c.gradient;
    const DType dtype = computed_in(gy.dtype());
    const Pair size(s[2], s[3]), places(gy.size(2), gy.size(3));
    const Tensor share = cast(gy, dtype) / divisors(a, size, places, dtype, gy.device());
    const Tensor spread =
        broadcast_to(reshape(share, {s[0], s[1], 1, 1, places.height, places.width}),
                     {s[0], s[1], a.kernel[0], a.kernel[1], places.height, places.width});
    g[0] = cast(fold(spread, a, size), gy.dtype());
  });
  return given.rank() == 4 ? y : squeeze(y, 0);
}

// ---- adaptive windows

/// Windows along a dim with different lengths, each extended to the longest by repeating its last
/// element.
struct Segments {
  Segments(int64_t in, int64_t out) : count(out) {
    for (int64_t i = 0; i < out; i++) {
      starts.push_back(i * in / out);
      lengths.push_back(ceil_div((i + 1) * in, out) - starts.back());
      longest = std::max(longest, lengths.back());
    }
  }
  /// [count longest]: the indices of the elements of each window.
  std::vector<int64_t> ids() const {
    std::vector<int64_t> result;
    for (size_t i = 0; i < starts.size(); i++)
      for (int64_t k = 0; k < longest; k++)
        result.push_back(starts[i] + std::min(k, lengths[i] - 1));
    return result;
  }

  int64_t count, longest = 0;
  std::vector<int64_t> starts, lengths;
};

void check_adaptive(const char* op, const Tensor& x, const Pair& size) {
  check_pair(op, "size", size, 1);
  check(x.size(2) > 0 && x.size(3) > 0, ErrorCode::kShapeMismatch, op,
        "expected H and W of at least 1, got ", x.shape());
}

/// The means of windows along one of the last two dims of x, which has the accumulator's dtype.
Tensor segment_means(const Tensor& x, int dim, const Segments& s) {
  std::vector<bool> own;
  std::vector<double> lengths;
  for (const int64_t length : s.lengths) {
    for (int64_t k = 0; k < s.longest; k++) own.push_back(k < length);
    lengths.push_back(double(length));
  }
  const int64_t behind = dim == 2 ? x.size(3) : 1;
  Shape split{x.size(0), x.size(1)};
  if (dim == 3) split.push_back(x.size(2));
  for (const int64_t n : {s.count, s.longest}) split.push_back(n);
  if (dim == 2) split.push_back(behind);
  std::vector<uint8_t> bytes(own.begin(), own.end());
  const Shape mask_shape = dim == 2 ? Shape{s.count, s.longest, 1} : Shape{s.count, s.longest};
  const Tensor mask = cast(Tensor::from(bytes, mask_shape, x.device()), DType::kBool);
  const Tensor picked = reshape(index_select(x, dim, Tensor::from(s.ids(), x.device())), split);
  const Tensor sums = sum(where(mask, picked, 0), {.dims = {dim + 1}});
  const Shape divisor_shape = dim == 2 ? Shape{s.count, 1} : Shape{s.count};
  return sums / cast(Tensor::from(lengths, divisor_shape, x.device()), x.dtype());
}

Tensor adaptive_avg(const char* op, const Tensor& given, const Pair& size) {
  const Tensor x = as_images(op, given);
  check(is_floating(x.dtype()) && is_computed(x.dtype()), ErrorCode::kDTypeMismatch, op,
        "expected a floating dtype, got ", dtype_name(x.dtype()));
  check_adaptive(op, x, size);
  Tensor y;
  if (size == Pair(1)) {
    y = mean(x, {.dims = {2, 3}, .keepdim = true});
  } else if (x.size(2) % size.height == 0 && x.size(3) % size.width == 0) {
    y = avg_pool(op, x, {x.size(2) / size.height, x.size(3) / size.width}, {});
  } else {
    const Tensor wide = cast(x, computed_in(x.dtype()));
    const Tensor rows = segment_means(wide, 3, Segments(x.size(3), size.width));
    y = cast(segment_means(rows, 2, Segments(x.size(2), size.height)), x.dtype());
  }
  return given.rank() == 4 ? y : squeeze(y, 0);
}

MaxPoolResult adaptive_max(const char* op, const Tensor& given, const Pair& size) {
  const Tensor x = as_images(op, given);
  check_adaptive(op, x, size);
  const int64_t height = x.size(2), width = x.size(3);
  MaxPoolResult result;
  if (height % size.height == 0 && width % size.width == 0) {
    result = max_pool(op, x, {height / size.height, width / size.width}, {});
  } else {
    // Lays out the windows side by side. A repeated element comes after the original and so never
    // wins.
    const Segments rows(height, size.height), columns(width, size.width);
    const std::vector<int64_t> row_ids = rows.ids(), column_ids = columns.ids();
    const Tensor apart = index_select(index_select(x, 3, Tensor::from(column_ids, x.device())), 2,
                                      Tensor::from(row_ids, x.device()));
    const MaxPoolResult pooled = max_pool(op, apart, {rows.longest, columns.longest}, {});
    std::vector<int64_t> homes;  // index in x of each element of `apart`
    for (const int64_t row : row_ids)
      for (const int64_t column : column_ids) homes.push_back(row * width + column);
    const Tensor ids = index_select(Tensor::from(homes, x.device()), 0,
                                    reshape(pooled.indices, {pooled.indices.numel()}));
    result = {pooled.values, reshape(ids, pooled.indices.shape())};
  }
  if (given.rank() == 4) return result;
  return {squeeze(result.values, 0), squeeze(result.indices, 0)};
}

Tensor with_height(const char* op, const Tensor& x) {
  check_defined(op, x);
  check(x.rank() == 2 || x.rank() == 3, ErrorCode::kShapeMismatch, op,
        "expected x [N, C, L] or [C, L], got ", x.shape());
  return unsqueeze(x, -2);
}

}  // namespace

MaxPoolResult max_pool1d_with_indices(const Tensor& x, int64_t kernel, const MaxPool1dOptions& o) {
  const Calling calling("max_pool1d_with_indices");
  const MaxPoolResult result = max_pool("max_pool1d", with_height("max_pool1d", x), {1, kernel},
                                        {.stride = Pair(1, o.stride.value_or(kernel)),
                                         .padding = {0, o.padding},
                                         .dilation = {1, o.dilation},
                                         .ceil_mode = o.ceil_mode});
  return {squeeze(result.values, -2), squeeze(result.indices, -2)};
}

MaxPoolResult max_pool2d_with_indices(const Tensor& x, Pair kernel, const MaxPool2dOptions& o) {
  const Calling calling("max_pool2d_with_indices");
  return max_pool("max_pool2d", x, kernel, o);
}

Tensor max_pool1d(const Tensor& x, int64_t kernel, const MaxPool1dOptions& options) {
  const Calling calling("max_pool1d");
  return max_pool1d_with_indices(x, kernel, options).values;
}

Tensor max_pool2d(const Tensor& x, Pair kernel, const MaxPool2dOptions& options) {
  const Calling calling("max_pool2d");
  return max_pool("max_pool2d", x, kernel, options).values;
}

Tensor avg_pool1d(const Tensor& x, int64_t kernel, const AvgPool1dOptions& o) {
  return squeeze(avg_pool("avg_pool1d", with_height("avg_pool1d", x), {1, kernel},
                          {.stride = Pair(1, o.stride.value_or(kernel)),
                           .padding = {0, o.padding},
                           .ceil_mode = o.ceil_mode,
                           .count_include_pad = o.count_include_pad}),
                 -2);
}

Tensor avg_pool2d(const Tensor& x, Pair kernel, const AvgPool2dOptions& options) {
  return avg_pool("avg_pool2d", x, kernel, options);
}

Tensor adaptive_avg_pool1d(const Tensor& x, int64_t size) {
  const char* const op = "adaptive_avg_pool1d";
  return squeeze(adaptive_avg(op, with_height(op, x), {1, size}), -2);
}

Tensor adaptive_avg_pool2d(const Tensor& x, Pair size) {
  return adaptive_avg("adaptive_avg_pool2d", x, size);
}

Tensor adaptive_max_pool1d(const Tensor& x, int64_t size) {
  const char* const op = "adaptive_max_pool1d";
  return squeeze(adaptive_max(op, with_height(op, x), {1, size}).values, -2);
}

Tensor adaptive_max_pool2d(const Tensor& x, Pair size) {
  const Calling calling("adaptive_max_pool2d");
  return adaptive_max("adaptive_max_pool2d", x, size).values;
}

MaxPoolResult adaptive_max_pool2d_with_indices(const Tensor& x, Pair size) {
  const Calling calling("adaptive_max_pool2d_with_indices");
  return adaptive_max("adaptive_max_pool2d", x, size);
}

Tensor lp_pool2d(const Tensor& x, double power, Pair kernel, const LpPool2dOptions& options) {
  check_defined("lp_pool2d", x);
  check(is_floating(x.dtype()) && is_computed(x.dtype()), ErrorCode::kDTypeMismatch, "lp_pool2d",
        "expected a floating dtype, got ", dtype_name(x.dtype()));
  check(power != 0, ErrorCode::kInvalidArgument, "lp_pool2d",
        "expected a power other than 0, got 0");
  const Tensor means = avg_pool("lp_pool2d", pow(cast(x, computed_in(x.dtype())), power), kernel,
                                {.stride = options.stride, .ceil_mode = options.ceil_mode});
  return cast(pow(means * double(kernel.height * kernel.width), 1 / power), x.dtype());
}

Tensor max_unpool2d(const Tensor& given, const Tensor& indices, Pair kernel,
                    const MaxUnpool2dOptions& o) {
  const char* const op = "max_unpool2d";
  const Tensor x = as_images(op, given), ids = as_images(op, indices);
  check_same_device(op, x, ids);
  check(x.shape() == ids.shape(), ErrorCode::kShapeMismatch, op, "expected indices ", x.shape(),
        ", got ", ids.shape());
  check(ids.dtype() == DType::kI64, ErrorCode::kDTypeMismatch, op, "expected indices of i64, got ",
        dtype_name(ids.dtype()));
  const Pair stride = o.stride.value_or(kernel);
  checked_attributes(op, kernel, stride, o.padding, 1);
  const Pair size =
      o.size.value_or(Pair((x.size(2) - 1) * stride.height - 2 * o.padding.height + kernel.height,
                           (x.size(3) - 1) * stride.width - 2 * o.padding.width + kernel.width));
  check_pair(op, "size", size, 1);
  const int64_t n = x.size(0), c = x.size(1), places = x.size(2) * x.size(3);
  const Tensor flat = reshape(x, {n, c, places}), where_to = reshape(ids, {n, c, places});
  Var target(zeros({n, c, size.height * size.width}, {.dtype = x.dtype(), .device = x.device()}),
             false);
  scatter_(target, 2, where_to, flat);
  const Tensor planes = record(op, target.tensor().detach(), {&flat, &where_to}, kKeepInput1,
                               [](const RuleContext& rule, std::span<Tensor> g) {
                                 g[0] = gather(rule.gradient, 2, rule.input(1));
                               });
  const Tensor y = reshape(planes, {n, c, size.height, size.width});
  return given.rank() == 4 ? y : squeeze(y, 0);
}

}  // namespace wick
