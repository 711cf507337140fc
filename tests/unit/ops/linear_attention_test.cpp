#include "wick/ops/linear_attention.h"

#include <cmath>
#include <limits>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Values = std::vector<float>;
using Ids = std::vector<int64>;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr FeatureMap kMaps[] = {FeatureMap::kNone, FeatureMap::kElu, FeatureMap::kTaylor};

Tensor part(const Tensor& x, int64_t first, int64_t count) { return narrow(x, 1, first, count); }

void expect_near(const Tensor& a, const Tensor& b, double allowed) {
  ASSERT_EQ(a.shape(), b.shape());
  const std::vector<double> left = cast(a, DType::kF64).to_vector<double>(),
                            right = cast(b, DType::kF64).to_vector<double>();
  for (size_t i = 0; i < left.size(); i++) EXPECT_NEAR(left[i], right[i], allowed) << "at " << i;
}

/// Runs the body with the kernel, then with the composite.
template <class F>
void in_both_modes(const F& body) {
  for (const CompositeMode mode : {CompositeMode::kNever, CompositeMode::kAlways}) {
    const CompositeScope scope(mode);
    body();
  }
}

TEST(LinearAttention, SumsKeysTimesValues) {
  in_both_modes([] {
    const Tensor q = Tensor::from(Values{1, 10}, {1, 2, 1, 1}),
                 k = Tensor::from(Values{2, 3}, {1, 2, 1, 1}),
                 v = Tensor::from(Values{5, 7, 11, 13}, {1, 2, 1, 2});
    const auto [y, state] =
        linear_attention(q, k, v, {.map = FeatureMap::kNone, .normalize = false});
    EXPECT_EQ(y.to_vector<float>(), (Values{10, 14, 430, 530}));
    EXPECT_EQ(state.shape(), (Shape{1, 1, 1, 3}));
    EXPECT_EQ(state.to_vector<float>(), (Values{43, 53, 5}));
  });
}

// Softmax's weights, with 1 + s + s^2 / 2 in place of exp(s).
TEST(LinearAttention, OfTaylorIsAttentionWithAnApproximateExponential) {
  in_both_modes([] {
    const Tensor q = randn({2, 9, 4, 3}), k = randn({2, 9, 2, 3}), v = randn({2, 9, 2, 5});
    const Tensor y =
        linear_attention(q, k, v, {.map = FeatureMap::kTaylor, .eps = 0, .chunk = 4}).y;
    const Tensor keys = repeat_interleave(transpose(k, 1, 2), 2, 1),
                 values = repeat_interleave(transpose(v, 1, 2), 2, 1);
    const Tensor s = matmul(transpose(q, 1, 2), transpose(keys)) / std::sqrt(3.0);
    const Tensor weights = tril(1 + s + s * s / 2);
    const Tensor expected = matmul(weights / sum(weights, {.dims = {-1}, .keepdim = true}), values);
    expect_near(y, transpose(expected, 1, 2), 1e-4);
  });
}

TEST(LinearAttention, OfPartsIsThatOfTheWhole) {
  in_both_modes([] {
    for (const FeatureMap map : kMaps) {
      const Tensor q = rand({2, 40, 4, 5}), k = rand({2, 40, 2, 5}), v = randn({2, 40, 2, 3});
      const auto whole = linear_attention(q, k, v, {.map = map, .chunk = 7});
      std::vector<Tensor> parts;
      Tensor state;
      for (const auto& [first, count] : {std::pair{0, 20}, {20, 1}, {21, 1}, {22, 18}}) {
        const auto next = linear_attention(part(q, first, count), part(k, first, count),
                                           part(v, first, count), {.map = map, .state = state});
        parts.push_back(next.y);
        state = next.state;
      }
      expect_near(cat(parts, 1), whole.y, 1e-4);
      expect_near(state, whole.state, 1e-4);
    }
  });
}

// The kernel takes few tokens, the composite many.
TEST(LinearAttention, OfStepsIsThatOfTheChunks) {
  const Tensor q = rand({1, 33, 2, 4}), k = rand({1, 33, 1, 4}), v = randn({1, 33, 1, 6});
  const auto whole = linear_attention(q, k, v);
  Tensor state;
  for (int64_t t = 0; t < 33; t++) {
    const auto next =
        linear_attention(part(q, t, 1), part(k, t, 1), part(v, t, 1), {.state = state});
    expect_near(next.y, part(whole.y, t, 1), 1e-5);
    state = next.state;
  }
  expect_near(state, whole.state, 1e-5);
}

