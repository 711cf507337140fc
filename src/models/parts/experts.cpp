#include "models/parts/experts.h"

#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/matmul.h"
#include "wick/ops/shape.h"
#include "wick/ops/softmax.h"
#include "wick/ops/unary.h"

namespace wick {

SharedExpert::SharedExpert(const MlpOptions& o, bool has_gate, Parameters& p,
                           const std::string& name)
    : mlp(o, p, name + "shared_expert."),
      gate(has_gate
               ? std::optional<Linear>(std::in_place, p, name + "shared_expert_gate", o.hidden_size,
                                       1, LinearOptions{.deviation = o.deviation})
               : std::nullopt) {}

Tensor SharedExpert::operator()(const Tensor& x) const {
  const Tensor y = mlp(x);
  return gate ? y * sigmoid((*gate)(x)) : y;
}

Experts::Experts(const ExpertsOptions& o, Parameters& p, const std::string& name)
    : act(o.expert.act),
      selected(o.selected),
      renormalizes(o.renormalizes),
      gate(p, name + "gate", o.expert.hidden_size, o.experts, {.deviation = o.expert.deviation}),
      gate_proj(p, name + "experts.gate_proj", o.experts, o.expert.hidden_size,
                o.expert.intermediate_size, o.expert.deviation),
      up_proj(p, name + "experts.up_proj", o.experts, o.expert.hidden_size,
              o.expert.intermediate_size, o.expert.deviation),
      down_proj(p, name + "experts.down_proj", o.experts, o.expert.intermediate_size,
                o.expert.hidden_size, o.expert.output_deviation) {
  if (o.shared_size == 0) return;
  MlpOptions shared = o.expert;
  shared.intermediate_size = o.shared_size;
  shared_expert.emplace(shared, o.shared_gate, p, name);
}

Tensor Experts::operator()(const Tensor& x, const Tensor& residual) const {
  const Tensor rows = reshape(x, {x.size(0) * x.size(1), x.size(2)});
  const auto [weights, ids] = route(rows);  // [B T, selected]
  const Tensor y = down_proj(gated(act, gate_proj(rows, ids), up_proj(rows, ids)), ids);
  const Tensor sum = reshape(matmul(unsqueeze(cast(weights, x.dtype()), 1), y), x.shape());
  const Tensor all = shared_expert ? sum + (*shared_expert)(x) : sum;
  return residual ? residual + all : all;
}

/// The softmax of the selected experts' scores equals their part of the softmax of all, scaled to a
/// sum of 1.
ValuesIndices Experts::route(const Tensor& rows) const {
  const Tensor raw = gate(rows);
  const Tensor scores = raw.dtype() == DType::kF64 ? raw : cast(raw, DType::kF32);
  if (!renormalizes) return topk(softmax(scores, -1), selected);
  ValuesIndices most = topk(scores, selected);
  return {softmax(most.values, -1), most.indices};
}

}  // namespace wick
