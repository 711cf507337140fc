#include "wick/ops/loss.h"

#include <cmath>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Values = std::vector<float>;
using Ids = std::vector<int64>;

TEST(CrossEntropy, OfEqualLogitsIsTheLogarithmOfTheirNumber) {
  const Tensor loss = cross_entropy(zeros({3, 5}), Tensor::from(Ids{0, 4, 2}));
  EXPECT_EQ(loss.rank(), 0);
  EXPECT_NEAR(loss.item<float>(), std::log(5.0f), 1e-6f);
}

TEST(CrossEntropy, IsInF32) {
  const Tensor logits = zeros({3, 5}, {.dtype = DType::kBf16});
  EXPECT_EQ(cross_entropy(logits, Tensor::from(Ids{0, 4, 2})).dtype(), DType::kF32);
}

TEST(CrossEntropy, RejectsWhatDoesNotFit) {
  const Tensor x = zeros({3, 5}), targets = Tensor::from(Ids{0, 1, 2});
  EXPECT_ERROR(cross_entropy(x, Tensor::from(Ids{0, 1})), kShapeMismatch,
               "cross_entropy: expected logits [N, C] and targets [N], got [3, 5] and [2]");
  EXPECT_ERROR(cross_entropy(zeros({5}), targets), kShapeMismatch, "cross_entropy: ");
  EXPECT_ERROR(cross_entropy(x, zeros({3})), kDTypeMismatch,
               "cross_entropy: expected targets of integers, got f32");
  EXPECT_ERROR(cross_entropy(cast(x, DType::kI32), targets), kDTypeMismatch,
               "cross_entropy: expected a floating dtype, got i32");
  EXPECT_ERROR(cross_entropy(x, targets.to(Device::emulated(32))), kDeviceMismatch,
               "cross_entropy: ");
}

/// Rows whose softmax is simple: their exponentials are the numbers given.
const Tensor& logits() {
  static const Tensor x = log(Tensor::from(Values{1, 2, 1, 4, 2, 2, 1, 1, 6, 3, 3, 2}, {4, 3}));
  return x;
}
const Ids kSomeIgnored = {1, -100, 2, -100};

void expect_near(const Tensor& x, const Values& expected, const Shape& shape) {
  EXPECT_EQ(x.shape(), shape);
  const Values values = x.to_vector<float>();
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < expected.size(); i++) EXPECT_NEAR(values[i], expected[i], 1e-6f) << i;
}

TEST(CrossEntropy, LeavesOutIgnoredTargets) {
  const Tensor targets = Tensor::from(kSomeIgnored);
  const float first = std::log(2.0f), third = std::log(8.0f / 6);
  expect_near(cross_entropy(logits(), targets, {.ignore_index = -100}), {(first + third) / 2}, {});
  expect_near(
      cross_entropy(logits(), targets, {.ignore_index = -100, .reduction = Reduction::kSum}),
      {first + third}, {});
  expect_near(
      cross_entropy(logits(), targets, {.ignore_index = -100, .reduction = Reduction::kNone}),
      {first, 0, third, 0}, {4});
  expect_near(cross_entropy(logits(), Tensor::from(Ids{1, 0, 2, 0}), {.ignore_index = 0}),
              {(first + third) / 2}, {});
}

TEST(CrossEntropy, NamesIgnoreIndexForATargetThatIsNoClass) {
  const Tensor targets = Tensor::from(kSomeIgnored);
  EXPECT_ERROR(cross_entropy(logits(), targets), kOutOfRange,
               "cross_entropy: id -100 at position 1 is outside [0, 3) on cpu; ignore_index");
  EXPECT_ERROR(cross_entropy(logits(), targets, {.reduction = Reduction::kNone}), kOutOfRange,
               "cross_entropy: id -100 at position 1 is outside [0, 3) on cpu; ignore_index");
  EXPECT_ERROR(cross_entropy(logits(), targets, {.label_smoothing = 0.1}), kOutOfRange,
               "cross_entropy: id -100 at position 1 is outside [0, 3) on cpu; ignore_index");
  EXPECT_ERROR(nll_loss(logits(), targets), kOutOfRange,
               "nll_loss: id -100 at position 1 is outside [0, 3) on cpu; ignore_index");
  EXPECT_ERROR(cross_entropy(logits(), targets, {.ignore_index = 2}), kOutOfRange,
               "cross_entropy: id -100 at position 1 is outside [0, 3)");
}

TEST(CrossEntropy, GivesIgnoredRowsNoGradient) {
  const Var x(logits());
  backward(cross_entropy(x, Tensor::from(kSomeIgnored), {.ignore_index = -100}));
  expect_near(x.grad(), {0.125f, -0.25f, 0.125f, 0, 0, 0, 0.0625f, 0.0625f, -0.125f, 0, 0, 0},
              {4, 3});
}

