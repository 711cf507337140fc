#include "wick/ops/create.h"

#include <cmath>
#include <numeric>

#include "../expect.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/indexing.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

const std::vector<Device>& devices() {
  static const std::vector<Device> all = {Device::cpu(), Device::emulated(32),
                                          Device::emulated(64)};
  return all;
}

TEST(Create, WhatMemoryCannotHoldIsAnErrorOfTheOp) {
  constexpr int64_t kFar = int64_t{1} << 62;
  EXPECT_ERROR(arange(kFar), kInvalidArgument, "arange: shape [4611686018427387904] has more than");
  EXPECT_ERROR(arange(int64_t{1} << 45), kOutOfMemory, "arange: no room on cpu for ");
  EXPECT_ERROR(linspace(0, 1, kFar), kInvalidArgument, "linspace: shape ");
  EXPECT_ERROR(zeros({int64_t{1} << 40, int64_t{1} << 40}), kInvalidArgument,
               "zeros: shape [1099511627776, 1099511627776] has more than 2^63 bytes");
  EXPECT_ERROR(zeros({int64_t{1} << 45}), kOutOfMemory, "zeros: no room on cpu for ");
  float one = 0;
  EXPECT_ERROR(Tensor::adopt(&one, DType::kF32, {kFar}, nullptr), kInvalidArgument,
               "tensor: shape [4611686018427387904] has more than 2^63 bytes");
}

TEST(Full, FillsEveryElement) {
  for (const Device& device : devices()) {
    const Tensor x = full({3, 5}, 2.5, {.device = device});
    EXPECT_TRUE(x.device() == device);
    EXPECT_EQ(x.shape(), (Shape{3, 5}));
    EXPECT_EQ(x.to_vector<float>(), std::vector<float>(15, 2.5f));
  }
}

TEST(Full, ConvertsTheNumberToTheDType) {
  EXPECT_EQ(full({}, 3.7, {.dtype = DType::kI64}).item<int64>(), 3);
  EXPECT_TRUE(full({}, 0.25, {.dtype = DType::kBool}).item<bool>());
  EXPECT_EQ(full({}, (int64_t{1} << 53) + 1, {.dtype = DType::kI64}).item<int64>(),
            (int64_t{1} << 53) + 1);
}

TEST(Full, HoldsEveryUnsignedInteger) {
  constexpr uint64 kLargest = ~uint64(0), kAbove = uint64(1) << 63;
  EXPECT_EQ(full({}, kLargest, {.dtype = DType::kU64}).item<uint64>(), kLargest);
  EXPECT_EQ(full({}, kAbove, {.dtype = DType::kF64}).item<double>(), 0x1p63);
  EXPECT_EQ(full({}, kLargest, {.dtype = DType::kF32}).item<float>(), 0x1p64f);
  EXPECT_TRUE(full({}, kAbove, {.dtype = DType::kBool}).item<bool>());
  EXPECT_EQ((zeros({}, {.dtype = DType::kU64}) + kLargest).item<uint64>(), kLargest);
  EXPECT_ERROR(arange(0, kAbove, 1), kInvalidArgument, "arange: expected integers of at most");
}

TEST(Zeros, AndOnesHaveTheDTypeThatIsAskedFor) {
  EXPECT_EQ(zeros({2}).to_vector<float>(), (std::vector<float>{0, 0}));
  EXPECT_EQ(ones({2}, {.dtype = DType::kF64}).to_vector<double>(), (std::vector<double>{1, 1}));
  EXPECT_EQ(ones({1}, {.dtype = DType::kBf16}).to_vector<bf16>()[0].bits, 0x3f80);
  EXPECT_EQ(zeros({0, 4}).numel(), 0);
}

TEST(Arange, Counts) {
  for (const Device& device : devices()) {
    std::vector<int64> expected(1000);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(arange(1000, {.dtype = DType::kI64, .device = device}).to_vector<int64>(), expected);
  }
  EXPECT_EQ(arange(3, {.dtype = DType::kF32}).to_vector<float>(), (std::vector<float>{0, 1, 2}));
  const TensorOptions options{.dtype = DType::kU8, .device = Device::cpu()};
  EXPECT_EQ(arange(3, options).dtype(), DType::kU8);
  EXPECT_EQ(arange(0).numel(), 0);
  EXPECT_ERROR(arange(-1), kInvalidArgument, "arange: expected n of at least 0, got -1");
}

TEST(Rand, IsTheSameOnEveryDevice) {
  Device::cpu().set_seed(5);
  const std::vector<float> expected = rand({37}).to_vector<float>();
  for (const Device& device : devices()) {
    device.set_seed(5);
    EXPECT_EQ(rand({37}, {.device = device}).to_vector<float>(), expected);
    EXPECT_NE(rand({37}, {.device = device}).to_vector<float>(), expected);  // it goes on
  }
}

