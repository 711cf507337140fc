#include "wick/ops/conv.h"

#include <algorithm>
#include <vector>

#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/linear/conv_composite.h"
#include "ops/linear/windows.h"
#include "ops/tape/tape.h"
#include "wick/ops/create.h"
#include "wick/ops/elementwise.h"
#include "wick/ops/gather.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

/// x, copied if any of its elements overlap in memory: kernels rely on the strides being a proper
/// layout.
Tensor without_overlap(const Tensor& x) {
  Dims strides = x.strides(), sizes = x.shape();
  int64_t span = 1;  // extent of the dims with smaller strides
  for (int left = x.rank(); left > 0; left--) {
    int least = 0;
    for (int d = 1; d < left; d++)
      if (strides[d] < strides[least]) least = d;
    if (sizes[least] > 1) {
      if (strides[least] < span) return make_contiguous(x);
      span = strides[least] * sizes[least];
    }
    strides.erase(least);
    sizes.erase(least);
  }
  return x;
}

Tensor convolve(const Op& op, const Tensor& a, const Tensor& b, const Shape& shape,
                const ConvAttributes& attributes);

/// The gradient rule: each of the three ops (conv_composite.h) is the gradient of the others.
void gradient(const Op& op, const ConvAttributes& attributes, const RuleContext& c,
              std::span<Tensor> g) {
  const auto run = [&](const Op& which, const Tensor& first, const Tensor& second, int input) {
    if (c.wants(input))
      g[size_t(input)] = convolve(which, first, second, c.input_shape(input), attributes);
  };
  const Op &kY = kConv, &kX = kConvInputGradient, &kWeight = kConvWeightGradient;
  if (op == kY) {
    run(kX, c.gradient, c.input(1), 0);
    run(kWeight, c.gradient, c.input(0), 1);
  } else if (op == kX) {
    run(kY, c.gradient, c.input(1), 0);
    run(kWeight, c.input(0), c.gradient, 1);
  } else {
    run(kY, c.input(1), c.gradient, 0);
    run(kX, c.input(0), c.gradient, 1);
  }
}

/// Runs one of the three ops.
Tensor convolve(const Op& op, const Tensor& a, const Tensor& b, const Shape& shape,
                const ConvAttributes& attributes) {
  const TensorOptions options{.dtype = a.dtype(), .device = a.device()};
  if (a.numel() == 0 || b.numel() == 0)
    return record_constant(op.name, zeros(shape, options), {&a, &b});
  const Tensor y = Tensor::empty(shape, options);
  return fused(
      {.op = op,
       .inputs = {&a, &b},
       .in = {as_is(without_overlap(a)), as_is(without_overlap(b))},
       .out = {as_is(y)},
       .attributes = attributes_of(attributes),
       .composite =
           [&](const auto& in) { return conv_composite(op, in[0], in[1], shape, attributes); },
       .rule = [op, attributes](const auto& c, auto g) { gradient(op, attributes, c, g); },
       .rule_for_both = true});
}

/// Indices along a dim of n elements, extended before and after as the padding mode says.
Tensor padding_ids(const char* op, PaddingMode mode, int64_t n, int64_t before, int64_t behind,
                   const Device& device) {
  const int64_t most = std::max(before, behind);
  check(mode == PaddingMode::kReplicate ? n > 0
        : mode == PaddingMode::kReflect ? most < n
                                        : most <= n,
        ErrorCode::kInvalidArgument, op, "padding of ", most, " is too large for ", n, " elements");
  std::vector<int64_t> ids;
  for (int64_t i = -before; i < n + behind; i++) {
    if (mode == PaddingMode::kReplicate)
      ids.push_back(std::clamp<int64_t>(i, 0, n - 1));
    else if (mode == PaddingMode::kReflect)
      ids.push_back(i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i);
    else
      ids.push_back((i + n) % n);
  }
  return Tensor::from(ids, device);
}

Tensor with_bias(const char* op, Tensor y, const Tensor& bias) {
  if (!bias) return y;
  check_same_device(op, y, bias);
  check(bias.rank() == 1 && bias.size(0) == y.size(1), ErrorCode::kShapeMismatch, op,
        "expected bias [", y.size(1), "], got ", bias.shape());
  return cast(add(std::move(y), reshape(bias, {bias.size(0), 1, 1})), y.dtype());
}

