#include "models/parts/router.h"

#include <gtest/gtest.h>

#include "wick/ops/create.h"

namespace wick {
namespace {

/// The experts that a router selects whose logits are the elements of the row.
std::vector<int64_t> selected(const std::vector<float>& logits, GroupScore score) {
  const int64_t experts = int64_t(logits.size());
  const TensorSource source = source_of({{"gate.weight", eye(experts)}}, "m");
  Parameters parameters(source, {});
  const Router router({.hidden_size = experts,
                       .experts = experts,
                       .selected = 2,
                       .scores = RouterScores::kSigmoid,
                       .groups = 2,
                       .selected_groups = 1,
                       .group_score = score},
                      parameters, "");
  return router(Tensor::from(logits, {1, experts})).indices.to_vector<int64_t>();
}

TEST(Router, SelectsWithinTheGroupsOfTheHighestScores) {
  const std::vector<float> logits = {3, -2, -2, 1, 2, 0};  // the best one has poor neighbours
  EXPECT_EQ(selected(logits, GroupScore::kSumOfTop2), (std::vector<int64_t>{4, 3}));
  EXPECT_EQ(selected(logits, GroupScore::kMax), (std::vector<int64_t>{0, 1}));
}

}  // namespace
}  // namespace wick
