#include "wick/ops/sample.h"

#include <cmath>
#include <limits>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Ids = std::vector<int64>;
using Values = std::vector<float>;

/// One row of logits, drawn from once with each uniform number.
Ids draws(const Values& logits, const Values& uniform, const SampleOptions& options = {}) {
  const int64_t rows = int64_t(uniform.size()), columns = int64_t(logits.size());
  const Tensor repeated = broadcast_to(Tensor::from(logits, Shape{1, columns}), {rows, columns});
  return sample(repeated, Tensor::from(uniform), options).to_vector<int64>();
}

const float kLog3 = std::log(3.0f);

TEST(Sample, ThePartsOfTheUnitIntervalAreTheShares) {
  // Shares 1/8, 3/8, 3/8, 1/8.
  EXPECT_EQ(draws({0, kLog3, kLog3, 0}, {0, 0.12f, 0.13f, 0.49f, 0.51f, 0.87f, 0.88f, 0.9999f}),
            (Ids{0, 0, 1, 1, 2, 2, 3, 3}));
}

TEST(Sample, ATemperatureOfNothingTakesTheFirstOfTheLargest) {
  EXPECT_EQ(draws({1, 5, 5, 2}, {0, 0.999f}, {.temperature = 0}), (Ids{1, 1}));
  EXPECT_EQ(draws({1, 5, 5, 2}, {0.9f}, {.temperature = 0, .top_k = 3, .top_p = 0.1}), (Ids{1}));
}

TEST(Sample, TheTemperatureDividesTheLogits) {
  // Shares 1/4 and 3/4 at 1; 1/10 and 9/10 at 1/2.
  EXPECT_EQ(draws({0, kLog3}, {0.2f}), (Ids{0}));
  EXPECT_EQ(draws({0, kLog3}, {0.2f}, {.temperature = 0.5}), (Ids{1}));
}

TEST(Sample, TopKKeepsTheMostLikelyAndTheirTies) {
  EXPECT_EQ(draws({1, 3, 2, 0}, {0, 0.999f}, {.top_k = 2}), (Ids{1, 2}));
  EXPECT_EQ(draws({2, 3, 2, 0}, {0, 0.999f}, {.top_k = 2}), (Ids{0, 2}));
  EXPECT_EQ(draws({1, 3}, {0, 0.999f}, {.top_k = 100}), (Ids{0, 1}));
}

TEST(Sample, TopPKeepsTheFewestThatReachItAndTheirTies) {
  const Values logits = {0, kLog3, kLog3 + kLog3, 0};  // 1/14, 3/14, 9/14, 1/14
  EXPECT_EQ(draws(logits, {0, 0.999f}, {.top_p = 0.6}), (Ids{2, 2}));
  EXPECT_EQ(draws(logits, {0, 0.999f}, {.top_p = 0.7}), (Ids{1, 2}));
  EXPECT_EQ(draws(logits, {0, 0.999f}, {.top_p = 0.9}), (Ids{0, 3}));
}

TEST(Sample, WhatIsMaskedIsNeverDrawn) {
  const float masked = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(draws({masked, 0, masked, 0, masked}, {0, 0.49f, 0.51f, 0.999f}), (Ids{1, 1, 3, 3}));
}

TEST(Sample, OfNoRowsIsNothing) {
  EXPECT_EQ(sample(zeros({0, 5}), zeros({0})).shape(), (Shape{0}));
}

TEST(Sample, RejectsWhatDoesNotFit) {
  const Tensor logits = zeros({2, 3}), u = zeros({2});
  EXPECT_ERROR(sample(logits, u, {.temperature = -1}), kInvalidArgument,
               "sample: expected temperature >= 0, top_k >= 0 and top_p in (0, 1], got -1");
  EXPECT_ERROR(sample(logits, u, {.temperature = NAN}), kInvalidArgument, "sample: ");
  EXPECT_ERROR(sample(logits, u, {.top_k = -1}), kInvalidArgument, "sample: ");
  EXPECT_ERROR(sample(logits, u, {.top_p = 0}), kInvalidArgument, "sample: ");
  EXPECT_ERROR(sample(logits, u, {.top_p = 1.5}), kInvalidArgument, "sample: ");
  EXPECT_ERROR(sample(logits, u, {.top_p = NAN}), kInvalidArgument, "sample: ");
  EXPECT_ERROR(sample(zeros({3}), u), kShapeMismatch,
               "sample: expected logits [B, V] and uniform [B], got [3] and [2]");
  EXPECT_ERROR(sample(logits, zeros({3})), kShapeMismatch, "sample: ");
  EXPECT_ERROR(sample(zeros({2, 0}), u), kShapeMismatch, "sample: ");
  EXPECT_ERROR(sample(logits, zeros({2}, {.dtype = DType::kF64})), kDTypeMismatch,
               "sample: expected floating logits and uniform of f32, got f32 and f64");
  EXPECT_ERROR(sample(cast(logits, DType::kI64), u), kDTypeMismatch, "sample: ");
  EXPECT_ERROR(sample({}, u), kInvalidArgument, "sample: an operand is an empty Tensor()");
  EXPECT_ERROR(sample(logits, u.to(Device::emulated(32))), kDeviceMismatch, "sample: ");
}

}  // namespace
}  // namespace wick