/// The dtype that both promote to. Errors: kDTypeMismatch for integers.
DType checked_dtype(const char* op, const Tensor& x, const Tensor& weight) {
  check_same_device(op, x, weight);
  const DType dtype = promote(x.dtype(), weight.dtype());
  check(is_floating(dtype) && is_computed(dtype), ErrorCode::kDTypeMismatch, op,
        "expected a floating dtype, got x of ", dtype_name(x.dtype()), " and weight of ",
        dtype_name(weight.dtype()));
  return dtype;
}

void check_weight(const char* op, const Tensor& weight) {
  check_defined(op, weight);
  check(weight.rank() == 4 && weight.size(2) > 0 && weight.size(3) > 0, ErrorCode::kShapeMismatch,
        op, "expected weight [O, C / groups, KH, KW], got ", weight.shape());
}

void check_groups(const char* op, int64_t channels, int64_t groups) {
  check(groups >= 1 && channels % groups == 0, ErrorCode::kInvalidArgument, op,
        "expected groups of at least 1 that divide ", channels, " channels, got ", groups);
}

void check_padding(const char* op, const Padding2d& p) {
  check_pair(op, "padding", {p.top, p.left}, 0);
  check_pair(op, "padding", {p.bottom, p.right}, 0);
}

/// The padding before and after that keeps the size.
void make_same(int64_t extent, int64_t* before, int64_t* behind) {
  *before = (extent - 1) / 2;
  *behind = extent - 1 - *before;
}

Tensor conv(const char* op, const Tensor& given, const Tensor& weight, Conv2dOptions o) {
  Tensor x = as_images(op, given);
  check_weight(op, weight);
  const DType dtype = checked_dtype(op, x, weight);
  check_pair(op, "stride", o.stride, 1);
  check_pair(op, "dilation", o.dilation, 1);
  check_groups(op, weight.size(0), o.groups);
  check(x.size(1) == weight.size(1) * o.groups, ErrorCode::kShapeMismatch, op, "expected x of ",
        weight.size(1) * o.groups, " channels for weight ", weight.shape(), " in ", o.groups,
        " groups, got ", x.shape());
  const int64_t extents[2] = {window_extent(weight.size(2), o.dilation.height),
                              window_extent(weight.size(3), o.dilation.width)};
  if (o.padding.same) {
    check(o.stride == Pair(1), ErrorCode::kInvalidArgument, op,
          "expected a stride of 1 with kSamePadding, got ", Dims{o.stride.height, o.stride.width});
    make_same(extents[0], &o.padding.top, &o.padding.bottom);
    make_same(extents[1], &o.padding.left, &o.padding.right);
  }
  check_padding(op, o.padding);
  Padding2d& p = o.padding;
  if (o.padding_mode != PaddingMode::kZeros) {
    if (p.top + p.bottom > 0)
      x = index_select(x, 2,
                       padding_ids(op, o.padding_mode, x.size(2), p.top, p.bottom, x.device()));
    if (p.left + p.right > 0)
      x = index_select(x, 3,
                       padding_ids(op, o.padding_mode, x.size(3), p.left, p.right, x.device()));
    p = 0;
  }
  const Shape shape{x.size(0), weight.size(0),
                    count_windows(op, x.size(2) + p.top + p.bottom, extents[0], o.stride.height),
                    count_windows(op, x.size(3) + p.left + p.right, extents[1], o.stride.width)};
  const ConvAttributes attributes{.stride = {o.stride.height, o.stride.width},
                                  .padding = {p.top, p.left},
                                  .dilation = {o.dilation.height, o.dilation.width},
                                  .groups = o.groups};
  const Tensor y = with_bias(
      op, convolve(kConv, cast(x, dtype), cast(weight, dtype), shape, attributes), o.bias);
  return given.rank() == 4 ? y : squeeze(y, 0);
}