TEST(CrossEntropy, OfNoCountedRowIsNoNumberInTheMean) {
  const Tensor targets = Tensor::from(Ids{-100, -100});
  for (const double smoothing : {0.0, 0.1}) {
    const Var x(zeros({2, 3}));
    const Tensor loss =
        cross_entropy(x, targets, {.ignore_index = -100, .label_smoothing = smoothing});
    EXPECT_TRUE(std::isnan(loss.item<float>()));
    backward(loss);
    EXPECT_EQ(x.grad().to_vector<float>(), Values(6));
  }
  EXPECT_EQ(
      cross_entropy(zeros({2, 3}), targets, {.ignore_index = -100, .reduction = Reduction::kSum})
          .item<float>(),
      0);
  EXPECT_TRUE(std::isnan(cross_entropy(zeros({0, 3}), Tensor::from(Ids{})).item<float>()));
}

TEST(CrossEntropy, DoesNotReadLogitsOfIgnoredRows) {
  const Tensor x = Tensor::from(Values{0, 0, NAN, INFINITY}, {2, 2});
  const Tensor loss = cross_entropy(x, Tensor::from(Ids{0, -100}), {.ignore_index = -100});
  EXPECT_NEAR(loss.item<float>(), std::log(2.0f), 1e-6f);
}

TEST(CrossEntropy, WeighsClassesAndDividesByTheirWeights) {
  const Tensor weight = Tensor::from(Values{1, 2, 3}), targets = Tensor::from(kSomeIgnored);
  const float sum = 2 * std::log(2.0f) + 3 * std::log(8.0f / 6);
  expect_near(cross_entropy(logits(), targets, {.weight = weight, .ignore_index = -100}), {sum / 5},
              {});
  expect_near(cross_entropy(logits(), targets,
                            {.weight = weight, .ignore_index = -100, .reduction = Reduction::kSum}),
              {sum}, {});
  expect_near(cross_entropy(logits(), Tensor::from(Ids{0, 0, 2, 0}),
                            {.weight = Tensor::from(Values{0, 2, 3})}),
              {std::log(8.0f / 6)}, {});
}

TEST(CrossEntropy, SharesSmoothedTargetsAmongAllClasses) {
  const Tensor x = log(Tensor::from(Values{1, 2, 1}, {1, 3})), target = Tensor::from(Ids{1});
  const float two = std::log(2.0f), four = std::log(4.0f);
  EXPECT_NEAR(cross_entropy(x, target, {.label_smoothing = 0.3}).item<float>(),
              0.7f * two + 0.1f * (four + two + four), 1e-6f);
  EXPECT_NEAR(
      cross_entropy(x, target, {.weight = Tensor::from(Values{1, 2, 3}), .label_smoothing = 0.3})
          .item<float>(),
      (0.7f * 2 * two + 0.1f * (four + 2 * two + 3 * four)) / 2, 1e-6f);
}

TEST(CrossEntropy, TakesClassesInDimOne) {
  const Tensor x = transpose(reshape(logits(), {2, 2, 3}), 1, 2);  // [2, 3, 2]
  const Tensor targets = Tensor::from(kSomeIgnored, {2, 2});
  const float first = std::log(2.0f), third = std::log(8.0f / 6);
  const CrossEntropyOptions ignored{.ignore_index = -100},
      each{.ignore_index = -100, .reduction = Reduction::kNone};
  expect_near(cross_entropy(x, targets, ignored), {(first + third) / 2}, {});
  expect_near(cross_entropy(x, targets, each), {first, 0, third, 0}, {2, 2});
  expect_near(nll_loss(log_softmax(x, 1), targets, {.ignore_index = -100}), {(first + third) / 2},
              {});
  const Tensor one = select(logits(), 0, 0), target = full({}, 1, {.dtype = DType::kI64});
  expect_near(cross_entropy(one, target), {first}, {});
  expect_near(cross_entropy(one, target, {.reduction = Reduction::kNone}), {first}, {});
}

TEST(CrossEntropy, TakesProbabilitiesOfClasses) {
  const Tensor p = Tensor::from(Values{0, 1, 0, 0.5f, 0.25f, 0.25f, 0, 0, 1, 0, 0, 0}, {4, 3}),
               weight = Tensor::from(Values{1, 2, 3});
  const float two = std::log(2.0f), four = std::log(4.0f), third = std::log(8.0f / 6);
  const Values plain = {two, 0.5f * two + 0.5f * four, third, 0};
  expect_near(cross_entropy(logits(), p, {.reduction = Reduction::kNone}), plain, {4});
  expect_near(cross_entropy(logits(), p), {(plain[0] + plain[1] + plain[2]) / 4}, {});
  const Values heavy = {2 * two, 0.5f * two + 0.5f * four + 0.75f * four, 3 * third, 0};
  expect_near(cross_entropy(logits(), p, {.weight = weight, .reduction = Reduction::kNone}), heavy,
              {4});
  expect_near(cross_entropy(logits(), p, {.weight = weight}),
              {(heavy[0] + heavy[1] + heavy[2]) / 4}, {});
  expect_near(
      cross_entropy(narrow(logits(), 0, 0, 1), narrow(p, 0, 0, 1), {.label_smoothing = 0.3}),
      {0.8f * two + 0.1f * (four + four)}, {});
  const Var x(logits());
  backward(cross_entropy(narrow(x, 0, 0, 1), narrow(p, 0, 0, 1)));
  expect_near(narrow(x.grad(), 0, 0, 1), {0.25f, -0.5f, 0.25f}, {1, 3});
}

