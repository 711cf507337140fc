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
  EXPECT_EQ(rope(x, cos, sin, at, {.interleaved = true}).to_vector<float>(),
            (Values{-2, 1, -4, 3}));
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
  const Tensor x = zeros({2, 3, 4, 6}), table = zeros({9, 3}),
               at = zeros({2, 3}, {.dtype = DType::kI64});
  EXPECT_ERROR(rope(zeros({2, 3, 4, 5}), table, table, at), kShapeMismatch,
               "rope: expected x [B, T, H, D] with D even, got [2, 3, 4, 5]");
  EXPECT_ERROR(rope(zeros({3, 4, 6}), table, table, at), kShapeMismatch, "rope: ");
  EXPECT_ERROR(rope(x, zeros({9, 6}), zeros({9, 6}), at), kShapeMismatch,
               "rope: expected tables [P, 3], got [9, 6] and [9, 6]");
  EXPECT_ERROR(rope(x, table, zeros({8, 3}), at), kShapeMismatch, "rope: ");
  EXPECT_ERROR(rope(x, table, table, zeros({3, 2}, {.dtype = DType::kI64})), kShapeMismatch,
               "rope: expected positions [2, 3], got [3, 2]");
  EXPECT_ERROR(rope(x, table, table, zeros({2, 3})), kDTypeMismatch,
               "rope: expected positions of i64, got f32");
  EXPECT_ERROR(rope(cast(x, DType::kF64), table, table, at), kDTypeMismatch,
               "rope: expected tables of f64 for x of f64, got f32");
  EXPECT_ERROR(rope(x, cast(table, DType::kF16), table, at), kDTypeMismatch, "rope: ");
  EXPECT_ERROR(rope(cast(x, DType::kI32), table, table, at), kDTypeMismatch, "rope: ");
  EXPECT_ERROR(rope(x, table, {}, at), kInvalidArgument, "rope: an operand is an empty Tensor()");
  EXPECT_ERROR(rope(x, table, table, at.to(Device::emulated(32))), kDeviceMismatch, "rope: ");
}

TEST(Sdpa, OfOneKeyIsItsValue) {
  const Tensor v = Tensor::from(Values{1, 2, 3, 4}, Shape{1, 1, 1, 4});
  const Tensor at = zeros({1, 2}, {.dtype = DType::kI64});
  EXPECT_EQ(sdpa(randn({1, 2, 2, 4}), randn({1, 1, 1, 4}), v, at).to_vector<float>(),
            (Values{1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}));
}

TEST(Sdpa, WhatLiesBeyondAPositionDoesNotMatter) {
  const Tensor q = randn({1, 2, 1, 8}), k = randn({1, 1, 9, 8}), v = randn({1, 1, 9, 8});
  const Tensor at = Tensor::from(Ids{4}, Shape{1, 1});
  const Tensor cut = sdpa(q, narrow(k, 2, 0, 5), narrow(v, 2, 0, 5), at);
  const Tensor garbage = full({1, 1, 4, 8}, std::numeric_limits<double>::quiet_NaN());
  const Tensor whole = sdpa(q, cat({narrow(k, 2, 0, 5), garbage}, 2),
                            cat({narrow(v, 2, 0, 5), full({1, 1, 4, 8}, 1e30)}, 2), at);
  const Values expected = cut.to_vector<float>(), got = whole.to_vector<float>();
  for (size_t i = 0; i < expected.size(); i++) EXPECT_NEAR(got[i], expected[i], 1e-6f);
}

TEST(Sdpa, WithoutKeysIsNothingAndStaysOnTheTape) {
  const Var q(ones({1, 2, 3, 4})), k(ones({1, 1, 0, 4}));
  const Tensor y = sdpa(q, k, k, zeros({1, 3}, {.dtype = DType::kI64}));
  EXPECT_EQ(y.to_vector<float>(), Values(24, 0.0f));
  backward(sum(y));
  EXPECT_EQ(q.grad().to_vector<float>(), Values(24, 0.0f));
  EXPECT_EQ(k.grad().shape(), (Shape{1, 1, 0, 4}));
}

TEST(Sdpa, RejectsWhatDoesNotFit) {
  const Tensor q = zeros({2, 4, 3, 8}), k = zeros({2, 2, 5, 8}),
               at = zeros({2, 3}, {.dtype = DType::kI64});
  EXPECT_ERROR(
      sdpa(q, zeros({2, 3, 5, 8}), zeros({2, 3, 5, 8}), at), kShapeMismatch,
      "sdpa: expected k and v [B, G, S, D] with B and D of q and G a divisor of its heads");
  EXPECT_ERROR(sdpa(q, zeros({2, 0, 5, 8}), zeros({2, 0, 5, 8}), at), kShapeMismatch, "sdpa: ");
  EXPECT_ERROR(sdpa(q, zeros({1, 2, 5, 8}), zeros({1, 2, 5, 8}), at), kShapeMismatch, "sdpa: ");
  EXPECT_ERROR(sdpa(q, zeros({2, 2, 5, 4}), zeros({2, 2, 5, 4}), at), kShapeMismatch, "sdpa: ");
  EXPECT_ERROR(sdpa(q, k, zeros({2, 2, 6, 8}), at), kShapeMismatch, "sdpa: ");
  EXPECT_ERROR(sdpa(q, k, zeros({2, 5, 8}), at), kShapeMismatch,
               "sdpa: expected [B, H, T, D], got [2, 5, 8]");
  EXPECT_ERROR(sdpa(q, k, k, zeros({2, 5}, {.dtype = DType::kI64})), kShapeMismatch,
               "sdpa: expected positions [2, 3], got [2, 5]");
  EXPECT_ERROR(sdpa(q, k, k, zeros({2, 3})), kDTypeMismatch,
               "sdpa: expected positions of i64, got f32");
  EXPECT_ERROR(sdpa(q, cast(k, DType::kF16), k, at), kDTypeMismatch,
               "sdpa: expected q, k and v of one floating dtype, got f32 and f16");
  EXPECT_ERROR(sdpa(q, k, {}, at), kInvalidArgument, "sdpa: an operand is an empty Tensor()");
  EXPECT_ERROR(sdpa(q, k.to(Device::emulated(32)), k, at), kDeviceMismatch, "sdpa: ");
}

}  // namespace
}  // namespace wick
