#include "models/parts/router.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/compare.h"
#include "wick/ops/create.h"
#include "wick/ops/gather.h"
#include "wick/ops/norm.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"
#include "wick/ops/softmax.h"
#include "wick/ops/unary.h"
#include "wick/ops/where.h"

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
  const Tensor raw = gate(o.normalizes_input ? rms_norm(rows, input_scale, o.eps) *
                                                   (1 / std::sqrt(double(o.hidden_size)))
                                             : rows);
  const bool is_plain =
      o.scores == RouterScores::kSoftmax && !o.correction && o.groups == 1 && o.least_sum == 0;
  const auto wide = [](const Tensor& x) {
    return x.dtype() == DType::kF64 ? x : cast(x, DType::kF32);
  };
  ValuesIndices chosen;
  if (is_plain && o.renormalizes) {
    // The softmax of the selected scores equals their part of the softmax of all, scaled to a sum
    // of 1. softmax computes in f32 and rounds once, as the experts would.
    const ValuesIndices most = topk(raw, o.selected);
    chosen = {softmax(o.scale == 1 ? most.values : wide(most.values), -1), most.indices};
  } else {
    const Tensor logits = wide(raw);
    const Tensor scores =
        o.scores == RouterScores::kSoftmax ? softmax(logits, -1) : sigmoid(logits);
    // The sigmoids of large logits are equal, and those are not.
    const bool by_logits = o.scores == RouterScores::kSigmoid && o.groups == 1;
    const Tensor ranked = within_groups(correction.defined() ? scores + correction
                                        : by_logits          ? logits
                                                             : scores);
    const Tensor ids = topk(ranked, o.selected).indices;
    Tensor weights = gather(scores, -1, ids);
    if (o.renormalizes)
      weights = weights / maximum(sum(weights, {.dims = {-1}, .keepdim = true}), o.least_sum);
    chosen = {weights, ids};
  }
  return o.scale == 1 ? chosen : ValuesIndices{chosen.values * o.scale, chosen.indices};
}

/// The scores [N, experts], -inf in the groups that are not selected.
Tensor Router::within_groups(const Tensor& scores) const {
  const RouterOptions& o = options;
  if (o.selected_groups == o.groups) return scores;
  const int64_t rows = scores.size(0), size = o.experts / o.groups;
  const Tensor grouped = reshape(scores, {rows, o.groups, size});
  const Tensor of_groups =
      o.group_score == GroupScore::kMax
          ? amax(grouped, {.dims = {-1}})
          : sum(topk(grouped, std::min<int64_t>(2, size)).values, {.dims = {-1}});
  const Tensor ids = topk(of_groups, o.selected_groups).indices;
  const Tensor is_selected = any(one_hot(ids, o.groups), {.dims = {1}});
  const Tensor left =
      where(unsqueeze(is_selected, -1), grouped, -std::numeric_limits<double>::infinity());
  return reshape(left, {rows, o.experts});
}

}  // namespace wick
