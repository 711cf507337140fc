#include "wick/ops/routing.h"

#include <algorithm>
#include <limits>

#include "base/calling.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "wick/abi/ops/routing.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/compare.h"
#include "wick/ops/gather.h"
#include "wick/ops/shape.h"
#include "wick/ops/softmax.h"
#include "wick/ops/sort.h"
#include "wick/ops/unary.h"
#include "wick/ops/where.h"

namespace wick {
namespace {

constexpr const char* kName = "select_experts";

void check_operands(const Tensor& logits, int64_t selected, const SelectExpertsOptions& o) {
  check_defined(kName, logits);
  check(is_floating(logits.dtype()), ErrorCode::kDTypeMismatch, kName,
        "expected floating logits, got ", dtype_name(logits.dtype()));
  check(logits.rank() == 2, ErrorCode::kShapeMismatch, kName, "expected logits [N, E], got ",
        logits.shape());
  const int64_t experts = logits.size(1);
  check(1 <= selected && selected <= experts, ErrorCode::kInvalidArgument, kName,
        "selected: expected 1 to ", experts, ", got ", selected);
  check(o.groups >= 1 && experts % o.groups == 0, ErrorCode::kInvalidArgument, kName,
        "groups: expected a divisor of ", experts, " experts, got ", o.groups);
  check(1 <= o.selected_groups && o.selected_groups <= o.groups &&
            experts / o.groups * o.selected_groups >= selected,
        ErrorCode::kInvalidArgument, kName, "selected_groups: expected 1 to ", o.groups,
        " groups that hold ", selected, " experts, got ", o.selected_groups);
  if (!o.correction) return;
  check_same_device(kName, logits, o.correction);
  check(is_floating(o.correction.dtype()), ErrorCode::kDTypeMismatch, kName,
        "expected a floating correction, got ", dtype_name(o.correction.dtype()));
  check(o.correction.shape() == Shape({experts}), ErrorCode::kShapeMismatch, kName,
        "expected a correction ", Shape({experts}), ", got ", o.correction.shape());
}

/// The scores [N, E], -inf in the groups that are not selected.
Tensor within_groups(const Tensor& scores, const SelectExpertsOptions& o) {
  if (o.selected_groups == o.groups) return scores;
  const int64_t rows = scores.size(0), size = scores.size(1) / o.groups;
  const Tensor grouped = reshape(scores, {rows, o.groups, size});
  const Tensor of_groups =
      o.group_score == GroupScore::kMax
          ? amax(grouped, {.dims = {-1}})
          : sum(topk(grouped, std::min<int64_t>(2, size)).values, {.dims = {-1}});
  const Tensor ids = topk(of_groups, o.selected_groups).indices;
  const Tensor is_selected = any(one_hot(ids, o.groups), {.dims = {1}});
  const Tensor left =
      where(unsqueeze(is_selected, -1), grouped, -std::numeric_limits<double>::infinity());
  return reshape(left, {rows, scores.size(1)});
}

ValuesIndices composite(const Tensor& raw, int64_t selected, const SelectExpertsOptions& o) {
  const Tensor logits = cast(raw, accumulator_of(raw.dtype()));
  const Tensor scores = o.scores == RouterScores::kSoftmax ? softmax(logits, -1) : sigmoid(logits);
  // The scores of large logits may be equal where those are not.
  const Tensor ranked = o.correction ? scores + cast(o.correction, scores.dtype())
                        : o.selected_groups == o.groups ? logits
                                                        : scores;
  const Tensor ids = topk(within_groups(ranked.detach(), o), selected).indices;
  Tensor weights = gather(scores, -1, ids);
  if (o.renormalizes)
    weights = weights / maximum(sum(weights, {.dims = {-1}, .keepdim = true}), o.least_sum);
  return {o.scale == 1 ? weights : weights * o.scale, ids};
}

}  // namespace

ValuesIndices select_experts(const Tensor& logits, int64_t selected,
                             const SelectExpertsOptions& o) {
  const Calling calling(kName);
  check_operands(logits, selected, o);
  if (o.selected_groups != o.groups || recording({&logits}) || logits.numel() == 0 ||
      selected > INT32_MAX)
    return composite(logits, selected, o);
  const DType wide = accumulator_of(logits.dtype());
  const Tensor correction = o.correction ? cast(o.correction.detach(), wide) : Tensor();
  const Shape shape{logits.size(0), selected};
  const ValuesIndices y = {Tensor::empty(shape, {.dtype = wide, .device = logits.device()}),
                           Tensor::empty(shape, {.dtype = DType::kI64, .device = logits.device()})};
  const Tensor any_correction = correction ? correction : y.values;
  const SelectExpertsAttributes attributes{.scores = o.scores == RouterScores::kSoftmax
                                                         ? ExpertScores::kSoftmax
                                                         : ExpertScores::kSigmoid,
                                           .selected = int32(selected),
                                           .has_correction = bool(correction),
                                           .renormalizes = o.renormalizes,
                                           .least_sum = o.least_sum,
                                           .scale = o.scale};
  return run_group(kSelectExperts, {unit_stride(logits), contiguous(any_correction)},
                   {as_is(y.values), as_is(y.indices)}, attributes_of(attributes))
             ? y
             : composite(logits, selected, o);
}

}  // namespace wick
