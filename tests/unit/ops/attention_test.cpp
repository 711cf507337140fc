#include "wick/ops/attention.h"

#include <cmath>
#include <limits>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Values = std::vector<float>;
using Ids = std::vector<int64>;

TEST(RopeTables, AreTheCosinesAndSinesOfTheAngles) {
  const RopeTables tables = rope_tables(5, 8, 10000, {.dtype = DType::kF64});
  ASSERT_EQ(tables.cos.shape(), (Shape{5, 4}));
  ASSERT_EQ(tables.sin.shape(), (Shape{5, 4}));
  const std::vector<double> cos = tables.cos.to_vector<double>(),
                            sin = tables.sin.to_vector<double>();
  const double frequencies[] = {1, 0.1, 0.01, 0.001};
  for (int p = 0; p < 5; p++) {
    for (int i = 0; i < 4; i++) {
      EXPECT_NEAR(cos[size_t(4 * p + i)], std::cos(p * frequencies[i]), 1e-15);
      EXPECT_NEAR(sin[size_t(4 * p + i)], std::sin(p * frequencies[i]), 1e-15);
    }
  }
}

// In f32 the frequency and the angle are rounded, as transformers rounds them: at position 100000
// the angle of the second pair is off by some thousandths, the same ones.
TEST(RopeTables, OfF32RoundTheAngle) {
  const RopeTables tables = rope_tables(100001, 4, 500000);
  EXPECT_EQ(tables.cos.dtype(), DType::kF32);
  const float frequency = 1.0f / std::pow(500000.0f, 0.5f);
  for (const int64_t p : {1, 77, 4095, 100000}) {
    const float angle = float(p) * frequency;
    EXPECT_NEAR(narrow(tables.sin, 0, p, 1).to_vector<float>()[1], std::sin(double(angle)), 6e-8);
    EXPECT_NEAR(narrow(tables.cos, 0, p, 1).to_vector<float>()[0], std::cos(double(p)), 6e-8);
  }
}

TEST(RopeTables, RejectsWhatHasNoPairs) {
  EXPECT_ERROR(rope_tables(3, 5, 10000), kInvalidArgument,
               "rope_tables: expected an even head_dim and positions of at least 0, got 5 and 3");
  EXPECT_ERROR(rope_tables(-1, 4, 10000), kInvalidArgument, "rope_tables: ");
  EXPECT_ERROR(rope_tables(3, -2, 10000), kInvalidArgument, "rope_tables: ");
  EXPECT_EQ(rope_tables(0, 4, 10000).cos.shape(), (Shape{0, 2}));
}

TEST(Rope, TurnsPairsAQuarter) {
  const Tensor x = Tensor::from(Values{1, 2, 3, 4}, Shape{1, 1, 1, 4});
  const Tensor cos = zeros({1, 2}), sin = ones({1, 2}), at = zeros({1, 1}, {.dtype = DType::kI64});
  EXPECT_EQ(rope(x, cos, sin, at).to_vector<float>(), (Values{-3, -4, 1, 2}));
  EXPECT_EQ(rope_i(x, cos, sin, at).to_vector<float>(), (Values{-2, 1, -4, 3}));
}

// [B, H, T, D] and [B, T, H, D] are one memory seen in two ways: neither is copied.
TEST(Rope, TakesHeadsOrTokensFirst) {
  const RopeTables t = rope_tables(9, 6, 10000);
  const Tensor x = randn({2, 4, 3, 6}), at = Tensor::from(Ids{5, 0, 8, 1, 1, 7}, Shape{2, 3});
  const Tensor heads_first = rope(x, t.cos, t.sin, at);
  const Tensor tokens_first = rope_thd(transpose(x, 1, 2), t.cos, t.sin, at);
  EXPECT_EQ(tokens_first.shape(), (Shape{2, 3, 4, 6}));
  EXPECT_EQ(transpose(tokens_first, 1, 2).to_vector<float>(), heads_first.to_vector<float>());
  const CompositeScope kernels(CompositeMode::kNever);
  EXPECT_TRUE(rope(x, t.cos, t.sin, at).is_contiguous());
  EXPECT_TRUE(
      rope_i(transpose(transpose(x, 1, 2).contiguous(), 1, 2), t.cos, t.sin, at).is_contiguous());
  EXPECT_TRUE(rope_thd(transpose(x, 1, 2), t.cos, t.sin, at).is_contiguous());
}

