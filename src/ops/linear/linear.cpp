// linear: a product with weights as they lie, of x's dtype or another, and its epilogue.
#include "ops/linear/linear.h"

#include <algorithm>

#include "base/calling.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/reduce/reduce.h"
#include "wick/abi/ops/linear_epilogue.h"
#include "wick/abi/ops/matmul.h"
#include "wick/ops/arrange.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/matmul.h"
#include "wick/ops/shape.h"
#include "wick/ops/unary.h"

namespace wick {
namespace {

/// x times the weight decoded to a wide dtype: for devices and dtypes without a kernel. For more than 16 rows blocks become
/// numbers of x's dtype, as in the kernels on matrix units: GPUs have none for many rows, since a product of one dtype is
/// faster.
Tensor composite(const Tensor& x, const Tensor& weight) {
  const bool is_half = x.dtype() == DType::kF16 || x.dtype() == DType::kBf16;
  const DType wide = is_half && is_block(weight.dtype()) && count_rows(x) > 16
                         ? x.dtype()
                         : wide_dtype_of(x, weight);
  const Tensor wide_x = cast(x, wide);
  const auto product = [&](const Tensor& some) {
    return cast(matmul(wide_x, transpose(cast(some, wide))), x.dtype());
  };
  constexpr int64_t kMaxDecoded = int64_t{1} << 28;  // elements at a time
  const int64_t rows = weight.size(0),
                step = std::max<int64_t>(1, kMaxDecoded / std::max<int64_t>(1, weight.size(1)));
  if (rows <= step || weight.dtype() == wide) return product(weight);
  std::vector<Tensor> parts;
  for (int64_t first = 0; first < rows; first += step)
    parts.push_back(product(narrow(weight, 0, first, std::min(step, rows - first))));
  return cat(parts, -1);
}

/// Of x and the weight.
void gradients(const RuleContext& c, std::span<Tensor> g) {
  const Tensor x = c.input(0), weight = c.input(1);
  // Products of one dtype sum in the wide one without casts.
  const bool is_one = x.dtype() == weight.dtype() && x.dtype() == c.gradient.dtype();
  const DType wide = is_one ? x.dtype() : wide_dtype_of(x, weight);
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

/// In the order of Activation.
constexpr ActivationFacts kActivations[] = {
    {EpilogueActivation::kNone, [](Tensor x) { return x; }},
    {EpilogueActivation::kRelu, relu},
    {EpilogueActivation::kSilu, silu},
    {EpilogueActivation::kGelu, gelu},
    {EpilogueActivation::kGeluTanh, gelu_tanh},
};

/// What linear returns.
struct LinearResult {
  Shape shape;
  DType dtype;
};

void check_options(const Tensor& x, const Tensor& bias, const EpilogueOptions& o,
                   const LinearResult& y) {
  check(o.activation == Activation::kNone || is_floating(x.dtype()), ErrorCode::kDTypeMismatch,
        "linear", "activation: expected a floating x, got ", dtype_name(x.dtype()));
  const bool widens =
      y.dtype == DType::kF32 && (x.dtype() == DType::kF16 || x.dtype() == DType::kBf16);
  check(y.dtype == x.dtype() || widens, ErrorCode::kDTypeMismatch, "linear",
        "dtype: expected that of x, ", dtype_name(x.dtype()), ", or f32 beside f16 or bf16, got ",
        dtype_name(y.dtype));
  check(!bias || bias.dtype() == x.dtype(), ErrorCode::kDTypeMismatch, "linear",
        "expected a bias of x's ", dtype_name(x.dtype()), ", got ",
        bias ? dtype_name(bias.dtype()) : "");
  if (!o.residual) return;
  check_defined("linear", o.residual);
  check_same_device("linear", x, o.residual);
  check(o.residual.shape() == y.shape, ErrorCode::kShapeMismatch, "linear",
        "expected a residual of the result's shape ", y.shape, ", got ", o.residual.shape());
  check(o.residual.dtype() == y.dtype, ErrorCode::kDTypeMismatch, "linear",
        "expected a residual of the result's ", dtype_name(y.dtype), ", got ",
        dtype_name(o.residual.dtype()));
}

/// The product and its epilogue by one kernel; empty if the device has none for these operands.
Tensor by_kernel(const Tensor& x, const Tensor& weight, const Tensor& bias,
                 const EpilogueOptions& o, const LinearResult& result) {
  const int64_t out = weight.size(0), in = weight.size(1);
  const auto is_row = [&](const Tensor& b) {
    return b.dtype() == x.dtype() && b.device() == x.device() && b.rank() == 1 &&
           b.size(0) == out && b.strides()[0] == 1;
  };
  const bool is_mixed = x.dtype() != weight.dtype();
  const bool fits = is_floating(x.dtype()) && x.numel() > 0 && out > 0 && x.is_contiguous() &&
                    weight.strides()[1] == 1 && (!bias || is_row(bias)) &&
                    (!o.residual || o.residual.is_contiguous()) &&
                    !(is_mixed && result.dtype != x.dtype());
  if (!fits || !wants_kernel()) return {};
  const std::vector<const Tensor*> inputs = [&] {
    std::vector<const Tensor*> all{&x, &weight};
    if (bias) all.push_back(&bias);
    if (o.residual) all.push_back(&o.residual);
    return all;
  }();
  // The gradient of an activation needs the sums; weights of another dtype have mixed_product's.
  if ((o.activation != Activation::kNone || is_mixed) && recording(inputs)) return {};
  const Tensor y = Tensor::empty(result.shape, {.dtype = result.dtype, .device = x.device()});
  const int64_t m = x.numel() / in;
  const auto matrix = [&](const Tensor& t, int64_t columns) {
    const Shape shape{m, columns};
    return make_view(t.data(), t.dtype(), shape, Layout::contiguous(shape).strides);
  };
  const View views[] = {matrix(x, in), make_view(weight), bias ? make_view(bias) : make_view(x),
                        matrix(o.residual ? o.residual : y, out), matrix(y, out)};
  const EpilogueAttributes attributes{.activation = wick::facts_of(o.activation).in_kernels,
                                      .has_bias = bool(bias),
                                      .has_residual = bool(o.residual)};
  const Op& op = is_mixed ? kLinearMixedEpilogue : kLinearEpilogue;
  if (!try_launch(x.device(), op, {views, 4}, {views + 4, 1}, attributes_of(attributes), nullptr))
    return {};
  const int bias_at = bias ? 2 : -1, residual_at = o.residual ? int(inputs.size()) - 1 : -1;
  return record("linear", y, inputs, kKeepInput0 | kKeepInput1,
                [bias_at, residual_at](const RuleContext& c, std::span<Tensor> g) {
                  gradients(c, g);
                  if (bias_at >= 0 && c.wants(bias_at))
                    g[size_t(bias_at)] =
                        cast(sum_to(c.gradient, c.input_shape(bias_at)), c.input_dtype(bias_at));
                  if (residual_at >= 0 && c.wants(residual_at)) g[size_t(residual_at)] = c.gradient;
                });
}

}  // namespace

const ActivationFacts& facts_of(Activation activation) { return kActivations[int(activation)]; }

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const EpilogueOptions& options) {
  const Calling calling("linear");
  check_defined("linear", x);
  check_defined("linear", weight, BlockDTypes::kAccepted);
  check_same_device("linear", x, weight);
  check(weight.rank() == 2, ErrorCode::kShapeMismatch, "linear", "expected weight [out, in], got ",
        weight.shape());
  check(x.rank() > 0 && x.size(-1) == weight.size(1), ErrorCode::kShapeMismatch, "linear",
        "inner dimensions differ: x ", x.shape(), ", weight ", weight.shape());
  LinearResult result{x.shape(), options.dtype.value_or(x.dtype())};
  result.shape[x.rank() - 1] = weight.size(0);
  const bool is_wide = result.dtype != x.dtype();
  const bool has_options = is_wide || options.activation != Activation::kNone || options.residual;
  if (has_options) check_options(x, bias, options, result);
  if (bias || has_options)
    if (const Tensor y = by_kernel(x, weight, bias, options, result)) return y;
  if (has_options) {
    Tensor y = linear(is_wide ? cast(x, result.dtype) : x, weight, bias);
    y = wick::facts_of(options.activation).op(std::move(y));
    return options.residual ? std::move(y) + options.residual : y;
  }
  const Tensor y =
      x.dtype() == weight.dtype() ? matmul(x, transpose(weight)) : mixed_product(x, weight);
  return bias ? y + bias : y;
}

}  // namespace wick
