// Products of one x with several weights, in one launch where the device has a kernel.
#include <algorithm>

#include "base/calling.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/linear/linear.h"
#include "wick/abi/dtype.h"
#include "wick/ops/binary.h"
#include "wick/ops/matmul.h"
#include "wick/ops/norm.h"

namespace wick {
namespace {

constexpr size_t kMaxParts = 3;

/// The RMS norm that x has before the products.
struct InputNorm {
  Tensor scale;  // empty: no norm
  double eps = 0;
};

/// Whether a kernel may multiply x by weights like these, none of which is on the tape. Their dtypes
/// are one, or those of blocks.
bool fits(const Tensor& x, const InputNorm& norm, std::span<const Tensor> weights,
          std::span<const Tensor> biases) {
  if (!wants_kernel() || !is_floating(x.dtype()) || x.rank() == 0 || x.numel() == 0) return false;
  const auto is_row = [&](const Tensor& bias, int64_t size) {
    return bias.rank() == 1 && bias.size(0) == size && bias.is_contiguous() &&
           bias.dtype() == x.dtype() && bias.device() == x.device();
  };
  std::vector<const Tensor*> inputs{&x};
  if (norm.scale) {
    if (!is_row(norm.scale, x.size(-1))) return false;
    inputs.push_back(&norm.scale);
  }
  for (size_t i = 0; i < weights.size(); i++) {
    const Tensor& w = weights[i];
    const bool is_alike =
        w.dtype() == weights[0].dtype() || (is_block(w.dtype()) && is_block(weights[0].dtype()));
    if (w.rank() != 2 || w.size(1) != x.size(-1) || w.size(0) == 0 || w.device() != x.device() ||
        !is_alike)
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
                              std::span<const Tensor> biases, const InputNorm& norm = {}) {
  if (!fits(x, norm, weights, biases)) return {};
  const bool is_mixed = std::any_of(weights.begin(), weights.end(), [&](const Tensor& w) {
    return w.dtype() != weights[0].dtype();
  });
  std::vector<Tensor> y, bytes;
  for (const Tensor& w : weights) {
    y.push_back(result_of(x, w.size(0)));
    if (is_mixed) bytes.push_back(as_bytes(w));
  }
  const bool has_bias = bool(biases[0]);
  const auto used = [&](size_t i) { return i < weights.size() ? i : 0; };
  const auto weight = [&](size_t i) {
    return unit_stride(is_mixed ? bytes[used(i)] : weights[used(i)]);
  };
  const auto bias = [&](size_t i) { return as_is(has_bias ? biases[used(i)] : x); };
  const auto out = [&](size_t i) { return rows(y[used(i)]); };
  const auto dtype = [&](size_t i) { return int32(weights[used(i)].dtype()); };
  const int32 parts = int32(weights.size());
  const PartsAttributes of_one{parts, has_bias};
  const MixedPartsAttributes of_several{parts, has_bias, {dtype(0), dtype(1), dtype(2)}};
  if (norm.scale) {
    const NormPartsAttributes of_norm{norm.eps, parts, has_bias, {dtype(0), dtype(1), dtype(2)}};
    if (!run_group(is_mixed ? kRmsNormLinearMixedParts : kRmsNormLinearParts,
                   {rows(x), weight(0), weight(1), weight(2), bias(0), bias(1), bias(2),
                    as_is(norm.scale)},
                   {out(0), out(1), out(2)}, attributes_of(of_norm)))
      return {};
    return y;
  }
  if (!run_group(is_mixed ? kLinearMixedParts : kLinearParts,
                 {rows(x), weight(0), weight(1), weight(2), bias(0), bias(1), bias(2)},
                 {out(0), out(1), out(2)},
                 is_mixed ? attributes_of(of_several) : attributes_of(of_one)))
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
  const std::vector<Tensor> padded = biases.empty() ? std::vector<Tensor>(weights.size()) : biases;
  const auto bias = [&](size_t i) { return padded[i]; };
  if (1 < weights.size() && weights.size() <= kMaxParts)
    if (std::vector<Tensor> y = by_kernel(x, weights, padded); !y.empty()) return y;
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
  if (fits(x, {}, weights, {}) && gate.size(0) == up.size(0)) {
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

std::vector<Tensor> rms_norm_linear_parts(const Tensor& x, const Tensor& scale,
                                          const std::vector<Tensor>& weights,
                                          const std::vector<Tensor>& biases, double eps) {
  const Calling calling("rms_norm_linear_parts");
  check_defined("rms_norm_linear_parts", x);
  check_defined("rms_norm_linear_parts", scale);
  for (const Tensor& w : weights) check_defined("rms_norm_linear_parts", w, BlockDTypes::kAccepted);
  const std::vector<Tensor> padded = biases.empty() ? std::vector<Tensor>(weights.size()) : biases;
  if (1 < weights.size() && weights.size() <= kMaxParts && padded.size() == weights.size())
    if (std::vector<Tensor> y = by_kernel(x, weights, padded, {scale, eps}); !y.empty()) return y;
  return linear_parts(rms_norm(x, scale, eps), weights, biases);
}

Tensor rms_norm_gated_linear(const Tensor& x, const Tensor& scale, const Tensor& gate,
                             const Tensor& up, Activation activation, double eps) {
  const Calling calling("rms_norm_gated_linear");
  check_defined("rms_norm_gated_linear", x);
  check_defined("rms_norm_gated_linear", scale);
  for (const Tensor* w : {&gate, &up})
    check_defined("rms_norm_gated_linear", *w, BlockDTypes::kAccepted);
  const Tensor weights[] = {gate, up};
  if (fits(x, {scale, eps}, weights, {}) && gate.size(0) == up.size(0)) {
    const Tensor y = result_of(x, gate.size(0));
    const NormGatedAttributes attributes{eps, facts_of(activation).in_kernels};
    if (run_group(kRmsNormGatedLinear, {rows(x), unit_stride(gate), unit_stride(up), as_is(scale)},
                  {rows(y)}, attributes_of(attributes)))
      return y;
  }
  return gated_linear(rms_norm(x, scale, eps), gate, up, activation);
}

}  // namespace wick