TEST(Rope, WithoutPositionsCountsTokensFrom0) {
  const RopeTables t = rope_tables(5, 6, 10000);
  const Tensor at = Tensor::from(Ids{0, 1, 2, 0, 1, 2}, Shape{2, 3});
  const Var x(randn({2, 4, 3, 6}));
  for (const auto& f : {rope, rope_i}) {
    const Tensor y = f(x, t.cos, t.sin, {});
    EXPECT_EQ(y.to_vector<float>(), f(x, t.cos, t.sin, at).to_vector<float>());
    backward(sum(y * y));  // what turns keeps lengths
    EXPECT_LT(max(abs(x.grad() - x.tensor() * 2)).item<float>(), 1e-5f);
    x.zero_grad();
  }
  const Tensor tokens_first = transpose(x.tensor(), 1, 2);
  EXPECT_EQ(rope_thd(tokens_first, t.cos, t.sin).to_vector<float>(),
            rope_thd(tokens_first, t.cos, t.sin, at).to_vector<float>());
  EXPECT_ERROR(rope(zeros({1, 1, 6, 6}), t.cos, t.sin), kShapeMismatch,
               "rope: expected tables of at least 6 rows for as many tokens, got [5, 3]");
}

TEST(Rope, KeepsTheAngleBetweenTwoPositions) {
  const RopeTables t = rope_tables(50, 8, 10000);
  const Tensor q = randn({1, 1, 1, 8}), k = randn({1, 1, 1, 8});
  const auto product = [&](int64 of_q, int64 of_k) {
    const auto at = [](int64 p) { return Tensor::from(Ids{p}, Shape{1, 1}); };
    return sum(rope(q, t.cos, t.sin, at(of_q)) * rope(k, t.cos, t.sin, at(of_k))).item<float>();
  };
  EXPECT_NEAR(product(7, 3), product(44, 40), 1e-4f);
}

TEST(Rope, RejectsWhatDoesNotFit) {
  const Tensor x = zeros({2, 4, 3, 6}), table = zeros({9, 3}),
               at = zeros({2, 3}, {.dtype = DType::kI64});
  EXPECT_ERROR(rope(zeros({2, 4, 3, 5}), table, table, at), kShapeMismatch,
               "rope: expected x [B, H, T, D] with D even, got [2, 4, 3, 5]");
  EXPECT_ERROR(rope_thd(zeros({2, 3, 4, 5}), table, table, at), kShapeMismatch,
               "rope_thd: expected x [B, T, H, D] with D even, got [2, 3, 4, 5]");
  EXPECT_ERROR(rope_i(transpose(x, 1, 2), table, table, at), kShapeMismatch,
               "rope_i: expected positions [2, 4], got [2, 3]");
  EXPECT_ERROR(rope(zeros({3, 4, 6}), table, table, at), kShapeMismatch, "rope: ");
  EXPECT_ERROR(rope(x, zeros({9, 6}), zeros({9, 6}), at), kShapeMismatch,
               "rope: expected tables [P, 3], got [9, 6] and [9, 6]");
  EXPECT_ERROR(rope(x, table, zeros({8, 3}), at), kShapeMismatch, "rope: ");
  EXPECT_ERROR(rope(x, table, table, zeros({3, 2}, {.dtype = DType::kI64})), kShapeMismatch,
               "rope: expected positions [2, 3], got [3, 2]");
  EXPECT_ERROR(rope(x, table, table, zeros({2, 3})), kDTypeMismatch,
               "rope: expected positions of integers, got f32");
  EXPECT_ERROR(rope(cast(x, DType::kF64), table, table, at), kDTypeMismatch,
               "rope: expected tables of f64 for x of f64, got f32");
  EXPECT_ERROR(rope(x, cast(table, DType::kF16), table, at), kDTypeMismatch, "rope: ");
  EXPECT_ERROR(rope(cast(x, DType::kI32), table, table, at), kDTypeMismatch, "rope: ");
  EXPECT_ERROR(rope(x, table, {}, at), kInvalidArgument, "rope: an operand is an empty Tensor()");
  EXPECT_ERROR(rope(x, table, table, at.to(Device::emulated(32))), kDeviceMismatch, "rope: ");
}

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

TEST(Sdpa, RejectsMasksThatDoNotFit) {
  const Tensor q = zeros({2, 4, 3, 8}), k = zeros({2, 2, 5, 8});
  EXPECT_ERROR(sdpa(q, k, k, {.mask = zeros({3, 4})}), kShapeMismatch,
               "sdpa: expected a mask that broadcasts to [2, 4, 3, 5], got [3, 4]");
  EXPECT_ERROR(sdpa(q, k, k, {.mask = zeros({1, 2, 4, 3, 5})}), kShapeMismatch, "sdpa: ");
  EXPECT_ERROR(sdpa(q, k, k, {.mask = zeros({3, 5}, {.dtype = DType::kI32})}), kDTypeMismatch,
               "sdpa: expected a mask of bool or floating, got i32");
  EXPECT_ERROR(sdpa(q, k, k, {.mask = zeros({3, 5}, {.device = Device::emulated(32)})}),
               kDeviceMismatch, "sdpa: ");
  const CompositeScope kernels(CompositeMode::kNever);
  EXPECT_ERROR(sdpa(q, k, k, {.mask = zeros({3, 5})}), kUnsupported,
               "sdpa: no f32 kernel on cpu accepts the call: it does not support masks");
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
