// linear_parts and gated_linear.
#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

TEST(LinearGroups, PartsAreTheProductsOneByOne) {
  const Tensor x = randn({2, 8});
  const std::vector<Tensor> weights = {randn({3, 8}), randn({5, 8}),
                                       cast(randn({2, 8}), DType::kBf16), randn({1, 8}),
                                       randn({4, 8})};
  const std::vector<Tensor> biases = {randn({3}), {}, {}, randn({1}), {}};
  const std::vector<Tensor> y = linear_parts(x, weights, biases);
  ASSERT_EQ(y.size(), weights.size());
  for (size_t i = 0; i < y.size(); i++)
    EXPECT_EQ(y[i].to_vector<float>(), linear(x, weights[i], biases[i]).to_vector<float>()) << i;
  EXPECT_TRUE(linear_parts(x, {}).empty());
}

TEST(LinearGroups, GradientsPassToEveryOperand) {
  const Tensor x = randn({1, 4}), gate = randn({3, 4}), up = randn({3, 4});
  const auto gradients = [&](const auto& inner) {
    const Var operands[] = {Var(x), Var(gate), Var(up)};
    backward(sum(inner(operands[0], operands[1], operands[2])));
    std::vector<float> all;
    for (const Var& v : operands)
      for (const float g : v.grad().to_vector<float>()) all.push_back(g);
    return all;
  };
  EXPECT_EQ(gradients([](const Tensor& a, const Tensor& b, const Tensor& c) {
              return gated_linear(a, b, c, Activation::kGelu);
            }),
            gradients([](const Tensor& a, const Tensor& b, const Tensor& c) {
              return gelu(linear(a, b)) * linear(a, c);
            }));
}

TEST(LinearGroups, ErrorsNameTheOp) {
  const Tensor x = ones({1, 4}), w = ones({3, 4});
  const std::vector<Tensor> pair = {w, w}, wrong = {w, ones({3, 5})}, bias = {ones({3})};
  EXPECT_ERROR(linear_parts(x, pair, bias), kInvalidArgument,
               "linear_parts: expected 2 biases or none, got 1");
  EXPECT_ERROR(linear_parts(x, wrong), kShapeMismatch, "linear_parts: inner dimensions differ");
  EXPECT_ERROR(gated_linear(x, w, wrong[1]), kShapeMismatch,
               "gated_linear: inner dimensions differ");
  EXPECT_ERROR(gated_linear(x, w, ones({2, 4})), kShapeMismatch, "gated_linear: ");
}

}  // namespace
}  // namespace wick