TEST(LinearAttention, KeepsPaddingOutOfTheState) {
  in_both_modes([] {
    for (const FeatureMap map : kMaps) {
      const Tensor q = Tensor::from(Values{1, kNaN, kNaN, kNaN}, {2, 2, 1, 1}),
                   k = Tensor::from(Values{2, kNaN, kNaN, kNaN}, {2, 2, 1, 1}),
                   v = Tensor::from(Values{3, kNaN, kNaN, kNaN}, {2, 2, 1, 1});
      const int64_t features = map == FeatureMap::kTaylor ? 3 : 1;
      const Tensor before = ones({2, 1, features, 2});
      const auto [y, state] = linear_attention(
          q, k, v, {.map = map, .state = before, .lengths = Tensor::from(Ids{1, 0})});
      const auto alone = linear_attention(
          narrow(part(q, 0, 1), 0, 0, 1), narrow(part(k, 0, 1), 0, 0, 1),
          narrow(part(v, 0, 1), 0, 0, 1), {.map = map, .state = narrow(before, 0, 0, 1)});
      expect_near(narrow(state, 0, 0, 1), alone.state, 1e-6);
      expect_near(narrow(state, 0, 1, 1), narrow(before, 0, 1, 1), 0);
      const Values all = y.to_vector<float>();
      EXPECT_NEAR(all[0], alone.y.to_vector<float>()[0], 1e-6);
      EXPECT_EQ((Values{all[1], all[2], all[3]}), (Values{0, 0, 0}));
    }
  });
}

TEST(LinearAttention, OfNoTokensReturnsTheState) {
  const Tensor none = zeros({1, 0, 1, 2}), before = ones({1, 1, 2, 3});
  expect_near(linear_attention(none, none, none, {.state = before}).state, before, 0);
  expect_near(linear_attention(none, none, none).state, zeros({1, 1, 2, 3}), 0);
  EXPECT_EQ(linear_attention(none, none, none).y.shape(), (Shape{1, 0, 1, 2}));
}

TEST(LinearAttention, PassesTheGradientOfTheState) {
  const Var q(full({1, 1, 1, 1}, 2)), k(full({1, 1, 1, 1}, 3)), v(full({1, 1, 1, 1}, 5)),
      before(ones({1, 1, 1, 2}));
  const auto [y, state] =
      linear_attention(q, k, v, {.map = FeatureMap::kNone, .normalize = false, .state = before});
  backward(sum(y));  // q (before + k v)
  EXPECT_EQ(q.grad().to_vector<float>(), (Values{16}));
  EXPECT_EQ(k.grad().to_vector<float>(), (Values{10}));
  EXPECT_EQ(v.grad().to_vector<float>(), (Values{6}));
  EXPECT_EQ(before.grad().to_vector<float>(), (Values{2, 0}));
}

TEST(LinearAttention, OfMoreFeaturesThanTheKernelTakesRunsTheComposite) {
  const Tensor q = rand({1, 1, 1, 64}), v = ones({1, 1, 1, 2});
  const auto [y, state] = linear_attention(q, q, v, {.map = FeatureMap::kTaylor, .eps = 0});
  EXPECT_EQ(state.shape(), (Shape{1, 1, 1 + 64 + 64 * 64, 3}));
  expect_near(y, v, 1e-5);
}

TEST(LinearAttention, RejectsOperandsThatDoNotFit) {
  const Tensor q = zeros({1, 2, 4, 3}), k = zeros({1, 2, 2, 3}), v = zeros({1, 2, 2, 5});
  EXPECT_ERROR(linear_attention(zeros({2, 4, 3}), k, v), kShapeMismatch,
               "linear_attention: expected q [B, T, H, K], k [B, T, G, K] and v [B, T, G, V], got "
               "[2, 4, 3], [1, 2, 2, 3] and [1, 2, 2, 5]");
  EXPECT_ERROR(linear_attention(q, zeros({1, 2, 2, 4}), v), kShapeMismatch,
               "linear_attention: expected k [1, 2, 2, 3], got [1, 2, 2, 4]");
  EXPECT_ERROR(linear_attention(q, k, zeros({1, 3, 2, 5})), kShapeMismatch,
               "linear_attention: expected v [1, 2, 2, 5], got [1, 3, 2, 5]");
  EXPECT_ERROR(linear_attention(q, zeros({1, 2, 3, 3}), zeros({1, 2, 3, 5})), kShapeMismatch,
               "linear_attention: expected H a multiple of G");
  EXPECT_ERROR(linear_attention(q, cast(k, DType::kF16), v), kDTypeMismatch,
               "linear_attention: expected k of f32, got f16");
  EXPECT_ERROR(linear_attention(q, k, v, {.state = zeros({1, 2, 3, 5})}), kShapeMismatch,
               "linear_attention: expected state [1, 2, 3, 6], got [1, 2, 3, 5]");
  EXPECT_ERROR(linear_attention(q, k, v, {.lengths = zeros({1})}), kDTypeMismatch,
               "linear_attention: ");
  EXPECT_ERROR(linear_attention(q, k, v, {.eps = -1}), kInvalidArgument,
               "linear_attention: expected eps of at least 0, got -1");
  EXPECT_ERROR(linear_attention(q, k, v, {.chunk = 0}), kInvalidArgument,
               "linear_attention: expected chunk of at least 1, got 0");
  EXPECT_ERROR(linear_attention(q, k.to(Device::emulated(32)), v), kDeviceMismatch,
               "linear_attention: ");
  EXPECT_ERROR(linear_attention(q, k, Tensor()), kInvalidArgument, "linear_attention: ");
}

}  // namespace
}  // namespace wick
