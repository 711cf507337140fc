#include "wick/ops/recurrence.h"

#include <cmath>
#include <limits>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Values = std::vector<float>;
using Ids = std::vector<int64>;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Tensor part(const Tensor& x, int64_t first, int64_t count) { return narrow(x, 1, first, count); }

void expect_near(const Tensor& a, const Tensor& b, double allowed) {
  ASSERT_EQ(a.shape(), b.shape());
  const std::vector<double> left = cast(a, DType::kF64).to_vector<double>(),
                            right = cast(b, DType::kF64).to_vector<double>();
  for (size_t i = 0; i < left.size(); i++) EXPECT_NEAR(left[i], right[i], allowed) << "at " << i;
}

/// Runs the body with kernels, then with composites.
template <class F>
void in_both_modes(const F& body) {
  for (const CompositeMode mode : {CompositeMode::kNever, CompositeMode::kAlways}) {
    const CompositeScope scope(mode);
    body();
  }
}

TEST(CausalConv1d, LooksBackOnly) {
  in_both_modes([] {
    const Tensor x = Tensor::from(Values{1, 2, 3, 4}, {1, 4, 1}),
                 weight = Tensor::from(Values{100, 10, 1}, {1, 3}),
                 bias = Tensor::from(Values{1000}, {1});
    const auto [y, state] = causal_conv1d(x, weight, {.bias = bias});
    EXPECT_EQ(y.to_vector<float>(), (Values{1001, 1012, 1123, 1234}));
    EXPECT_EQ(state.shape(), (Shape{1, 2, 1}));
    EXPECT_EQ(state.to_vector<float>(), (Values{3, 4}));
  });
}

TEST(CausalConv1d, OfOneTapHasAnEmptyState) {
  in_both_modes([] {
    const Tensor x = Tensor::from(Values{1, 2}, {1, 2, 1});
    const auto [y, state] = causal_conv1d(x, Tensor::from(Values{3}, {1, 1}));
    EXPECT_EQ(y.to_vector<float>(), (Values{3, 6}));
    EXPECT_EQ(state.shape(), (Shape{1, 0, 1}));
  });
}

TEST(CausalConv1d, OfPartsIsThatOfTheWhole) {
  in_both_modes([] {
    const Tensor x = randn({2, 23, 70}), weight = randn({70, 4}), bias = randn({70});
    const auto whole = causal_conv1d(x, weight, {.bias = bias, .silu = true});
    std::vector<Tensor> parts;
    Tensor state;
    for (const auto& [first, count] : {std::pair{0, 9}, {9, 1}, {10, 1}, {11, 2}, {13, 10}}) {
      const auto next = causal_conv1d(part(x, first, count), weight,
                                      {.bias = bias, .state = state, .silu = true});
      parts.push_back(next.y);
      state = next.state;
    }
    expect_near(cat(parts, 1), whole.y, 0);
    expect_near(state, whole.state, 0);
  });
}

TEST(CausalConv1d, KeepsPaddingOutOfTheState) {
  in_both_modes([] {
    const Tensor x = Tensor::from(Values{1, 2, kNaN, 3, kNaN, kNaN, 4, 5, 6}, {3, 3, 1}),
                 before = Tensor::from(Values{7, 8, 9, 10, 11, 12}, {3, 2, 1}),
                 weight = Tensor::from(Values{100, 10, 1}, {1, 3});
    const auto [y, state] =
        causal_conv1d(x, weight, {.state = before, .lengths = Tensor::from(Ids{2, 1, 0})});
    EXPECT_EQ(state.to_vector<float>(), (Values{1, 2, 10, 3, 11, 12}));
    const Values all = y.to_vector<float>();
    EXPECT_EQ(all[0], 781);
    EXPECT_EQ(all[1], 812);
    EXPECT_EQ(all[3], 1003);
    for (const float element : all) EXPECT_TRUE(std::isfinite(element));
  });
}

TEST(CausalConv1d, MovesLengthsOutOfRangeToTheEnds) {
  in_both_modes([] {
    const Tensor x = Tensor::from(Values{1, 2, 3, 4}, {2, 2, 1}), weight = ones({1, 2});
    const auto [y, state] = causal_conv1d(x, weight, {.lengths = Tensor::from(Ids{-5, 1000})});
    EXPECT_EQ(state.to_vector<float>(), (Values{0, 4}));
  });
}

