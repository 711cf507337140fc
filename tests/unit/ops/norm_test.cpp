#include "wick/ops/norm.h"

#include <cmath>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Values = std::vector<float>;

TEST(RmsNorm, DividesByTheRootOfTheMeanSquare) {
  const Tensor x = Tensor::from(Values{3, -3, 4, 0}, Shape{2, 2});
  const Values y = rms_norm(x, Tensor::from(Values{1, 2}), 1).to_vector<float>();
  EXPECT_NEAR(y[0], 3 / std::sqrt(10.0f), 1e-6f);
  EXPECT_NEAR(y[1], -6 / std::sqrt(10.0f), 1e-6f);
  EXPECT_NEAR(y[2], 4.0f / 3, 1e-6f);
  EXPECT_EQ(y[3], 0);
}

TEST(RmsNorm, OfNothingStaysOnTheTape) {
  const Var x(zeros({0, 3})), weight(ones({3}));
  const Tensor y = rms_norm(x, weight);
  EXPECT_EQ(y.shape(), (Shape{0, 3}));
  backward(sum(y));
  EXPECT_EQ(x.grad().shape(), (Shape{0, 3}));
  EXPECT_EQ(weight.grad().to_vector<float>(), (Values{0, 0, 0}));
}

TEST(RmsNorm, RejectsWhatDoesNotFit) {
  const Tensor x = zeros({2, 3});
  EXPECT_ERROR(rms_norm(x, zeros({2})), kShapeMismatch,
               "rms_norm: expected weight [D] and x [..., D], got [2] and [2, 3]");
  EXPECT_ERROR(rms_norm(x, zeros({1, 3})), kShapeMismatch, "rms_norm: ");
  EXPECT_ERROR(rms_norm(zeros({}), zeros({1})), kShapeMismatch, "rms_norm: ");
  EXPECT_ERROR(rms_norm(x, zeros({3}, {.dtype = DType::kF16})), kDTypeMismatch,
               "rms_norm: expected x and weight of one floating dtype, got f32 and f16");
  EXPECT_ERROR(rms_norm(cast(x, DType::kI32), zeros({3}, {.dtype = DType::kI32})), kDTypeMismatch,
               "rms_norm: ");
  EXPECT_ERROR(rms_norm(x, zeros({3}), -1), kInvalidArgument,
               "rms_norm: expected eps of at least 0, got -1");
  EXPECT_ERROR(rms_norm(x, zeros({3}), NAN), kInvalidArgument, "rms_norm: ");
  EXPECT_ERROR(rms_norm(x, {}), kInvalidArgument, "rms_norm: an operand is an empty Tensor()");
}

TEST(LayerNorm, TakesTheMeanOffAndDividesByTheDeviation) {
  const Tensor x = Tensor::from(Values{1, 5, 7, 7}, Shape{2, 2});
  const Tensor weight = Tensor::from(Values{1, 2}), bias = Tensor::from(Values{10, 20});
  const Values y = layer_norm(x, weight, bias, 5).to_vector<float>();  // 1 / sqrt(4 + 5)
  EXPECT_NEAR(y[0], 10 - 2.0f / 3, 1e-5f);
  EXPECT_NEAR(y[1], 20 + 4.0f / 3, 1e-5f);
  EXPECT_EQ(y[2], 10);
  EXPECT_EQ(y[3], 20);
  EXPECT_NEAR(layer_norm(x, weight, {}, 5).to_vector<float>()[1], 4.0f / 3, 1e-6f);
}

TEST(LayerNorm, AFarMeanCostsNoDigits) {
  const Values y =
      layer_norm(Tensor::from(Values{1e6f, 1e6f + 1}), ones({2}), {}, 0).to_vector<float>();
  EXPECT_NEAR(y[0], -1, 1e-6f);
  EXPECT_NEAR(y[1], 1, 1e-6f);
}

TEST(LayerNorm, OfNothingStaysOnTheTape) {
  for (const Shape& shape : {Shape{0, 3}, Shape{3, 0}}) {
    const Var x(zeros(shape)), weight(ones({shape[1]})), bias(ones({shape[1]}));
    backward(sum(layer_norm(x, weight, bias)));
    EXPECT_EQ(x.grad().shape(), shape);
    EXPECT_EQ(weight.grad().to_vector<float>(), Values(size_t(shape[1]), 0));
    EXPECT_EQ(bias.grad().shape(), Shape{shape[1]});
  }
}

TEST(LayerNorm, RejectsWhatDoesNotFit) {
  const Tensor x = zeros({2, 3}), weight = zeros({3});
  EXPECT_ERROR(layer_norm(x, zeros({2})), kShapeMismatch,
               "layer_norm: expected weight [D] and x [..., D], got [2] and [2, 3]");
  EXPECT_ERROR(layer_norm(x, weight, zeros({1})), kShapeMismatch,
               "layer_norm: expected bias [D] and x [..., D], got [1] and [2, 3]");
  EXPECT_ERROR(layer_norm(x, weight, zeros({3}, {.dtype = DType::kF16})), kDTypeMismatch,
               "layer_norm: expected x and bias of one floating dtype, got f32 and f16");
  EXPECT_ERROR(layer_norm(x, weight, weight, -1), kInvalidArgument,
               "layer_norm: expected eps of at least 0, got -1");
  EXPECT_ERROR(layer_norm(x, {}), kInvalidArgument, "layer_norm: an operand is an empty Tensor()");
}

}  // namespace
}  // namespace wick
