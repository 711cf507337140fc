// The choice of a mixture's experts.
#pragma once
#include "wick/ops/reduce.h"

namespace wick {

/// The scores of experts, of a router's logits.
enum class RouterScores { kSoftmax, kSigmoid };
/// The score of a group of experts.
enum class GroupScore { kSumOfTop2, kMax };

struct SelectExpertsOptions {
  RouterScores scores = RouterScores::kSoftmax;
  Tensor correction = {};  // [E] floating, added to the scores for the choice alone; may be empty
  /// Experts are chosen from the selected_groups groups of the highest scores, of `groups` groups
  /// of neighbours of the same size.
  int64_t groups = 1, selected_groups = 1;
  GroupScore group_score = GroupScore::kSumOfTop2;
  bool renormalizes = false;  // weights are divided by their sum, or by least_sum if that is larger
  double least_sum = 0;
  double scale = 1;  // multiplies the weights
};
/// The `selected` experts of the largest logits of each row, or of the largest scores + correction,
/// in descending order, and their scores, which the rest of the options changes.
///
/// logits  [N, E] floating
/// Returns values [N, selected] in f32 (f64 for f64), with gradients to logits, and indices (i64).
/// Of equal experts the first is first; NaN comes before all numbers.
/// Error: |e| <= 8 ulp of the values. Cards choose in one launch, without groups, among up to 16
/// experts for each lane of a wave.
/// Errors: kDTypeMismatch, kShapeMismatch; kInvalidArgument unless 1 <= selected <= E, and for
/// groups that do not divide E or hold fewer than `selected` experts.
/// Sources: Shazeer et al. 2017, arXiv:1701.06538, eq. 3; DeepSeek-AI 2024, arXiv:2412.19437, 2.1.2
/// (sigmoid, correction, groups).
WICK_API ValuesIndices select_experts(const Tensor& logits, int64_t selected,
                                      const SelectExpertsOptions& options = {});

}  // namespace wick