TEST(CausalConv1d, OfMoreTapsThanTheKernelTakesRunsTheComposite) {
  const Tensor x = randn({1, 40, 3}), weight = ones({3, 17});
  const Tensor y = causal_conv1d(x, weight).y;
  expect_near(select(y, 1, 39), sum(part(x, 23, 17), {.dims = {1}}), 1e-5);
}

TEST(CausalConv1d, RejectsOperandsThatDoNotFit) {
  const Tensor x = zeros({2, 3, 4}), weight = zeros({4, 2});
  EXPECT_ERROR(causal_conv1d(zeros({3, 4}), weight), kShapeMismatch,
               "causal_conv1d: expected x [B, T, E] and weight [E, K] with K of at least 1, got "
               "[3, 4] and [4, 2]");
  EXPECT_ERROR(causal_conv1d(x, zeros({4, 0})), kShapeMismatch, "causal_conv1d: ");
  EXPECT_ERROR(causal_conv1d(x, zeros({5, 2})), kShapeMismatch,
               "causal_conv1d: expected weight [4, 2], got [5, 2]");
  EXPECT_ERROR(causal_conv1d(x, cast(weight, DType::kF16)), kDTypeMismatch,
               "causal_conv1d: expected weight of f32, got f16");
  EXPECT_ERROR(causal_conv1d(cast(x, DType::kI32), weight), kDTypeMismatch, "causal_conv1d: ");
  EXPECT_ERROR(causal_conv1d(x, weight, {.bias = zeros({3})}), kShapeMismatch,
               "causal_conv1d: expected bias [4], got [3]");
  EXPECT_ERROR(causal_conv1d(x, weight, {.state = zeros({2, 2, 4})}), kShapeMismatch,
               "causal_conv1d: expected state [2, 1, 4], got [2, 2, 4]");
  EXPECT_ERROR(causal_conv1d(x, weight, {.lengths = zeros({2})}), kDTypeMismatch,
               "causal_conv1d: ");
  EXPECT_ERROR(causal_conv1d(x, weight, {.lengths = Tensor::from(Ids{1, 2, 3})}), kShapeMismatch,
               "causal_conv1d: expected lengths [2], got [3]");
  EXPECT_ERROR(causal_conv1d(Tensor(), weight), kInvalidArgument, "causal_conv1d: ");
  EXPECT_ERROR(causal_conv1d(x, Tensor()), kInvalidArgument, "causal_conv1d: ");
}

TEST(CausalConv1d, RejectsOperandsOfAnotherDevice) {
  const Tensor x = zeros({1, 1, 2}), weight = zeros({2, 2});
  EXPECT_ERROR(causal_conv1d(x, weight, {.state = x.to(Device::emulated(32))}), kDeviceMismatch,
               "causal_conv1d: ");
  EXPECT_ERROR(causal_conv1d(x, weight, {.lengths = Tensor::from(Ids{1}, Device::emulated(32))}),
               kDeviceMismatch, "causal_conv1d: ");
  EXPECT_ERROR(linear_scan(x, x.to(Device::emulated(32))), kDeviceMismatch, "linear_scan: ");
}

TEST(LinearScan, IsARecurrence) {
  in_both_modes([] {
    const Tensor decay = Tensor::from(Values{5, 2, 3}, {1, 3, 1}),
                 input = Tensor::from(Values{1, 10, 100}, {1, 3, 1});
    const auto [y, state] = linear_scan(decay, input);
    EXPECT_EQ(y.to_vector<float>(), (Values{1, 12, 136}));
    EXPECT_EQ(state.to_vector<float>(), (Values{136}));
  });
}

