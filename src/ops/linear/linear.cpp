// linear: a product with weights as they lie, of x's dtype or another.
#include "ops/linear/linear.h"

#include "base/calling.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/reduce/reduce.h"
#include "wick/abi/ops/linear_bias.h"
#include "wick/abi/ops/matmul.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/matmul.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

/// The whole weight in a wide dtype: for devices and dtypes without a kernel.
Tensor composite(const Tensor& x, const Tensor& weight) {
  const DType wide = wide_of(x, weight);
  return cast(matmul(cast(x, wide), transpose(cast(weight, wide))), x.dtype());
}

void gradients(const RuleContext& c, std::span<Tensor> g) {
  const Tensor x = c.input(0), weight = c.input(1);
  const DType wide = wide_of(x, weight);
  const Tensor gy = cast(c.gradient, wide);
  if (c.wants(0)) g[0] = cast(matmul(gy, cast(weight, wide)), x.dtype());
  if (c.wants(1)) {
    const int64_t rows = count_rows(x);
    const Tensor flat = reshape(gy, {rows, weight.size(0)});
    g[1] =
        cast(matmul(transpose(flat), reshape(cast(x, wide), {rows, x.size(-1)})), weight.dtype());
  }
}

/// x times the transpose of a weight of another dtype.
Tensor mixed_product(const Tensor& x, const Tensor& weight) {
  check(is_floating(x.dtype()), ErrorCode::kDTypeMismatch, "linear",
        "expected a floating x beside ", dtype_name(weight.dtype()), " weights, got ",
        dtype_name(x.dtype()));
  check(is_floating(weight.dtype()) || is_block(weight.dtype()), ErrorCode::kDTypeMismatch,
        "linear", "expected weights of ", dtype_name(x.dtype()),
        ", another floating or a block dtype, got ", dtype_name(weight.dtype()));
  Shape shape = x.shape();
  shape[x.rank() - 1] = weight.size(0);
  const Tensor y = Tensor::empty(shape, {.dtype = x.dtype(), .device = x.device()});
  if (x.size(-1) == 0) return composite(x, weight);
  return fused({.op = kLinear,
                .inputs = {&x, &weight},
                .in = {rows(x), unit_stride(weight)},
                .out = {rows(y)},
                .composite = [](const auto& in) { return composite(in[0], in[1]); },
                .rule = [](const RuleContext& c, auto g) { gradients(c, g); },
                .rule_for_both = true});
}

/// x times the transpose of the weight, plus the bias, by one kernel; empty if the device has none for these
/// operands.
Tensor biased_product(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const int64_t out = weight.size(0), in = weight.size(1);
  const bool fits = x.dtype() == weight.dtype() && x.dtype() == bias.dtype() && bias.rank() == 1 &&
                    bias.size(0) == out && x.device() == bias.device() && x.numel() > 0 &&
                    out > 0 && x.is_contiguous() && weight.strides()[1] == 1 &&
                    bias.strides()[0] == 1;
  if (!fits || !wants_kernel()) return {};
  Shape shape = x.shape();
  shape[x.rank() - 1] = out;
  const Tensor y = Tensor::empty(shape, {.dtype = x.dtype(), .device = x.device()});
  const Shape rows{x.numel() / in, in}, rows_of_y{x.numel() / in, out};
  const View views[] = {
      make_view(x.data(), x.dtype(), rows, Layout::contiguous(rows).strides), make_view(weight),
      make_view(bias),
      make_view(y.data(), y.dtype(), rows_of_y, Layout::contiguous(rows_of_y).strides)};
  if (!try_launch(x.device(), kLinearBias, {views, 3}, {views + 3, 1}, {}, nullptr)) return {};
  return record("linear", y, {&x, &weight, &bias}, kKeepInputs,
                [](const RuleContext& c, std::span<Tensor> g) {
                  gradients(c, g);
                  if (c.wants(2)) g[2] = sum_to(c.gradient, c.input_shape(2));
                });
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Calling calling("linear");
  check_defined("linear", x);
  check_defined("linear", weight, BlockDTypes::kAccepted);
  check_same_device("linear", x, weight);
  check(weight.rank() == 2, ErrorCode::kShapeMismatch, "linear", "expected weight [out, in], got ",
        weight.shape());
  check(x.rank() > 0 && x.size(-1) == weight.size(1), ErrorCode::kShapeMismatch, "linear",
        "inner dimensions differ: x ", x.shape(), ", weight ", weight.shape());
  if (bias)
    if (const Tensor y = biased_product(x, weight, bias)) return y;
  const Tensor y =
      x.dtype() == weight.dtype() ? matmul(x, transpose(weight)) : mixed_product(x, weight);
  return bias ? y + bias : y;
}

}  // namespace wick
