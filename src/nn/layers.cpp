#include "wick/nn/layers.h"

#include "wick/ops/binary.h"
#include "wick/ops/create.h"
#include "wick/ops/gather.h"
#include "wick/ops/norm.h"

namespace wick {
namespace {

/// The bias [..., out] beside a part of a weight [..., out, in].
Parameter bias_of(Parameters& parameters, const std::string& name, const Shape& shape,
                  const ParameterPart& part) {
  const bool is_of_inputs = !part.is_whole() && part.dim == int(shape.size());
  const Ranks* const ranks = parameters.options().ranks.get();
  if (!is_of_inputs) return parameters.take(name + ".bias", shape, {0, 0}, part);
  if (!ranks || ranks->rank() == 0) return parameters.take(name + ".bias", shape, {0, 0});
  parameters.leave(name + ".bias");
  return Parameter();
}

}  // namespace

Linear::Linear(Parameters& parameters, const std::string& name, int64_t in, int64_t out,
               const LinearOptions& options)
    : weight(parameters.take_matrix(name + ".weight", {out, in}, {0, options.deviation},
                                    options.part)) {
  if (options.bias) bias = bias_of(parameters, name, {out}, options.part);
}
Tensor Linear::operator()(const Tensor& x, const EpilogueOptions& epilogue) const {
  return linear(x, weight, bias, epilogue);
}

ExpertLinear::ExpertLinear(Parameters& parameters, const std::string& name, int64_t experts,
                           int64_t in, int64_t out, const LinearOptions& options)
    : weight(parameters.take_matrix(name + ".weight", {experts, out, in}, {0, options.deviation},
                                    options.part)) {
  if (options.bias) bias = bias_of(parameters, name, {experts, out}, options.part);
}
Tensor ExpertLinear::operator()(const Tensor& x, const Tensor& ids) const {
  const Tensor y = expert_linear(x, weight, ids);
  return bias.defined() ? y + embedding(bias, ids) : y;
}

Embedding::Embedding(Parameters& parameters, const std::string& name, int64_t count, int64_t dim,
                     double deviation, const ParameterPart& part)
    : weight(parameters.take_matrix(name + ".weight", {count, dim}, {0, deviation}, part)),
      dtype(parameters.options().dtype) {}
Tensor Embedding::operator()(const Tensor& ids) const { return embedding(weight, ids, dtype); }

RmsNorm::RmsNorm(Parameters& parameters, const std::string& name, int64_t dim,
                 const NormOptions& options)
    : weight(parameters.take(name + ".weight", {dim}, {options.adds_one ? 0.0 : 1.0, 0})),
      options(options) {
  if (options.adds_one && weight.defined() && !parameters.options().trainable)
    frozen_scale_ = weight.tensor() + 1;
}
Tensor RmsNorm::operator()(const Tensor& x) const { return rms_norm(x, scale(), options.eps); }
Tensor RmsNorm::scale() const {
  if (frozen_scale_) return frozen_scale_;
  return options.adds_one ? weight.tensor() + 1 : weight.tensor();
}

LayerNorm::LayerNorm(Parameters& parameters, const std::string& name, int64_t dim,
                     const LayerNormOptions& options)
    : options(options) {
  if (options.affine) {
    weight = parameters.take(name + ".weight", {dim}, {1, 0});
    if (options.bias) bias = parameters.take(name + ".bias", {dim}, {0, 0});
  } else if (!parameters.only_shapes()) {
    const ParameterOptions& of = parameters.options();
    ones_ = ones({dim}, {.dtype = of.dtype, .device = of.device});
  }
}
Tensor LayerNorm::operator()(const Tensor& x) const {
  return options.affine ? layer_norm(x, weight, bias, options.eps)
                        : layer_norm(x, ones_, {}, options.eps);
}

}  // namespace wick
