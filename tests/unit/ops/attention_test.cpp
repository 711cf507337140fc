#include "wick/ops/attention.h"

#include <cmath>
#include <limits>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Values = std::vector<float>;
using Ids = std::vector<int64>;

TEST(Sdpa, OfOneKeyIsItsValue) {
  const Tensor v = Tensor::from(Values{1, 2, 3, 4}, Shape{1, 1, 1, 4});
  EXPECT_EQ(sdpa(randn({1, 2, 2, 4}), randn({1, 1, 1, 4}), v).to_vector<float>(),
            (Values{1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}));
}

TEST(Sdpa, WhatLiesBeyondAPositionDoesNotMatter) {
  const Tensor q = randn({1, 2, 1, 8}), k = randn({1, 1, 9, 8}), v = randn({1, 1, 9, 8});
  const SdpaOptions at{.is_causal = true, .positions = Tensor::from(Ids{4}, Shape{1, 1})};
  const Tensor cut = sdpa(q, narrow(k, 2, 0, 5), narrow(v, 2, 0, 5), at);
  const Tensor garbage = full({1, 1, 4, 8}, std::numeric_limits<double>::quiet_NaN());
  const Tensor whole = sdpa(q, cat({narrow(k, 2, 0, 5), garbage}, 2),
                            cat({narrow(v, 2, 0, 5), full({1, 1, 4, 8}, 1e30)}, 2), at);
  const Values expected = cut.to_vector<float>(), got = whole.to_vector<float>();
  for (size_t i = 0; i < expected.size(); i++) EXPECT_NEAR(got[i], expected[i], 1e-6f);
}

TEST(Sdpa, WithoutKeysIsNothingAndStaysOnTheTape) {
  const Var q(ones({1, 2, 3, 4})), k(ones({1, 1, 0, 4}));
  const Tensor y = sdpa(q, k, k);
  EXPECT_EQ(y.to_vector<float>(), Values(24, 0.0f));
  backward(sum(y));
  EXPECT_EQ(q.grad().to_vector<float>(), Values(24, 0.0f));
  EXPECT_EQ(k.grad().shape(), (Shape{1, 1, 0, 4}));
}

TEST(Sdpa, SeesEveryKeyUnlessCausal) {
  const Tensor q = randn({2, 4, 3, 8}), k = randn({2, 2, 3, 8}), v = randn({2, 2, 3, 8});
  const Tensor at = Tensor::from(Ids{0, 1, 2, 0, 1, 2}, Shape{2, 3});
  EXPECT_EQ(sdpa(q, k, v, {.is_causal = true}).to_vector<float>(),
            sdpa(q, k, v, {.is_causal = true, .positions = at}).to_vector<float>());
  const Tensor last = full({2, 3}, 2, {.dtype = DType::kI64});
  EXPECT_EQ(sdpa(q, k, v).to_vector<float>(),
            sdpa(q, k, v, {.is_causal = true, .positions = last}).to_vector<float>());
}

TEST(Sdpa, AMaskHidesKeys) {
  const Var q(randn({2, 4, 3, 8})), k(randn({2, 2, 5, 8}));
  const Tensor v = randn({2, 2, 5, 8});
  const auto near = [](const Tensor& a, const Tensor& b) {
    return max(abs(a - b)).item<float>() < 1e-5f;
  };
  // Of keys at 0 to 4 a query at t sees those up to t: as is_causal has it.
  const Tensor seen = tril(ones({3, 5}, {.dtype = DType::kBool}));
  EXPECT_TRUE(near(sdpa(q, k, v, {.mask = seen}), sdpa(q, k, v, {.is_causal = true})));
  const Tensor bias = masked_fill(zeros({3, 5}), logical_not(seen), -INFINITY);
  EXPECT_TRUE(near(sdpa(q, k, v, {.mask = bias}), sdpa(q, k, v, {.is_causal = true})));
  // Both at once: what both let through.
  const Tensor first = Tensor::from(Values{0, -INFINITY, -INFINITY, -INFINITY, -INFINITY});
  EXPECT_TRUE(near(sdpa(q, k, v, {.mask = first, .is_causal = true}),
                   sdpa(q, narrow(k.tensor(), 2, 0, 1), narrow(v, 2, 0, 1))));
}

