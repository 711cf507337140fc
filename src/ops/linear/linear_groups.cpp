// Products of one x with several weights, in one launch where the device has a kernel.
#include "base/calling.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/linear/linear.h"
#include "wick/ops/binary.h"
#include "wick/ops/matmul.h"

namespace wick {
namespace {

constexpr size_t kMaxParts = 3;

/// Whether a kernel may multiply x by weights like these, none of which is on the tape.
bool fits(const Tensor& x, std::span<const Tensor> weights, std::span<const Tensor> biases) {
  if (!wants_kernel() || !is_floating(x.dtype()) || x.rank() == 0 || x.numel() == 0) return false;
  const auto is_row = [&](const Tensor& bias, int64_t size) {
    return bias.rank() == 1 && bias.size(0) == size && bias.is_contiguous() &&
           bias.dtype() == x.dtype() && bias.device() == x.device();
  };
  std::vector<const Tensor*> inputs{&x};
  for (size_t i = 0; i < weights.size(); i++) {
    const Tensor& w = weights[i];
    if (w.rank() != 2 || w.size(1) != x.size(-1) || w.size(0) == 0 || w.device() != x.device() ||
        w.dtype() != weights[0].dtype())
      return false;
    inputs.push_back(&w);
    if (biases.empty()) continue;
    if (bool(biases[i]) != bool(biases[0])) return false;
    if (biases[i] && !is_row(biases[i], w.size(0))) return false;
    if (biases[i]) inputs.push_back(&biases[i]);
  }
  return !recording(inputs);
}

Tensor result_of(const Tensor& x, int64_t columns) {
  Shape shape = x.shape();
  shape[x.rank() - 1] = columns;
  return Tensor::empty(shape, {.dtype = x.dtype(), .device = x.device()});
}

/// The products of x with two or three weights; none if no kernel takes them.
std::vector<Tensor> by_kernel(const Tensor& x, std::span<const Tensor> weights,
                              std::span<const Tensor> biases) {
  if (!fits(x, weights, biases)) return {};
  std::vector<Tensor> y;
  for (const Tensor& w : weights) y.push_back(result_of(x, w.size(0)));
  const bool has_bias = bool(biases[0]);
  const auto used = [&](size_t i) { return i < weights.size() ? i : 0; };
  const auto weight = [&](size_t i) { return unit_stride(weights[used(i)]); };
  const auto bias = [&](size_t i) { return as_is(has_bias ? biases[used(i)] : x); };
  const auto out = [&](size_t i) { return rows(y[used(i)]); };
  const PartsAttributes attributes{int32(weights.size()), has_bias};
  if (!run_group(kLinearParts,
                 {rows(x), weight(0), weight(1), weight(2), bias(0), bias(1), bias(2)},
                 {out(0), out(1), out(2)}, attributes_of(attributes)))
    return {};
  return y;
}

}  // namespace

std::vector<Tensor> linear_parts(const Tensor& x, const std::vector<Tensor>& weights,
                                 const std::vector<Tensor>& biases) {
  const Calling calling("linear_parts");
  check(biases.empty() || biases.size() == weights.size(), ErrorCode::kInvalidArgument,
        "linear_parts", "expected ", weights.size(), " biases or none, got ", biases.size());
  check_defined("linear_parts", x);
  for (const Tensor& w : weights) check_defined("linear_parts", w, BlockDTypes::kAccepted);
  const auto bias = [&](size_t i) { return biases.empty() ? Tensor() : biases[i]; };
  std::vector<Tensor> y(weights.size());
  for (size_t i = 0; i < weights.size(); i++) {
    if (y[i]) continue;
    std::vector<size_t> alike;
    std::vector<Tensor> of_dtype, of_dtype_biases;
    for (size_t j = i; j < weights.size() && alike.size() < kMaxParts; j++) {
      if (y[j] || weights[j].dtype() != weights[i].dtype()) continue;
      alike.push_back(j);
      of_dtype.push_back(weights[j]);
      of_dtype_biases.push_back(bias(j));
    }
    if (alike.size() > 1) {
      const std::vector<Tensor> all = by_kernel(x, of_dtype, of_dtype_biases);
      for (size_t j = 0; j < all.size(); j++) y[alike[j]] = all[j];
    }
    if (!y[i]) y[i] = linear(x, weights[i], bias(i));
  }
  return y;
}

Tensor gated_linear(const Tensor& x, const Tensor& gate, const Tensor& up, Activation activation) {
  const Calling calling("gated_linear");
  check_defined("gated_linear", x);
  for (const Tensor* w : {&gate, &up}) check_defined("gated_linear", *w, BlockDTypes::kAccepted);
  const Tensor weights[] = {gate, up};
  if (fits(x, weights, {}) && gate.size(0) == up.size(0)) {
    const Tensor y = result_of(x, gate.size(0));
    const GatedAttributes attributes{facts_of(activation).in_kernels};
    if (run_group(kGatedLinear, {rows(x), unit_stride(gate), unit_stride(up)}, {rows(y)},
                  attributes_of(attributes)))
      return y;
  }
  Tensor inner = linear(x, gate);
  if (activation == Activation::kSilu) return swiglu(std::move(inner), linear(x, up));
  return facts_of(activation).op(std::move(inner)) * linear(x, up);
}

}  // namespace wick
