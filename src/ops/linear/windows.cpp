#include "ops/linear/windows.h"

#include <algorithm>
#include <vector>

#include "core/launch.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/tape/tape.h"
#include "scalar/binary.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

/// The number of elements from the first window's start to the last one's end, along dim d of two.
int64_t reach(const PoolAttributes& a, int d, int64_t places) {
  return (places - 1) * a.stride[d] + window_extent(a.kernel[d], a.dilation[d]);
}

/// x with zeros before and after it, cropped or extended to [N, C, height, width], off the tape.
Tensor with_zeros_around(const Tensor& x, const PoolAttributes& a, int64_t height, int64_t width) {
  const Tensor padded =
      zeros({x.size(0), x.size(1), height, width}, {.dtype = x.dtype(), .device = x.device()});
  Layout from = x.layout(), to = padded.layout();
  const int64_t sizes[2] = {height, width};
  for (int d = 0; d < 2; d++) {
    const int64_t length = std::min(x.shape()[2 + d], sizes[d] - a.padding[d]);
    if (length <= 0) return padded;
    from.shape[2 + d] = to.shape[2 + d] = length;
    to.offset += a.padding[d] * to.strides[2 + d];
  }
  copy_elements(x.view(from), padded.view(to));
  return padded;
}

/// Adds x to the elements of y that window element k covers along a padded dim.
void add_at_places(const Tensor& y, const PoolAttributes& a, int d, int64_t k, int dim,
                   const Tensor& x) {
  Layout at = y.layout();
  at.shape[dim] = x.shape()[dim];
  at.offset += k * a.dilation[d] * at.strides[dim];
  at.strides[dim] *= a.stride[d];
  const Tensor part = y.view(at);
  const DType dtype = y.dtype();
  if (!may_run_in_place(y.device(), Add::op, {dtype, dtype, dtype}, 2))
    return copy_elements(part + x, part);
  const Operand in[] = {operand(part), operand(x)}, out = operand(part);
  elementwise(y.device(), Add::op, part.shape(), in, {&out, 1});
}

/// Folds one dim after the other. The width comes first and the order is fixed, so the same inputs
/// give the same bits.
Tensor fold_composite(const Tensor& x, const PoolAttributes& a, const Pair& size) {
  const NoGrad no_grad;
  const DType dtype = is_floating(x.dtype()) ? computed_in(x.dtype()) : x.dtype();
  const Tensor wide = cast(x, dtype);  // [N, C, KH, KW, OH, OW]
  const Dims s = x.shape();
  const int64_t height = std::max(reach(a, 0, s[4]), a.padding[0] + size.height);
  const int64_t width = std::max(reach(a, 1, s[5]), a.padding[1] + size.width);
  const TensorOptions options{.dtype = dtype, .device = x.device()};
  const Tensor columns = zeros({s[0], s[1], s[2], s[4], width}, options);
  for (int64_t k = 0; k < s[3]; k++) add_at_places(columns, a, 1, k, 4, select(wide, 3, k));
  const Tensor whole = zeros({s[0], s[1], height, width}, options);
  for (int64_t k = 0; k < s[2]; k++) add_at_places(whole, a, 0, k, 2, select(columns, 2, k));
  return cast(
      narrow(narrow(whole, 2, a.padding[0], size.height), 3, a.padding[1], size.width).contiguous(),
      x.dtype());
}

Pair places_in(const char* op, const PoolAttributes& a, const Pair& size) {
  const auto count = [&](int d, int64_t length) {
    return count_windows(op, length + 2 * a.padding[d], window_extent(a.kernel[d], a.dilation[d]),
                         a.stride[d]);
  };
  return {count(0, size.height), count(1, size.width)};
}

PoolAttributes checked_attributes(const char* op, const Pair& kernel,
                                  const WindowOptions& options) {
  check_pair(op, "kernel", kernel, 1);
  check_pair(op, "stride", options.stride, 1);
  check_pair(op, "padding", options.padding, 0);
  check_pair(op, "dilation", options.dilation, 1);
  return pool_attributes(kernel, options.stride, options.padding, options.dilation);
}

}  // namespace

Tensor as_images(const char* op, const Tensor& x) {
  check_defined(op, x);
  check(x.rank() == 3 || x.rank() == 4, ErrorCode::kShapeMismatch, op,
        "expected x [N, C, H, W] or [C, H, W], got ", x.shape());
  return x.rank() == 4 ? x : unsqueeze(x, 0);
}

void check_pair(const char* op, const char* name, const Pair& pair, int64_t least) {
  // This bound keeps products of sizes and steps within int64_t.
  constexpr int64_t kMax = int64_t(1) << 30;
  check(std::min(pair.height, pair.width) >= least && std::max(pair.height, pair.width) <= kMax,
        ErrorCode::kInvalidArgument, op, "expected ", name, " of at least ", least, ", got ",
        Dims{pair.height, pair.width});
}

