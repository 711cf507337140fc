// gated_expert_linear, expert_linear_sum and select_experts.
#include <cmath>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

Tensor ids_of(const std::vector<int64_t>& ids, const Shape& shape) {
  return Tensor::from(ids, shape);
}

TEST(ExpertSteps, AreTheirOpsOneByOne) {
  const Tensor x = randn({2, 8}), gate = randn({3, 5, 8}), up = randn({3, 5, 8}),
               down = randn({3, 4, 5}), factors = rand({2, 2}), residual = randn({2, 4});
  const Tensor ids = ids_of({2, 0, 1, 2}, {2, 2});
  const Tensor inner = gated_expert_linear(x, gate, up, ids, Activation::kGelu);
  EXPECT_EQ(inner.to_vector<float>(),
            (gelu(expert_linear(x, gate, ids)) * expert_linear(x, up, ids)).to_vector<float>());
  const Tensor each = expert_linear(inner, down, ids);
  const Tensor expected = residual + sum(unsqueeze(factors, 2) * each, {.dims = {1}});
  const auto y = expert_linear_sum(inner, down, ids, factors, residual).to_vector<float>();
  const auto wanted = expected.to_vector<float>();
  for (size_t i = 0; i < y.size(); i++) EXPECT_NEAR(y[i], wanted[i], 1e-5) << i;
}

TEST(ExpertSteps, ErrorsNameTheOp) {
  const Tensor x = ones({2, 2, 4}), w = ones({3, 5, 4}), factors = ones({2, 2});
  const Tensor ids = ids_of({2, 0, 1, 2}, {2, 2});
  EXPECT_ERROR(gated_expert_linear(x, w, ones({3, 5, 3}), ids), kShapeMismatch,
               "gated_expert_linear: inner dimensions differ");
  EXPECT_ERROR(gated_expert_linear(x, w, ones({3, 6, 4}), ids), kShapeMismatch,
               "gated_expert_linear: ");
  EXPECT_ERROR(expert_linear_sum(ones({2, 4}), w, ids, factors), kShapeMismatch,
               "expert_linear_sum: expected x [T, J, in], got [2, 4]");
  EXPECT_ERROR(expert_linear_sum(x, w, ids, ones({2, 3})), kShapeMismatch,
               "expert_linear_sum: expected factors [2, 2] as ids, got [2, 3]");
  EXPECT_ERROR(expert_linear_sum(x, w, ids, ids), kDTypeMismatch,
               "expert_linear_sum: expected floating factors, got i64");
  EXPECT_ERROR(expert_linear_sum(x, w, ids, factors, ones({2, 4})), kShapeMismatch,
               "expert_linear_sum: expected a residual [2, 5], got [2, 4]");
  EXPECT_ERROR(expert_linear_sum(x, w, ids_of({2, 0, 1, 3}, {2, 2}), factors), kOutOfRange,
               "expert_linear_sum: ");
}

TEST(SelectExperts, ErrorsSayWhatWasExpected) {
  const Tensor logits = ones({2, 6});
  EXPECT_ERROR(select_experts(ones({6}), 1), kShapeMismatch,
               "select_experts: expected logits [N, E], got [6]");
  EXPECT_ERROR(select_experts(logits, 0), kInvalidArgument,
               "select_experts: selected: expected 1 to 6, got 0");
  EXPECT_ERROR(select_experts(logits, 7), kInvalidArgument,
               "select_experts: selected: expected 1 to 6, got 7");
  EXPECT_ERROR(select_experts(logits, 1, {.groups = 4}), kInvalidArgument,
               "select_experts: groups: expected a divisor of 6 experts, got 4");
  EXPECT_ERROR(
      select_experts(logits, 3, {.groups = 3, .selected_groups = 1}), kInvalidArgument,
      "select_experts: selected_groups: expected 1 to 3 groups that hold 3 experts, got 1");
  EXPECT_ERROR(select_experts(logits, 1, {.correction = ones({5})}), kShapeMismatch,
               "select_experts: expected a correction [6], got [5]");
}

TEST(SelectExperts, NaNComesFirstAndOfEqualExpertsTheFirst) {
  const Tensor logits = Tensor::from(std::vector<float>{1, std::nanf(""), 3, 3}, {1, 4});
  EXPECT_EQ(select_experts(logits, 3).indices.to_vector<int64_t>(),
            (std::vector<int64_t>{1, 2, 3}));
}

}  // namespace
}  // namespace wick