TEST(Sdpa, AQueryThatSeesNoKeyIsNothingAndHasNoGradient) {
  const Var q(randn({1, 2, 3, 4})), k(randn({1, 1, 5, 4}));
  const Tensor y = sdpa(q, k, k, {.mask = zeros({}, {.dtype = DType::kBool})});
  EXPECT_EQ(y.to_vector<float>(), Values(24, 0.0f));
  backward(sum(y));
  EXPECT_EQ(q.grad().to_vector<float>(), Values(24, 0.0f));
  EXPECT_EQ(k.grad().to_vector<float>(), Values(20, 0.0f));
}

/// Whether a query at `position` attends to `key` in a window.
bool in_window(int64 key, int64 position, int64 window) {
  return key <= position && key > position - window;
}

// Of few queries, of many, and of those whose window lies beyond the keys: the same as under a mask.
TEST(Sdpa, AWindowHidesOlderKeys) {
  const auto near = [](const Tensor& a, const Tensor& b) {
    return max(abs(a - b)).item<float>() < 1e-5f;
  };
  struct Case {
    int64 queries, keys, window, first;
  };
  for (const auto& [t, s, window, first] :
       {Case{1, 5, 2, 3}, Case{2, 200, 70, 150}, Case{90, 200, 17, 60}, Case{200, 200, 65, 0},
        Case{3, 8, 4, 9}, Case{40, 8, INT64_MAX, 0}}) {
    const Var q(randn({2, 4, t, 16})), k(randn({2, 2, s, 16})), v(randn({2, 2, s, 16}));
    std::vector<int64> at;
    std::vector<float> seen;
    for (int64 i = 0; i < t; i++) {
      at.push_back(first + i);
      for (int64 key = 0; key < s; key++) seen.push_back(in_window(key, first + i, window));
    }
    const Tensor positions = broadcast_to(Tensor::from(at), {2, t});
    const SdpaOptions options{.is_causal = true, .positions = positions, .window = window};
    const Tensor mask = ne(Tensor::from(seen, {t, s}), 0.0);
    const Tensor y = sdpa(q, k, v, options), under_mask = sdpa(q, k, v, {.mask = mask});
    EXPECT_TRUE(near(y, under_mask)) << t << " queries, " << s << " keys";
    const Tensor upstream = randn(y.shape());
    std::vector<Tensor> gradients;
    for (const Tensor& result : {y, under_mask}) {
      backward(result, {.seed = upstream});
      for (const Var* x : {&q, &k, &v}) {
        gradients.push_back(x->grad());
        x->zero_grad();
      }
    }
    for (size_t i = 0; i < 3; i++)
      EXPECT_TRUE(near(gradients[i], gradients[i + 3])) << t << " queries, operand " << i;
  }
}

TEST(Sdpa, ASoftCapBoundsScores) {
  // One query, two keys with scores of 3 and -1 before the cap.
  const Tensor q = Tensor::from(Values{1}, {1, 1, 1, 1}),
               k = Tensor::from(Values{3, -1}, {1, 1, 2, 1}),
               v = Tensor::from(Values{1, 0}, {1, 1, 2, 1});
  const double difference = 2 * std::tanh(3 / 2.0) - 2 * std::tanh(-1 / 2.0);
  for (const CompositeMode mode : {CompositeMode::kNever, CompositeMode::kAlways}) {
    const CompositeScope scope(mode);
    EXPECT_NEAR(sdpa(q, k, v, {.scale = 1, .soft_cap = 2}).item<float>(),
                1 / (1 + std::exp(-difference)), 1e-6);
  }
}