TEST(LinearScan, OfPartsIsThatOfTheWhole) {
  in_both_modes([] {
    const Tensor decay = rand({2, 150, 70}), input = randn({2, 150, 70});
    const auto whole = linear_scan(decay, input);
    std::vector<Tensor> parts;
    Tensor state;
    for (const auto& [first, count] : {std::pair{0, 70}, {70, 1}, {71, 1}, {72, 78}}) {
      const auto next =
          linear_scan(part(decay, first, count), part(input, first, count), {.state = state});
      parts.push_back(next.y);
      state = next.state;
    }
    expect_near(cat(parts, 1), whole.y, 1e-5);
    expect_near(state, whole.state, 1e-5);
  });
}

TEST(LinearScan, KeepsPaddingOutOfTheState) {
  in_both_modes([] {
    const Tensor decay = Tensor::from(Values{2, kNaN, kNaN, kNaN}, {2, 2, 1}),
                 input = Tensor::from(Values{1, kNaN, kNaN, kNaN}, {2, 2, 1}),
                 before = Tensor::from(Values{3, 4}, {2, 1});
    const auto [y, state] =
        linear_scan(decay, input, {.state = before, .lengths = Tensor::from(Ids{1, 0})});
    EXPECT_EQ(state.to_vector<float>(), (Values{7, 4}));
    for (const float element : y.to_vector<float>()) EXPECT_TRUE(std::isfinite(element));
  });
}

TEST(LinearScan, KeepsTheStateOfHalfPrecisionInF32) {
  in_both_modes([] {
    const Tensor decay = ones({1, 300, 1}, {.dtype = DType::kBf16}),
                 input = ones({1, 300, 1}, {.dtype = DType::kBf16});
    const auto [y, state] = linear_scan(decay, input);
    EXPECT_EQ(y.dtype(), DType::kBf16);
    EXPECT_EQ(state.dtype(), DType::kF32);
    EXPECT_EQ(state.to_vector<float>(), (Values{300}));
  });
}

TEST(LinearScan, OfNoTokensReturnsTheState) {
  const Tensor none = zeros({1, 0, 2}), before = Tensor::from(Values{1, 2}, {1, 2});
  EXPECT_EQ(linear_scan(none, none, {.state = before}).state.to_vector<float>(), (Values{1, 2}));
  EXPECT_EQ(linear_scan(none, none).state.to_vector<float>(), (Values{0, 0}));
  EXPECT_EQ(linear_scan(none, none).y.shape(), (Shape{1, 0, 2}));
}

TEST(LinearScan, PassesTheGradientOfTheState) {
  const Var decay(full({1, 2, 1}, 0.5)), input(ones({1, 2, 1})), before(full({1, 1}, 4));
  backward(sum(linear_scan(decay, input, {.state = before}).state));
  EXPECT_EQ(before.grad().to_vector<float>(), (Values{0.25}));
  EXPECT_EQ(decay.grad().to_vector<float>(), (Values{2, 3}));
  EXPECT_EQ(input.grad().to_vector<float>(), (Values{0.5, 1}));
}

TEST(LinearScan, RejectsOperandsThatDoNotFit) {
  const Tensor x = zeros({2, 3, 4});
  EXPECT_ERROR(linear_scan(zeros({3, 4}), x), kShapeMismatch,
               "linear_scan: expected decay [B, T, E], got [3, 4]");
  EXPECT_ERROR(linear_scan(x, zeros({2, 3, 5})), kShapeMismatch,
               "linear_scan: expected input [2, 3, 4], got [2, 3, 5]");
  EXPECT_ERROR(linear_scan(x, cast(x, DType::kF64)), kDTypeMismatch,
               "linear_scan: expected input of f32, got f64");
  EXPECT_ERROR(linear_scan(x, x, {.state = zeros({2, 3})}), kShapeMismatch,
               "linear_scan: expected state [2, 4], got [2, 3]");
  EXPECT_ERROR(linear_scan(cast(x, DType::kF16), cast(x, DType::kF16),
                           {.state = zeros({2, 4}, {.dtype = DType::kF16})}),
               kDTypeMismatch, "linear_scan: expected state of f32, got f16");
  EXPECT_ERROR(linear_scan(x, x, {.lengths = Tensor::from(Ids{1})}), kShapeMismatch,
               "linear_scan: expected lengths [2], got [1]");
  EXPECT_ERROR(linear_scan(x, Tensor()), kInvalidArgument, "linear_scan: ");
}

}  // namespace
}  // namespace wick