int64_t count_windows(const char* op, int64_t size, int64_t extent, int64_t stride) {
  check(size >= extent, ErrorCode::kShapeMismatch, op, "a window of ", extent,
        " elements does not fit in ", size, ", padding included");
  return (size - extent) / stride + 1;
}

PoolAttributes pool_attributes(const Pair& kernel, const Pair& stride, const Pair& padding,
                               const Pair& dilation) {
  return {.kernel = {kernel.height, kernel.width},
          .stride = {stride.height, stride.width},
          .padding = {padding.height, padding.width},
          .dilation = {dilation.height, dilation.width},
          .counted = {0, 0},
          .divisor = 0};
}

Tensor windows(const Tensor& x, const PoolAttributes& attributes, const Pair& places) {
  const PoolAttributes& a = attributes;
  const int64_t height = reach(a, 0, places.height), width = reach(a, 1, places.width);
  const bool inside =
      a.padding[0] == 0 && a.padding[1] == 0 && height <= x.shape()[2] && width <= x.shape()[3];
  const Tensor source = inside ? x.detach() : with_zeros_around(x, a, height, width);
  const Dims& s = source.strides();
  const Layout layout{
      {x.shape()[0], x.shape()[1], a.kernel[0], a.kernel[1], places.height, places.width},
      {s[0], s[1], a.dilation[0] * s[2], a.dilation[1] * s[3], a.stride[0] * s[2],
       a.stride[1] * s[3]},
      source.layout().offset};
  const Pair size(x.shape()[2], x.shape()[3]);
  return record(
      "windows", source.view(layout), {&x}, kKeepNothing,
      [a, size](const RuleContext& c, std::span<Tensor> g) { g[0] = fold(c.gradient, a, size); });
}

Tensor fold(const Tensor& x, const PoolAttributes& attributes, const Pair& size) {
  const PoolAttributes& a = attributes;
  const TensorOptions options{.dtype = x.dtype(), .device = x.device()};
  const Shape shape{x.size(0), x.size(1), size.height, size.width};
  if (x.numel() == 0) return record_constant("fold", zeros(shape, options), {&x});
  const Tensor y = Tensor::empty(shape, options);
  const Pair places(x.size(4), x.size(5));
  return fused({.op = kFold,
                .inputs = {&x},
                .in = {as_is(x)},
                .out = {as_is(y)},
                .attributes = attributes_of(a),
                .composite = [&](const auto& in) { return fold_composite(in[0], a, size); },
                .keep = kKeepNothing,
                .rule = [a, places](const RuleContext& c,
                                    std::span<Tensor> g) { g[0] = windows(c.gradient, a, places); },
                .rule_for_both = true});
}

Tensor unfold2d(const Tensor& x, Pair kernel, const WindowOptions& options) {
  const Tensor images = as_images("unfold2d", x);
  const PoolAttributes a = checked_attributes("unfold2d", kernel, options);
  const Pair places = places_in("unfold2d", a, {images.size(2), images.size(3)});
  const int64_t rows = images.size(1) * kernel.height * kernel.width;
  const Tensor y =
      reshape(windows(images, a, places), {images.size(0), rows, places.height * places.width});
  return x.rank() == 4 ? y : squeeze(y, 0);
}

Tensor fold2d(const Tensor& x, Pair size, Pair kernel, const WindowOptions& options) {
  check_defined("fold2d", x);
  check(x.rank() == 2 || x.rank() == 3, ErrorCode::kShapeMismatch, "fold2d",
        "expected x [N, C KH KW, L] or [C KH KW, L], got ", x.shape());
  check(x.dtype() != DType::kBool && is_computed(x.dtype()), ErrorCode::kDTypeMismatch, "fold2d",
        "expected a numeric dtype, got ", dtype_name(x.dtype()));
  check_pair("fold2d", "size", size, 1);
  const PoolAttributes a = checked_attributes("fold2d", kernel, options);
  const Pair places = places_in("fold2d", a, size);
  const int64_t taps = kernel.height * kernel.width, channels = x.size(-2) / taps;
  check(x.size(-2) == channels * taps && x.size(-1) == places.height * places.width,
        ErrorCode::kShapeMismatch, "fold2d", "expected x [..., C ", taps, ", ",
        places.height * places.width, "], got ", x.shape());
  const Tensor y = fold(reshape(x, {x.rank() == 3 ? x.size(0) : 1, channels, kernel.height,
                                    kernel.width, places.height, places.width}),
                        a, size);
  return x.rank() == 3 ? y : squeeze(y, 0);
}

}  // namespace wick
