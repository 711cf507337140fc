#include "models/parts/mlp.h"

#include "wick/ops/binary.h"
#include "wick/ops/matmul.h"
#include "wick/ops/unary.h"
#include "wick/ops/where.h"

namespace wick {
Activation activation_of(HiddenAct act) {
  switch (act) {
    case HiddenAct::kSilu:
      return Activation::kSilu;
    case HiddenAct::kGelu:
      return Activation::kGelu;
    case HiddenAct::kGeluTanh:
      return Activation::kGeluTanh;
  }
  return Activation::kNone;
}

Tensor Glu::operator()(const Tensor& gate, const Tensor& up) const {
  if (limit > 0) {
    const Tensor g = clamp(gate, {.max = limit});
    return g * sigmoid(g * alpha) * (clamp(up, {.min = -limit, .max = limit}) + 1);
  }
  switch (act) {
    case HiddenAct::kSilu:
      return swiglu(gate, up);
    case HiddenAct::kGelu:
      return gelu(gate) * up;
    case HiddenAct::kGeluTanh:
      return gelu_tanh(gate) * up;
  }
  return {};
}

Mlp::Mlp(const MlpOptions& o, Parameters& p, const std::string& name)
    : glu(o.glu),
      own(inner_part(p, name + "down_proj.weight", o.intermediate_size)),
      gate_proj(o.gated
                    ? std::optional<Linear>(
                          std::in_place, p, name + "gate_proj", o.hidden_size, o.intermediate_size,
                          LinearOptions{.bias = o.bias,
                                        .deviation = o.deviation,
                                        .part = part_of(0, own, p.options().ranks.get())})
                    : std::nullopt),
      up_proj(p, name + "up_proj", o.hidden_size, o.intermediate_size,
              {.bias = o.bias,
               .deviation = o.deviation,
               .part = part_of(0, own, p.options().ranks.get())}),
      down_proj(p, name + "down_proj", o.intermediate_size, o.hidden_size,
                {.bias = o.bias,
                 .deviation = o.output_deviation,
                 .part = part_of(1, own, p.options().ranks.get())}),
      sum{o.is_summand ? nullptr : p.options().ranks} {}

Tensor Mlp::operator()(const Normalized& x, const Tensor& residual) const {
  return sum(down_proj(inner(x), {.residual = sum.once(residual)}));
}

Tensor Mlp::inner(const Normalized& input) const {
  const Activation activation = activation_of(glu.act);
  const bool is_plain =
      gate_proj && glu.limit == 0 && !gate_proj->bias.defined() && !up_proj.bias.defined();
  if (const RmsNorm* norm = input.rms(); norm && is_plain)
    return rms_norm_gated_linear(input.x, norm->scale(), gate_proj->weight, up_proj.weight,
                                 activation, norm->options.eps);
  const Tensor x = input.value();
  if (!gate_proj) return up_proj(x, {.activation = activation});
  if (is_plain) return gated_linear(x, gate_proj->weight, up_proj.weight, activation);
  return glu((*gate_proj)(x), up_proj(x));
}

}  // namespace wick
