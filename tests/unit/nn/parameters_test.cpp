#include "wick/nn/parameters.h"

#include <cmath>

#include "../expect.h"
#include "wick/nn/layers.h"
#include "wick/ops/autograd.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/reduce.h"
#include "wick/ops/statistics.h"

namespace wick {
namespace {

TEST(Parameters, AreDrawnUnderTheDevicesSeed) {
  const auto draw = [](uint64_t seed) {
    Device::cpu().set_seed(seed);
    Parameters parameters({});
    return parameters.take("w", {50, 40}, {1, 0.5}).tensor().to_vector<float>();
  };
  const std::vector<float> values = draw(3);
  EXPECT_EQ(values, draw(3));
  EXPECT_NE(values, draw(4));
  double mean = 0, square = 0;
  for (const float v : values) mean += v / 2000.0, square += (v - 1.0) * (v - 1.0) / 2000.0;
  EXPECT_NEAR(mean, 1, 0.05);
  EXPECT_NEAR(std::sqrt(square), 0.5, 0.05);
}

TEST(Parameters, AreLoadedByNameAndConverted) {
  const NamedTensors tensors = {{"a.weight", full({2, 3}, 0.5, {.dtype = DType::kF16})},
                                {"spare", zeros({1})}};
  Parameters parameters(source_of(tensors, "m.safetensors"), {.trainable = true});
  const Linear layer(parameters, "a", 3, 2);
  EXPECT_EQ(layer.weight.tensor().dtype(), DType::kF32);
  EXPECT_EQ(layer.weight.tensor().to_vector<float>(), std::vector<float>(6, 0.5f));
  EXPECT_TRUE(layer.weight.tensor().requires_grad());
  EXPECT_EQ(parameters.vars().count("a.weight"), 1u);
  EXPECT_EQ(parameters.left(), std::vector<std::string>{"spare"});
}

TEST(Parameters, FrozenMatricesStayAsTheyLieIfThatIsSmallerAndExact) {
  struct Row {
    DType in_file, computation;
    bool trainable;
    DType expected;
  };
  const Row rows[] = {{DType::kF16, DType::kF32, false, DType::kF16},
                      {DType::kBf16, DType::kF32, false, DType::kBf16},
                      {DType::kF16, DType::kF32, true, DType::kF32},
                      {DType::kF16, DType::kBf16, false, DType::kBf16},
                      {DType::kF32, DType::kBf16, false, DType::kBf16},
                      {DType::kF32, DType::kF32, false, DType::kF32},
                      {DType::kQ8_0, DType::kF32, false, DType::kQ8_0},
                      {DType::kQ8_0, DType::kBf16, false, DType::kQ8_0},
                      {DType::kQ8_0, DType::kF32, true, DType::kF32}};
  for (const Row& row : rows) {
    SCOPED_TRACE(std::string(dtype_name(row.in_file)) + " for " + dtype_name(row.computation));
    const NamedTensors tensors = {{"m", cast(full({2, 32}, 15.875), row.in_file)},
                                  {"n", full({2}, 0.5, {.dtype = DType::kF16})}};
    Parameters parameters(source_of(tensors, "m.safetensors"),
                          {.dtype = row.computation, .trainable = row.trainable});
    const Parameter matrix = parameters.take_matrix("m", {2, 32}, {});
    EXPECT_EQ(matrix.tensor().dtype(), row.expected);
    EXPECT_EQ(cast(matrix.tensor(), DType::kF32).to_vector<float>(),
              std::vector<float>(64, 15.875f));
    EXPECT_EQ(parameters.take("n", {2}, {}).tensor().dtype(), row.computation);
  }
}

TEST(Parameters, WhatASourceLacksIsAnErrorThatNamesIt) {
  const NamedTensors tensors = {{"w", zeros({2, 3})}, {"ids", zeros({2}, {.dtype = DType::kI64})}};
  Parameters parameters(source_of(tensors, "m.safetensors"), {});
  EXPECT_ERROR(parameters.take("v", {1}, {}), kFormat, "m.safetensors: no tensor is named \"v\"");
  EXPECT_ERROR(parameters.take("w", {3, 2}, {}), kFormat,
               "m.safetensors: tensor \"w\": expected shape [3, 2], got [2, 3]");
  EXPECT_ERROR(parameters.take("ids", {2}, {}), kFormat,
               "tensor \"ids\": expected a floating dtype, got i64");
  parameters.take("w", {2, 3}, {});
  EXPECT_ERROR(parameters.take("w", {2, 3}, {}), kInvalidArgument, "\"w\" is taken twice");
}

TEST(Layers, LinearAddsItsBias) {
  const NamedTensors tensors = {{"l.weight", Tensor::from(std::vector<float>{1, 2, 3, 4}, {2, 2})},
                                {"l.bias", Tensor::from(std::vector<float>{10, 20})}};
  Parameters parameters(source_of(tensors, "m"), {});
  const Linear layer(parameters, "l", 2, 2, {.bias = true});
  EXPECT_EQ(layer(Tensor::from(std::vector<float>{1, 1}, {1, 2})).to_vector<float>(),
            (std::vector<float>{13, 27}));
}

TEST(Layers, GradientsReachWhatIsTrainable) {
  Parameters parameters({.trainable = true});
  const Embedding embedding(parameters, "e", 5, 4);
  const RmsNorm norm(parameters, "n", 4);
  backward(sum(norm(embedding(Tensor::from(std::vector<int64_t>{1, 3})))));
  EXPECT_EQ(embedding.weight.grad().shape(), Shape({5, 4}));
  EXPECT_EQ(norm.weight.grad().shape(), Shape({4}));
}

}  // namespace
}  // namespace wick