TEST(CrossEntropy, RejectsOptionsThatDoNotFit) {
  const Tensor x = zeros({2, 3}), targets = Tensor::from(Ids{0, 1});
  EXPECT_ERROR(cross_entropy(x, targets, {.weight = ones({2})}), kShapeMismatch,
               "cross_entropy: expected a weight for each of 3 classes, got shape [2]");
  EXPECT_ERROR(cross_entropy(x, targets, {.weight = Tensor::from(Ids{1, 2, 3})}), kDTypeMismatch,
               "cross_entropy: expected a floating dtype, got i64");
  EXPECT_ERROR(cross_entropy(x, targets, {.label_smoothing = 1.5}), kInvalidArgument,
               "cross_entropy: label_smoothing: expected a number in [0, 1], got 1.5");
  EXPECT_ERROR(cross_entropy(x, targets, {.label_smoothing = NAN}), kInvalidArgument,
               "cross_entropy: label_smoothing");
  EXPECT_ERROR(cross_entropy(x, x, {.ignore_index = -100}), kInvalidArgument,
               "cross_entropy: ignore_index needs targets of integers, got f32");
  EXPECT_ERROR(cross_entropy(zeros({}), zeros({})), kDTypeMismatch, "cross_entropy: ");
  EXPECT_ERROR(
      cross_entropy(zeros({2, 3, 4}), zeros({2, 3}, {.dtype = DType::kI64})), kShapeMismatch,
      "cross_entropy: expected logits [N, C, ...] and targets [N, ...], got [2, 3, 4] and [2, 3]");
}

TEST(NllLoss, IsCrossEntropyOfLogSoftmax) {
  const Tensor targets = Tensor::from(kSomeIgnored), weight = Tensor::from(Values{1, 2, 3});
  for (const Reduction reduction : {Reduction::kMean, Reduction::kSum})
    EXPECT_NEAR(nll_loss(log_softmax(logits()), targets,
                         {.weight = weight, .ignore_index = -100, .reduction = reduction})
                    .item<float>(),
                cross_entropy(logits(), targets,
                              {.weight = weight, .ignore_index = -100, .reduction = reduction})
                    .item<float>(),
                1e-6f);
}

TEST(NllLoss, RejectsWhatDoesNotFit) {
  EXPECT_ERROR(nll_loss(zeros({3}), Tensor::from(Ids{0})), kShapeMismatch,
               "nll_loss: expected log_probabilities [N, C] and targets [N], got [3] and [1]");
  EXPECT_ERROR(nll_loss(zeros({1, 3}), zeros({1})), kDTypeMismatch,
               "nll_loss: expected targets of integers, got f32");
  EXPECT_ERROR(nll_loss(zeros({1, 3}), Tensor::from(Ids{3})).item<float>(), kOutOfRange,
               "nll_loss: id 3 at position 0 is outside [0, 3)");
  EXPECT_ERROR(cross_entropy(zeros({1, 3}), Tensor::from(Ids{3}), {.weight = ones({3})}),
               kOutOfRange, "cross_entropy: id 3 at position 0 is outside [0, 3)");
}

TEST(Softmax, OfATensorWithoutDimsIsOne) {
  const Var x(full({}, 3));
  for (const int64_t dim : {0, -1}) {
    EXPECT_EQ(softmax(x, dim).shape(), Shape{});
    EXPECT_EQ(softmax(x, dim).item<float>(), 1);
    EXPECT_EQ(log_softmax(x, dim).shape(), Shape{});
    EXPECT_EQ(log_softmax(x, dim).item<float>(), 0);
  }
  backward(softmax(x) + log_softmax(x));
  EXPECT_EQ(x.grad().item<float>(), 0);
  EXPECT_ERROR(softmax(x, 1), kOutOfRange, "softmax: expected dim in [-1, 1), got 1");
}

TEST(Softmax, OfNothingStaysOnTheTape) {
  const Var x(zeros({0, 3}));
  backward(sum(softmax(x)));
  EXPECT_EQ(x.grad().shape(), (Shape{0, 3}));
}

TEST(Softmax, OfLargeLogitsDoesNotOverflow) {
  EXPECT_EQ(softmax(Tensor::from(Values{1e30f, -1e30f, 1e30f})).to_vector<float>(),
            (Values{0.5f, 0, 0.5f}));
}

TEST(Softmax, RejectsADimThatIsNotThere) {
  EXPECT_ERROR(softmax(zeros({2, 3}), 2), kOutOfRange, "softmax: expected dim in [-2, 2), got 2");
  EXPECT_ERROR(softmax(cast(zeros({2}), DType::kI32)), kDTypeMismatch, "softmax: ");
}

}  // namespace
}  // namespace wick
