#include "wick/models/late_interaction.h"

#include "../expect.h"
#include "wick/core/var.h"
#include "wick/ops/autograd.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/reduce.h"

namespace wick {
namespace {

Tensor rows(const std::vector<float>& values, int64_t size) {
  return Tensor::from(values, {int64_t(values.size()) / size, size});
}

TEST(LateInteraction, SumsTheBestMatchOfEachVectorOfTheQuery) {
  const Tensor query = rows({1, 0, 0, 2}, 2);
  const std::vector<Tensor> documents = {
      rows({1, 0, 3, -1, 0, 0.5}, 2),  // 3 and 1
      rows({-1, -2}, 2),               // -1 and -4
  };
  EXPECT_EQ(late_interaction(query, documents).to_vector<float>(), (std::vector<float>{4, -5}));
  EXPECT_EQ(late_interaction(query, {}).shape(), Shape({0}));
}

TEST(LateInteraction, ComputesInF32) {
  // 1 + 1/256 is no bf16.
  const Tensor query = cast(rows({1, 1.0f / 256}, 2), DType::kBf16);
  const std::vector<Tensor> documents = {cast(rows({1, 1}, 2), DType::kBf16)};
  const Tensor scores = late_interaction(query, documents);
  EXPECT_EQ(scores.dtype(), DType::kF32);
  EXPECT_EQ(scores.to_vector<float>(), std::vector<float>{1.00390625f});
}

TEST(LateInteraction, PassesGradientsToTheBestMatches) {
  const Var query(rows({1, 0, 0, 2}, 2)), document(rows({1, 0, 3, -1, 0, 0.5}, 2));
  backward(sum(late_interaction(query, std::vector<Tensor>{document})));
  EXPECT_EQ(query.grad().to_vector<float>(), (std::vector<float>{3, -1, 0, 0.5}));
  EXPECT_EQ(document.grad().to_vector<float>(), (std::vector<float>{0, 0, 1, 0, 0, 2}));
}

TEST(LateInteraction, NamesTheVectorsThatDoNotFit) {
  const std::vector<Tensor> documents = {zeros({3, 4}), zeros({3, 5})};
  EXPECT_ERROR(late_interaction(zeros({2, 4}), documents), kShapeMismatch,
               "documents: expected [tokens, 4] with a token, got [3, 5]");
  EXPECT_ERROR(late_interaction(zeros({0, 4}), documents), kShapeMismatch, "query");
  EXPECT_ERROR(late_interaction(zeros({4}), documents), kShapeMismatch, "query");
  EXPECT_ERROR(late_interaction(zeros({2, 4}, {.dtype = DType::kI32}), documents), kDTypeMismatch,
               "query: expected a floating dtype, got i32");
}

}  // namespace
}  // namespace wick
