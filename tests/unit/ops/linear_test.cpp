// linear's epilogue: activation, residual, dtype.
#include <cmath>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Values = std::vector<float>;

const Values kWeight{1, 0, 0, 1, 1, 1};  // [3, 2]
Tensor weight(DType dtype = DType::kF32) { return cast(Tensor::from(kWeight, Shape{3, 2}), dtype); }
Tensor input(DType dtype = DType::kF32) {
  return cast(Tensor::from(Values{1, -2, 3, 4}, Shape{2, 2}), dtype);
}

TEST(Linear, ActivatesBeforeItAddsTheResidual) {
  const Tensor bias = Tensor::from(Values{1, 1, -7});
  const Tensor residual = Tensor::from(Values{10, 20, 30, 40, 50, 60}, Shape{2, 3});
  const auto y = [&](const EpilogueOptions& o, const Tensor& b) {
    return linear(input(), weight(), b, o).to_vector<float>();
  };
  EXPECT_EQ(y({.activation = Activation::kRelu, .residual = residual}, bias),
            (Values{12, 20, 30, 44, 55, 60}));
  EXPECT_EQ(y({.activation = Activation::kRelu}, {}), (Values{1, 0, 0, 3, 4, 7}));
  EXPECT_EQ(y({.residual = residual}, {}), (Values{11, 18, 29, 43, 54, 67}));
}

TEST(Linear, TakesTheActivationsOfTheOpsOfTheirNames) {
  const Tensor sums = linear(input(), weight());
  const std::pair<Activation, Tensor> all[] = {{Activation::kNone, sums},
                                               {Activation::kRelu, relu(sums)},
                                               {Activation::kSilu, silu(sums)},
                                               {Activation::kGelu, gelu(sums)},
                                               {Activation::kGeluTanh, gelu_tanh(sums)}};
  for (const auto& [activation, expected] : all)
    EXPECT_EQ(linear(input(), weight(), {}, {.activation = activation}).to_vector<float>(),
              expected.to_vector<float>());
}

TEST(Linear, GivesSumsThatItDoesNotRound) {
  for (const DType dtype : {DType::kF16, DType::kBf16}) {
    const Tensor x = full({1, 4}, 1 + 0x1p-7, {.dtype = dtype});
    const EpilogueOptions wide{.dtype = DType::kF32};
    const float expected = 4 * std::pow(1 + 0x1p-7f, 2.0f);
    const Tensor y = linear(x, x, {}, wide);
    EXPECT_EQ(y.dtype(), DType::kF32);
    EXPECT_EQ(y.item<float>(), expected);
    const Tensor bias = full({1}, 1, {.dtype = dtype});
    EXPECT_EQ(linear(x, x, bias, {.residual = y, .dtype = DType::kF32}).item<float>(),
              2 * expected + 1);
    EXPECT_EQ(linear(x, x, {}, {.dtype = dtype}).dtype(), dtype);
  }
}

TEST(Linear, TakesAnEpilogueBesideWeightsOfAnotherDType) {
  const Tensor x = randn({3, 64}, {.dtype = DType::kBf16});
  const Tensor blocks = cast(randn({5, 64}), DType::kQ8_0);
  const Tensor residual = randn({3, 5});
  const Tensor y = linear(
      x, blocks, {}, {.activation = Activation::kSilu, .residual = residual, .dtype = DType::kF32});
  const Tensor expected = silu(linear(cast(x, DType::kF32), blocks)) + residual;
  EXPECT_EQ(y.to_vector<float>(), expected.to_vector<float>());
}

TEST(Linear, PassesGradientsToAllOperands) {
  const Var x(input(DType::kBf16)), w(weight(DType::kBf16)),
      bias(zeros({3}, {.dtype = DType::kBf16})), residual(zeros({2, 3}));
  backward(sum(linear(x, w, bias, {.residual = residual, .dtype = DType::kF32})));
  EXPECT_EQ(x.grad().dtype(), DType::kBf16);
  EXPECT_EQ(cast(x.grad(), DType::kF32).to_vector<float>(), (Values{2, 2, 2, 2}));
  EXPECT_EQ(cast(w.grad(), DType::kF32).to_vector<float>(), (Values{4, 2, 4, 2, 4, 2}));
  EXPECT_EQ(cast(bias.grad(), DType::kF32).to_vector<float>(), (Values{2, 2, 2}));
  EXPECT_EQ(residual.grad().to_vector<float>(), Values(6, 1));
}

TEST(Linear, NamesTheOptionThatDoesNotFit) {
  const Tensor x = input(), w = weight(), half = input(DType::kF16);
  const auto with = [&](const Tensor& in, const EpilogueOptions& o) {
    return linear(in, cast(w, in.dtype()), {}, o);
  };
  EXPECT_ERROR(with(x, {.residual = zeros({3})}), kShapeMismatch,
               "linear: expected a residual of the result's shape [2, 3], got [3]");
  EXPECT_ERROR(with(half, {.residual = zeros({2, 3})}), kDTypeMismatch,
               "linear: expected a residual of the result's f16, got f32");
  EXPECT_ERROR(
      with(half, {.residual = zeros({2, 3}, {.dtype = DType::kF16}), .dtype = DType::kF32}),
      kDTypeMismatch, "linear: expected a residual of the result's f32, got f16");
  EXPECT_ERROR(with(x, {.dtype = DType::kF64}), kDTypeMismatch,
               "linear: dtype: expected that of x, f32, or f32 beside f16 or bf16, got f64");
  EXPECT_ERROR(with(half, {.dtype = DType::kBf16}), kDTypeMismatch,
               "linear: dtype: expected that of x, f16, or f32 beside f16 or bf16, got bf16");
  EXPECT_ERROR(with(cast(x, DType::kI32), {.activation = Activation::kRelu}), kDTypeMismatch,
               "linear: activation: expected a floating x, got i32");
  EXPECT_ERROR(linear(x, w, zeros({3}, {.dtype = DType::kF16}), {.activation = Activation::kRelu}),
               kDTypeMismatch, "linear: expected a bias of x's f32, got f16");
}

}  // namespace
}  // namespace wick
