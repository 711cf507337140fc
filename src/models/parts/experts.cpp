#include "models/parts/experts.h"

#include "core/transfer.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/gather.h"
#include "wick/ops/matmul.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"
#include "wick/ops/unary.h"

namespace wick {

namespace {

MlpOptions as_summand(MlpOptions options) {
  options.is_summand = true;
  return options;
}

}  // namespace

SharedExpert::SharedExpert(const ExpertsOptions& o, Parameters& p, const std::string& name)
    : mlp(as_summand(o.shared), p, name + "shared_expert."),
      gate(o.shared_gate ? std::optional<Linear>(std::in_place, p, name + "shared_expert_gate",
                                                 o.shared.hidden_size, 1,
                                                 LinearOptions{.deviation = o.shared.deviation})
                         : std::nullopt) {}

Tensor SharedExpert::operator()(const Tensor& x, const Tensor& residual) const {
  if (!gate) return mlp(x, residual);
  const Tensor y = mlp(x) * sigmoid((*gate)(x));
  return residual ? residual + y : y;
}

Experts::Experts(const ExpertsOptions& o, Parameters& p, const std::string& name)
    : glu(o.expert.glu),
      scales_inputs(o.scales_inputs),
      home(p.options().device),
      place(o.on_cpu ? Device::cpu() : home),
      router(o.router, p, name),
      own(inner_part(p, name + "experts.down_proj.weight", o.expert.intermediate_size)),
      gate_proj(p.on(place), name + "experts.gate_proj", o.router.experts, o.expert.hidden_size,
                o.expert.intermediate_size,
                {.bias = o.expert.bias,
                 .deviation = o.expert.deviation,
                 .part = part_of(1, own, p.options().ranks.get())}),
      up_proj(p, name + "experts.up_proj", o.router.experts, o.expert.hidden_size,
              o.expert.intermediate_size,
              {.bias = o.expert.bias,
               .deviation = o.expert.deviation,
               .part = part_of(1, own, p.options().ranks.get())}),
      down_proj(p, name + "experts.down_proj", o.router.experts, o.expert.intermediate_size,
                o.expert.hidden_size,
                {.bias = o.expert.bias,
                 .deviation = o.expert.output_deviation,
                 .part = part_of(2, own, p.options().ranks.get())}),
      sum{p.options().ranks} {
  p.on(home);
  if (o.output_scale)
    output_scale = p.take(name + "experts.down_proj.scale", {o.router.experts}, {1, 0});
  if (o.shared.intermediate_size > 0) shared_expert.emplace(o, p, name);
}

Tensor Experts::operator()(const Tensor& x, const Tensor& residual) const {
  // The rows go to experts on the CPU before the shared expert is queued: both then run at once.
  const Routed routed = route(x, x);
  const Tensor own_residual = sum.once(residual);
  return outputs(routed, x.shape(),
                 shared_expert ? (*shared_expert)(x, own_residual) : own_residual);
}

Tensor Experts::routed(const Tensor& x, const Tensor& scored, const Tensor& residual) const {
  return outputs(route(x, scored), x.shape(), sum.once(residual));
}

/// The inputs of down_proj.
Tensor Experts::inner(const Tensor& inputs, const Tensor& ids) const {
  if (glu.limit > 0 || gate_proj.bias.defined() || up_proj.bias.defined())
    return glu(gate_proj(inputs, ids), up_proj(inputs, ids));
  return gated_expert_linear(inputs, gate_proj.weight, up_proj.weight, ids, activation_of(glu.act));
}

Experts::Routed Experts::route(const Tensor& x, const Tensor& scored) const {
  const Shape flat = {x.size(0) * x.size(1), x.size(2)};
  const Tensor rows = reshape(x, flat);
  const auto [weights, ids] = router(reshape(scored, flat));  // [B T, selected]
  Tensor factors = weights;
  if (output_scale.defined())
    factors = factors *
              cast(reshape(index_select(output_scale, 0, reshape(ids, {ids.numel()})), ids.shape()),
                   factors.dtype());
  return {transferred(rows, place), transferred(ids, place), transferred(factors, place)};
}

/// [B, T, hidden], as `shape` says. residual: this rank's.
Tensor Experts::outputs(const Routed& routed, const Shape& shape, const Tensor& residual) const {
  const auto& [rows, ids, factors] = routed;
  const Tensor rest = residual ? reshape(residual, rows.shape()) : Tensor();
  const bool adds_here = home == place;  // else the residual is on another device
  Tensor y;
  bool is_added = !rest;
  if (!scales_inputs && !down_proj.bias.defined()) {
    y = expert_linear_sum(inner(rows, ids), down_proj.weight, ids, factors,
                          adds_here ? rest : Tensor());
    is_added = is_added || adds_here;
  } else {
    const Tensor scales = cast(factors, rows.dtype());
    const Tensor inputs = scales_inputs ? unsqueeze(rows, 1) * unsqueeze(scales, 2) : rows;
    const Tensor each = down_proj(inner(inputs, ids), ids);
    y = scales_inputs ? wick::sum(each, {.dims = {1}})
                      : reshape(matmul(unsqueeze(scales, 1), each), rows.shape());
  }
  y = transferred(y, home);
  return sum(reshape(is_added ? y : rest + y, shape));
}

ExpertsBesideMlp::ExpertsBesideMlp(const ExpertsOptions& o, const NormKind& norm, Parameters& p,
                                   const std::string& name)
    : mlp_output_norm(norm, p, name + "post_feedforward_layernorm_1", o.expert.hidden_size),
      input_norm(norm, p, name + "pre_feedforward_layernorm_2", o.expert.hidden_size),
      output_norm(norm, p, name + "post_feedforward_layernorm_2", o.expert.hidden_size),
      experts(o, p, name + "mlp.") {}

Tensor ExpertsBesideMlp::operator()(const Tensor& x, const Tensor& mlp_output) const {
  return mlp_output_norm(mlp_output) + output_norm(experts.routed(input_norm(x), x));
}

}  // namespace wick