TEST(Rand, IsUniformInItsInterval) {
  Device::cpu().set_seed(1);
  const std::vector<float> x = rand({20000}, {}, -1, 3).to_vector<float>();
  double sum = 0, squares = 0;
  for (const float v : x) {
    ASSERT_TRUE(-1 <= v && v < 3) << v;
    sum += v;
    squares += double(v) * v;
  }
  const double mean = sum / 20000, variance = squares / 20000 - mean * mean;
  EXPECT_NEAR(mean, 1, 4 * std::sqrt(16.0 / 12 / 20000));  // four standard errors
  EXPECT_NEAR(variance, 16.0 / 12, 0.04);
}

TEST(Rand, StaysBelowItsUpperBoundInEveryDType) {
  Device::cpu().set_seed(2);
  for (const DType dtype : {DType::kF16, DType::kBf16, DType::kF32})
    for (const float v : rand({20000}, {.dtype = dtype}).to(DType::kF32).to_vector<float>())
      ASSERT_LT(v, 1.0f) << dtype_name(dtype);
}

TEST(Randn, IsNormal) {
  Device::cpu().set_seed(3);
  const std::vector<double> x = randn({20001}, {.dtype = DType::kF64}, 2, 0.5).to_vector<double>();
  double sum = 0, squares = 0, inside = 0;
  for (const double v : x) {
    sum += v;
    squares += (v - 2) * (v - 2);
    inside += std::abs(v - 2) < 0.5;
  }
  EXPECT_NEAR(sum / 20001, 2, 4 * 0.5 / std::sqrt(20001.0));
  EXPECT_NEAR(std::sqrt(squares / 20001), 0.5, 0.01);
  EXPECT_NEAR(inside / 20001, 0.6827, 0.014);
}

using Values = std::vector<float>;
using Ids = std::vector<int64>;

TEST(FullLike, HasTheOthersShapeAndDtype) {
  const Tensor x = transpose(zeros({2, 3}, {.dtype = DType::kU8}));
  EXPECT_EQ(full_like(x, 7).to_vec2<uint8>(), std::vector<std::vector<uint8>>(3, {7, 7}));
  EXPECT_EQ(describe(zeros_like(x)), describe(x));
  EXPECT_EQ(sum(ones_like(x)).item<int64>(), 6);
  EXPECT_EQ(empty_like(x).shape(), (Shape{3, 2}));
  EXPECT_ERROR(zeros_like(Tensor()), kInvalidArgument, "empty Tensor()");
}

TEST(Arange, KeepsItsDTypeWhenADeviceIsGiven) {
  for (const Device& device : devices()) {
    EXPECT_EQ(arange(3, {.device = device}).to_vec1<int64>(), (Ids{0, 1, 2}));
    EXPECT_EQ(arange(0, 6, 2, {.device = device}).to_vec1<int64>(), (Ids{0, 2, 4}));
    EXPECT_EQ(arange(0, 1, 0.5, {.device = device}).to_vec1<float>(), (Values{0, 0.5}));
    EXPECT_EQ(arange(0., 2, 1, {.device = device}).dtype(), DType::kF32);
    EXPECT_TRUE(arange(3, {.device = device}).device() == device);
  }
}

TEST(Arange, CountsByAStepWithoutDrift) {
  EXPECT_EQ(arange(2, 9, 3).to_vec1<int64>(), (Ids{2, 5, 8}));
  EXPECT_EQ(arange(2, -3, -2).to_vec1<int64>(), (Ids{2, 0, -2}));
  EXPECT_EQ(arange(2, 2).numel(), 0);
  EXPECT_EQ(arange(0, 1, 0.25).to_vec1<float>(), (Values{0, 0.25, 0.5, 0.75}));
  const Tensor many = arange(0, 1000, 0.1, {.dtype = DType::kF64});
  ASSERT_EQ(many.numel(), 10000);
  EXPECT_EQ(many.to_vec1<double>()[9999], 9999 * 0.1);
  const int64_t low = INT64_MIN, high = INT64_MAX;
  EXPECT_EQ(arange(low, high, high).to_vec1<int64>(), (Ids{low, -1, high - 1}));
  EXPECT_EQ(arange(3, {.dtype = DType::kF16}).dtype(), DType::kF16);
}

TEST(Arange, WantsAStepThatLeadsToTheEnd) {
  EXPECT_ERROR(arange(0, 5, 0), kInvalidArgument,
               "arange: expected a step from 0 towards 5, got 0");
  EXPECT_ERROR(arange(0, 5, -1), kInvalidArgument, "got -1");
  EXPECT_ERROR(arange(5, 0, 1), kInvalidArgument, "from 5 towards 0");
  EXPECT_ERROR(arange(0, NAN, 1), kInvalidArgument, "arange");
  EXPECT_ERROR(arange(0, INFINITY, 1.0), kInvalidArgument, "expected fewer than 2^60 elements");
  EXPECT_ERROR(arange(int64_t(INT64_MIN), int64_t(INT64_MAX)), kInvalidArgument,
               "fewer than 2^60 elements");
  EXPECT_ERROR(arange(-1), kInvalidArgument, "n of at least 0");
}

