#include "wick/ops/optimizer.h"

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Values = std::vector<float>;

struct State {
  Var parameter, mean, square;
};
State state(const Values& parameter) {
  const Tensor nothing = zeros({int64_t(parameter.size())});
  return {Var(Tensor::from(parameter)), Var(nothing, false), Var(nothing, false)};
}

TEST(AdamW, TheFirstStepGoesByTheRateAgainstTheSign) {
  State s = state({1, 1, 1});
  adamw_(s.parameter, Tensor::from(Values{0.5f, -200, 0}), s.mean, s.square, 1,
         {.rate = 0.25, .weight_decay = 0});
  EXPECT_EQ(s.parameter.tensor().to_vector<float>(), (Values{0.75f, 1.25f, 1}));
  EXPECT_NEAR(s.mean.tensor().to_vector<float>()[0], 0.05f, 1e-7f);
  EXPECT_NEAR(s.square.tensor().to_vector<float>()[1], 40, 1e-4f);
}

TEST(AdamW, DecaysWithoutAGradient) {
  State s = state({4, -8});
  adamw_(s.parameter, zeros({2}), s.mean, s.square, 5, {.rate = 0.5, .weight_decay = 0.5});
  EXPECT_EQ(s.parameter.tensor().to_vector<float>(), (Values{3, -6}));
}

TEST(AdamW, WritesIntoTheParametersMemoryAndOffTheTape) {
  State s = state({1, 2});
  const void* memory = s.parameter.tensor().data();
  const Var weight(Tensor::from(Values{1, 1}));
  adamw_(s.parameter, weight * 2, s.mean, s.square, 1);
  EXPECT_EQ(s.parameter.tensor().data(), memory);
  EXPECT_FALSE(s.mean.tensor().requires_grad());
  backward(sum(s.parameter * 3));
  EXPECT_EQ(s.parameter.grad().to_vector<float>(), (Values{3, 3}));
  EXPECT_FALSE(weight.grad());
}

TEST(AdamW, TheGradientMayLieAnyhow) {
  State s = state({0, 0, 0, 0});
  Var parameter(zeros({2, 2})), mean(zeros({2, 2}), false), square(zeros({2, 2}), false);
  const Tensor g = Tensor::from(Values{1, -1, 0, 1}, Shape{2, 2});
  adamw_(parameter, transpose(g), mean, square, 1, {.rate = 1, .weight_decay = 0});
  const Values p = parameter.tensor().to_vector<float>();
  EXPECT_NEAR(p[0], -1, 1e-6f);
  EXPECT_EQ(p[1], 0);
  EXPECT_NEAR(p[2], 1, 1e-6f);
}

TEST(AdamW, RejectsWhatDoesNotFit) {
  State s = state({1, 2});
  const Tensor g = zeros({2});
  const auto step = [&](const Tensor& gradient, int64_t n) {
    adamw_(s.parameter, gradient, s.mean, s.square, n);
  };
  EXPECT_ERROR(step(g, 0), kInvalidArgument, "adamw_: expected step of at least 1, got 0");
  EXPECT_ERROR(step({}, 1), kInvalidArgument, "adamw_: ");
  EXPECT_ERROR(step(zeros({3}), 1), kShapeMismatch, "adamw_: expected shape [2], got [3]");
  EXPECT_ERROR(step(zeros({2, 1}), 1), kShapeMismatch, "adamw_: expected shape [2], got [2, 1]");
  EXPECT_ERROR(step(zeros({2}, {.dtype = DType::kF64}), 1), kDTypeMismatch,
               "adamw_: expected one floating dtype, got f32 and f64");
  EXPECT_ERROR(step(g.to(Device::emulated(32)), 1), kDeviceMismatch, "adamw_: ");
  Var none, ids(Tensor::from(std::vector<int64>{1, 2}), false);
  EXPECT_ERROR(adamw_(none, g, s.mean, s.square, 1), kInvalidArgument,
               "adamw_: parameter, mean or square is an empty Var()");
  EXPECT_ERROR(adamw_(s.parameter, g, none, s.square, 1), kInvalidArgument, "is an empty Var()");
  EXPECT_ERROR(adamw_(s.parameter, g, s.mean, none, 1), kInvalidArgument, "is an empty Var()");
  EXPECT_ERROR(adamw_(s.parameter, g, ids, s.square, 1), kDTypeMismatch, "adamw_: ");
  EXPECT_ERROR(adamw_(ids, ids, ids, ids, 1), kDTypeMismatch, "adamw_: ");
  EXPECT_EQ(s.parameter.tensor().to_vector<float>(), (Values{1, 2}));  // nothing was done
}

}  // namespace
}  // namespace wick