Tensor conv_transpose(const char* op, const Tensor& given, const Tensor& weight,
                      const ConvTranspose2dOptions& o) {
  const Tensor x = as_images(op, given);
  check_weight(op, weight);
  const DType dtype = checked_dtype(op, x, weight);
  check_pair(op, "stride", o.stride, 1);
  check_pair(op, "dilation", o.dilation, 1);
  check_pair(op, "output_padding", o.output_padding, 0);
  check_groups(op, weight.size(0), o.groups);
  check(x.size(1) == weight.size(0), ErrorCode::kShapeMismatch, op, "expected x of ",
        weight.size(0), " channels for weight ", weight.shape(), ", got ", x.shape());
  check(!o.padding.same, ErrorCode::kInvalidArgument, op,
        "transposed convolutions do not support kSamePadding");
  check_padding(op, o.padding);
  const auto size_of = [&](int64_t size, int64_t kernel, int64_t stride, int64_t dilation,
                           int64_t padding, int64_t more) {
    check(more < std::max(stride, dilation), ErrorCode::kInvalidArgument, op,
          "expected output_padding below the stride or the dilation, got ", more);
    const int64_t result =
        size == 0 ? 0 : (size - 1) * stride - padding + window_extent(kernel, dilation) + more;
    check(result > 0 || size == 0, ErrorCode::kShapeMismatch, op, "padding of ", padding,
          " leaves no elements in the result");
    return result;
  };
  const Padding2d& p = o.padding;
  const Shape shape{x.size(0), weight.size(1) * o.groups,
                    size_of(x.size(2), weight.size(2), o.stride.height, o.dilation.height,
                            p.top + p.bottom, o.output_padding.height),
                    size_of(x.size(3), weight.size(3), o.stride.width, o.dilation.width,
                            p.left + p.right, o.output_padding.width)};
  const ConvAttributes attributes{.stride = {o.stride.height, o.stride.width},
                                  .padding = {p.top, p.left},
                                  .dilation = {o.dilation.height, o.dilation.width},
                                  .groups = o.groups};
  const Tensor y = with_bias(
      op, convolve(kConvInputGradient, cast(x, dtype), cast(weight, dtype), shape, attributes),
      o.bias);
  return given.rank() == 4 ? y : squeeze(y, 0);
}

/// x [N, C, L] or [C, L], or a weight, with a dim of size 1 inserted before the last.
Tensor with_height(const char* op, const char* name, const Tensor& x, bool batchless_too) {
  check_defined(op, x);
  check(x.rank() == 3 || (batchless_too && x.rank() == 2), ErrorCode::kShapeMismatch, op,
        "expected ", name, ", got ", x.shape());
  return unsqueeze(x, -2);
}

}  // namespace

Tensor conv1d(const Tensor& x, const Tensor& weight, const Conv1dOptions& o) {
  Padding2d padding(0, 0, o.padding.left, o.padding.right);
  padding.same = o.padding.same;
  return squeeze(conv("conv1d", with_height("conv1d", "x [N, C, L] or [C, L]", x, true),
                      with_height("conv1d", "weight [O, C / groups, K]", weight, false),
                      {.bias = o.bias,
                       .stride = {1, o.stride},
                       .padding = padding,
                       .dilation = {1, o.dilation},
                       .groups = o.groups,
                       .padding_mode = o.padding_mode}),
                 -2);
}

Tensor conv2d(const Tensor& x, const Tensor& weight, const Conv2dOptions& options) {
  return conv("conv2d", x, weight, options);
}

Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const ConvTranspose1dOptions& o) {
  Padding2d padding(0, 0, o.padding.left, o.padding.right);
  padding.same = o.padding.same;
  return squeeze(
      conv_transpose("conv_transpose1d",
                     with_height("conv_transpose1d", "x [N, C, L] or [C, L]", x, true),
                     with_height("conv_transpose1d", "weight [C, O / groups, K]", weight, false),
                     {.bias = o.bias,
                      .stride = {1, o.stride},
                      .padding = padding,
                      .output_padding = {0, o.output_padding},
                      .dilation = {1, o.dilation},
                      .groups = o.groups}),
      -2);
}

Tensor conv_transpose2d(const Tensor& x, const Tensor& weight,
                        const ConvTranspose2dOptions& options) {
  return conv_transpose("conv_transpose2d", x, weight, options);
}

}  // namespace wick