TEST(Linspace, MeetsBothEnds) {
  EXPECT_EQ(linspace(0, 1, 5).to_vec1<float>(), (Values{0, 0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(linspace(3, 9, 1).to_vec1<float>(), (Values{3}));
  EXPECT_EQ(linspace(3, 9, 0).numel(), 0);
  const std::vector<double> x = linspace(-0.1, 0.7, 10, {.dtype = DType::kF64}).to_vec1<double>();
  EXPECT_EQ(x.front(), -0.1);
  EXPECT_EQ(x.back(), 0.7);
  EXPECT_ERROR(linspace(0, 1, -1), kInvalidArgument, "n of at least 0");
}

TEST(Eye, NeedNotBeSquare) {
  EXPECT_EQ(eye(2, 3).to_vec2<float>(), (std::vector<Values>{{1, 0, 0}, {0, 1, 0}}));
  EXPECT_EQ(eye(2, {.dtype = DType::kI64}).to_vec2<int64>(), (std::vector<Ids>{{1, 0}, {0, 1}}));
  EXPECT_EQ(eye(0, 3).shape(), (Shape{0, 3}));
  EXPECT_ERROR(eye(-1), kInvalidArgument, "sizes of at least 0");
}

TEST(Masks, SayWhatIsBelowAndAbove) {
  const Tensor low = tril_mask(2, 3, 1), high = triu_mask(2, 3, 1);
  EXPECT_EQ(low.dtype(), DType::kBool);
  EXPECT_EQ(cast(low, DType::kI64).to_vec2<int64>(), (std::vector<Ids>{{1, 1, 0}, {1, 1, 1}}));
  EXPECT_EQ(cast(high, DType::kI64).to_vec2<int64>(), (std::vector<Ids>{{0, 1, 1}, {0, 0, 1}}));
}

TEST(Meshgrid, GivesViewsInEitherOrder) {
  const Tensor a = arange(2), b = arange(3);
  const std::vector<Tensor> ij = meshgrid({a, b}), xy = meshgrid({a, b}, MeshIndexing::kXy);
  EXPECT_EQ(ij[0].to_vec2<int64>(), (std::vector<Ids>{{0, 0, 0}, {1, 1, 1}}));
  EXPECT_EQ(ij[1].to_vec2<int64>(), (std::vector<Ids>{{0, 1, 2}, {0, 1, 2}}));
  EXPECT_EQ(xy[0].to_vec2<int64>(), (std::vector<Ids>{{0, 1}, {0, 1}, {0, 1}}));
  EXPECT_EQ(xy[1].shape(), (Shape{3, 2}));
  EXPECT_EQ(ij[0].storage(), a.storage());
  EXPECT_EQ(meshgrid({a, b, arange(4)}, MeshIndexing::kXy)[2].shape(), (Shape{3, 2, 4}));
  EXPECT_ERROR(meshgrid({eye(2)}), kShapeMismatch, "inputs of one dim");
}

TEST(OneHot, MarksEachClass) {
  const Tensor ids = Tensor::from(std::vector<uint8>{2, 0});
  EXPECT_EQ(one_hot(ids, 3).to_vec2<int64>(), (std::vector<Ids>{{0, 0, 1}, {1, 0, 0}}));
  EXPECT_EQ(one_hot(eye(2, {.dtype = DType::kI64}), 2, DType::kF32).shape(), (Shape{2, 2, 2}));
  EXPECT_ERROR(one_hot(ids, 2), kOutOfRange, "id 2");
  EXPECT_ERROR(one_hot(Tensor::from(Ids{-1}), 2), kOutOfRange, "id -1");
  EXPECT_ERROR(one_hot(eye(2), 2), kDTypeMismatch, "ids of integers");
}

TEST(ToVec, NestsAsTheDimsDo) {
  const Tensor x = reshape(arange(8), {2, 2, 2});
  EXPECT_EQ(x.to_vec3<int64>(),
            (std::vector<std::vector<Ids>>{{{0, 1}, {2, 3}}, {{4, 5}, {6, 7}}}));
  EXPECT_EQ(transpose(x.index({0})).to_vec2<int64>(), (std::vector<Ids>{{0, 2}, {1, 3}}));
  EXPECT_EQ(x.index({1, 1, 1}).to_scalar<int64>(), 7);
  EXPECT_EQ(zeros({2, 0}).to_vec2<float>(), std::vector<Values>(2));
  EXPECT_ERROR(x.to_vec2<int64>(), kShapeMismatch, "to_vec2: expected rank 2, got shape [2, 2, 2]");
  EXPECT_ERROR(x.to_vec3<float>(), kDTypeMismatch, "to_vector");
}

}  // namespace
}  // namespace wick
