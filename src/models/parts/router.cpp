#include "models/parts/router.h"

#include <cmath>

#include "wick/ops/binary.h"
#include "wick/ops/norm.h"
#include "wick/ops/routing.h"

namespace wick {

Router::Router(const RouterOptions& o, Parameters& p, const std::string& name)
    : options(o),
      gate(p, name + "gate", o.hidden_size, o.experts, {.bias = o.bias, .deviation = o.deviation}) {
  if (o.normalizes_input) input_scale = p.take(name + "gate.scale", {o.hidden_size}, {1, 0});
  if (o.correction)
    correction = p.take_constant(name + "gate.e_score_correction.bias", {o.experts});
}

ValuesIndices Router::operator()(const Tensor& rows) const {
  const RouterOptions& o = options;
  const Tensor logits = gate(o.normalizes_input ? rms_norm(rows, input_scale, o.eps) *
                                                      (1 / std::sqrt(double(o.hidden_size)))
                                                : rows);
  return select_experts(logits, o.selected,
                        {.scores = o.scores,
                         .correction = correction.defined() ? correction.tensor() : Tensor(),
                         .groups = o.groups,
                         .selected_groups = o.selected_groups,
                         .group_score = o.group_score,
                         .renormalizes = o.renormalizes,
                         .least_sum = o.least_sum,
                         .scale = o.scale});
}

}  // namespace wick
