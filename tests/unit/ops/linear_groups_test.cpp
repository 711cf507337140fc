// linear_parts and gated_linear.
#include <cmath>

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

/// The values of products of a normalised row on emu:32, and of the norm and the products.
void expect_alike(const Tensor& x, const Tensor& scale, DType block) {
  const Device device = Device::emulated(32);
  const auto weight = [&](int64_t rows, int seed) {
    Device::cpu().set_seed(uint64_t(seed));
    return cast(randn({rows, x.size(-1)}) * 0.1, block).to(device);
  };
  const std::vector<Tensor> weights = {weight(5, 1), weight(9, 2)};
  const Tensor at = x.to(device), by = scale.to(device), up = weight(5, 3);
  const auto all = [&](const std::vector<Tensor>& parts, const Tensor& gated) {
    return cat({parts[0], parts[1], gated}, -1).to(DType::kF32).to_vector<float>();
  };
  const auto got = all(rms_norm_linear_parts(at, by, weights, {}, 1e-3),
                       rms_norm_gated_linear(at, by, weights[0], up, Activation::kSilu, 1e-3));
  const Tensor y = rms_norm(at, by, 1e-3);
  const auto expected = all(linear_parts(y, weights), gated_linear(y, weights[0], up));
  for (size_t i = 0; i < got.size(); i++)
    EXPECT_NEAR(got[i], expected[i], 2e-3 * (1 + std::fabs(expected[i]))) << i;
}

TEST(LinearGroups, ANormBeforeTheProductsIsRmsNorm) {
  for (const DType block : {DType::kQ8_0, DType::kQ4_0}) {
    const Tensor scale = rand({2560}) + 0.5;
    expect_alike(randn({1, 512}), narrow(scale, 0, 0, 512), block);
    expect_alike(randn({1, 2560}), scale, block);  // in several turns of a GPU's block
    expect_alike(zeros({1, 512}), narrow(scale, 0, 0, 512), block);
    // A number that is not rounded: the block multiplies in floats.
    const Tensor large = cat({full({1, 1}, 4e18), randn({1, 511}) * 1e17}, 1);
    expect_alike(large, narrow(scale, 0, 0, 512), block);
    expect_alike(randn({3, 512}), narrow(scale, 0, 0, 512), block);
  }
}

TEST(LinearGroups, GradientsPassThroughTheNorm) {
  const Tensor x = randn({1, 4}), scale = rand({4}), gate = randn({3, 4}), up = randn({3, 4});
  const auto gradients = [&](const auto& inner) {
    const Var operands[] = {Var(x), Var(scale)};
    backward(sum(inner(operands[0], operands[1])));
    return std::vector{operands[0].grad().to_vector<float>(),
                       operands[1].grad().to_vector<float>()};
  };
  EXPECT_EQ(
      gradients([&](const Tensor& a, const Tensor& b) {
        return rms_norm_gated_linear(a, b, gate, up) + rms_norm_linear_parts(a, b, {gate, up})[1];
      }),
      gradients([&](const Tensor& a, const Tensor& b) {
        return gated_linear(rms_norm(a, b), gate, up) + linear_parts(rms_norm(a, b), {gate, up})[1];
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
  EXPECT_ERROR(rms_norm_linear_parts(x, ones({4}), pair, bias), kInvalidArgument,
               "rms_norm_linear_parts: expected 2 biases or none, got 1");
  EXPECT_ERROR(rms_norm_gated_linear(x, ones({5}), w, w), kShapeMismatch,
               "rms_norm_gated_linear: ");
}

}  // namespace
}  // namespace wick
