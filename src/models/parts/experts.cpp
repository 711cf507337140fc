#include "models/parts/experts.h"

#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/matmul.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"
#include "wick/ops/unary.h"

namespace wick {

SharedExpert::SharedExpert(const ExpertsOptions& o, Parameters& p, const std::string& name)
    : mlp(o.shared, p, name + "shared_expert."),
      gate(o.shared_gate ? std::optional<Linear>(std::in_place, p, name + "shared_expert_gate",
                                                 o.shared.hidden_size, 1,
                                                 LinearOptions{.deviation = o.shared.deviation})
                         : std::nullopt) {}

Tensor SharedExpert::operator()(const Tensor& x) const {
  const Tensor y = mlp(x);
  return gate ? y * sigmoid((*gate)(x)) : y;
}

Experts::Experts(const ExpertsOptions& o, Parameters& p, const std::string& name)
    : glu(o.expert.glu),
      scales_inputs(o.scales_inputs),
      router(o.router, p, name),
      gate_proj(p, name + "experts.gate_proj", o.router.experts, o.expert.hidden_size,
                o.expert.intermediate_size,
                {.bias = o.expert.bias, .deviation = o.expert.deviation}),
      up_proj(p, name + "experts.up_proj", o.router.experts, o.expert.hidden_size,
              o.expert.intermediate_size, {.bias = o.expert.bias, .deviation = o.expert.deviation}),
      down_proj(p, name + "experts.down_proj", o.router.experts, o.expert.intermediate_size,
                o.expert.hidden_size,
                {.bias = o.expert.bias, .deviation = o.expert.output_deviation}) {
  if (o.shared.intermediate_size > 0) shared_expert.emplace(o, p, name);
}

Tensor Experts::operator()(const Tensor& x, const Tensor& residual) const {
  const Tensor rows = reshape(x, {x.size(0) * x.size(1), x.size(2)});
  const auto [weights, ids] = router(rows);  // [B T, selected]
  const Tensor factors = cast(weights, x.dtype());
  const Tensor inputs = scales_inputs ? unsqueeze(rows, 1) * unsqueeze(factors, 2) : rows;
  const Tensor y = down_proj(glu(gate_proj(inputs, ids), up_proj(inputs, ids)), ids);
  const Tensor sum_of_all =
      scales_inputs ? sum(y, {.dims = {1}}) : matmul(unsqueeze(factors, 1), y);
  const Tensor routed = reshape(sum_of_all, x.shape());
  const Tensor all = shared_expert ? routed + (*shared_expert)(x) : routed;
  return residual ? residual + all : all;
}

}  // namespace wick