TEST(Sdpa, RejectsWindowsAndCapsThatMakeNoSense) {
  const Tensor q = zeros({1, 1, 2, 4});
  EXPECT_ERROR(sdpa(q, q, q, {.window = 2}), kInvalidArgument,
               "sdpa: expected is_causal with a window");
  EXPECT_ERROR(sdpa(q, q, q, {.is_causal = true, .window = -2}), kInvalidArgument,
               "sdpa: expected a window and a soft cap of at least 0, got -2 and 0");
  EXPECT_ERROR(sdpa(q, q, q, {.soft_cap = -1}), kInvalidArgument, "sdpa: ");
}

TEST(Sdpa, RejectsMasksThatDoNotFit) {
  const Tensor q = zeros({2, 4, 3, 8}), k = zeros({2, 2, 5, 8});
  EXPECT_ERROR(sdpa(q, k, k, {.mask = zeros({3, 4})}), kShapeMismatch,
               "sdpa: expected a mask that broadcasts to [2, 4, 3, 5], got [3, 4]");
  EXPECT_ERROR(sdpa(q, k, k, {.mask = zeros({1, 2, 4, 3, 5})}), kShapeMismatch, "sdpa: ");
  EXPECT_ERROR(sdpa(q, k, k, {.mask = zeros({3, 5}, {.dtype = DType::kI32})}), kDTypeMismatch,
               "sdpa: expected a mask of bool or floating, got i32");
  EXPECT_ERROR(sdpa(q, k, k, {.mask = zeros({3, 5}, {.device = Device::emulated(32)})}),
               kDeviceMismatch, "sdpa: ");
}

TEST(Sdpa, RejectsWhatDoesNotFit) {
  const Tensor q = zeros({2, 4, 3, 8}), k = zeros({2, 2, 5, 8});
  const auto at = [](const Tensor& positions) {
    return SdpaOptions{.is_causal = true, .positions = positions};
  };
  EXPECT_ERROR(
      sdpa(q, zeros({2, 3, 5, 8}), zeros({2, 3, 5, 8})), kShapeMismatch,
      "sdpa: expected k and v [B, G, S, D] with B and D of q and G a divisor of its heads");
  EXPECT_ERROR(sdpa(q, zeros({2, 0, 5, 8}), zeros({2, 0, 5, 8})), kShapeMismatch, "sdpa: ");
  EXPECT_ERROR(sdpa(q, zeros({1, 2, 5, 8}), zeros({1, 2, 5, 8})), kShapeMismatch, "sdpa: ");
  EXPECT_ERROR(sdpa(q, zeros({2, 2, 5, 4}), zeros({2, 2, 5, 4})), kShapeMismatch, "sdpa: ");
  EXPECT_ERROR(sdpa(q, k, zeros({2, 2, 6, 8})), kShapeMismatch, "sdpa: ");
  EXPECT_ERROR(sdpa(q, k, zeros({2, 5, 8})), kShapeMismatch,
               "sdpa: expected [B, H, T, D], got [2, 5, 8]");
  EXPECT_ERROR(sdpa(q, k, k, at(zeros({2, 5}, {.dtype = DType::kI64}))), kShapeMismatch,
               "sdpa: expected positions [2, 3], got [2, 5]");
  EXPECT_ERROR(sdpa(q, k, k, at(zeros({2, 3}))), kDTypeMismatch,
               "sdpa: expected positions of integers, got f32");
  EXPECT_ERROR(sdpa(q, cast(k, DType::kF16), k), kDTypeMismatch,
               "sdpa: expected q, k and v of one floating dtype, got f32 and f16");
  EXPECT_ERROR(sdpa(q, k, {}), kInvalidArgument, "sdpa: an operand is an empty Tensor()");
  EXPECT_ERROR(sdpa(q, k, k, {.positions = zeros({2, 3}, {.dtype = DType::kI64})}),
               kInvalidArgument, "sdpa: expected is_causal with positions");
  EXPECT_ERROR(sdpa(q, k.to(Device::emulated(32)), k), kDeviceMismatch, "sdpa: ");
}

}  // namespace
}  // namespace wick
