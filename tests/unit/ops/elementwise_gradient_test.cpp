// Gradients of elementwise ops where their formulas meet a zero, an infinity or an overflow.
#include <cmath>
#include <limits>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Values = std::vector<float>;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Values of(const Tensor& x) { return cast(x, DType::kF32).to_vector<float>(); }

/// The gradient of sum(f(x)).
template <class F>
Values slope(const F& f, const Values& at, DType dtype = DType::kF32) {
  const Var x(cast(Tensor::from(at), dtype));
  backward(sum(f(x)));
  return of(x.grad());
}

void expect_near(const Values& got, const Values& expected, float relative) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); i++)
    EXPECT_NEAR(got[i], expected[i], relative * std::fabs(expected[i])) << "element " << i;
}

TEST(Atan2, HasGradient0AtTheOrigin) {
  const Var y(zeros({1})), x(zeros({1}));
  backward(sum(atan2(y, x)));
  EXPECT_EQ(of(y.grad()), Values{0});
  EXPECT_EQ(of(x.grad()), Values{0});
}

TEST(Atan2, PassesAMaskThatLeavesTheOriginOut) {
  // PyTorch's result.
  const Var x(Tensor::from(Values{1, 0, 2, 3}));
  const Tensor y = Tensor::from(Values{2, 0, 0, 0}), keep = Tensor::from(Values{1, 0, 1, 1}) / 3;
  backward(sum(where(gt(keep, 0), atan2(y, x), 0) * keep));
  expect_near(of(x.grad()), {-0.4f / 3, 0, 0, 0}, 1e-6f);
}

TEST(Atan2, HasGradientsWhoseSquaresOverflowOrVanish) {
  for (const float size : {1e-30f, 1e-15f, 1.f, 1e15f, 1e30f}) {
    const Var y(Tensor::from(Values{3 * size})), x(Tensor::from(Values{4 * size}));
    backward(sum(atan2(y, x)));
    expect_near(of(y.grad()), {4 / (25 * size)}, 1e-6f);
    expect_near(of(x.grad()), {-3 / (25 * size)}, 1e-6f);
  }
  for (const float far : {kInfinity, -kInfinity}) {
    const Var y(Tensor::from(Values{far, 1, far})), x(Tensor::from(Values{1, far, far}));
    backward(sum(atan2(y, x)));
    EXPECT_EQ(of(y.grad()), (Values{0, 0, 0}));
    EXPECT_EQ(of(x.grad()), (Values{0, 0, 0}));
  }
}

TEST(Atan2, HasAFiniteSecondDerivativeEverywhere) {
  const Var y(Tensor::from(Values{0, 3, kInfinity})), x(Tensor::from(Values{0, 4, 1}));
  const Tensor first = grad(sum(atan2(y, x)), {y}, {.create_graph = true})[0];
  // d/dy of x / (x² + y²) is -2 x y / (x² + y²)².
  expect_near(of(grad(sum(first), {y})[0]), {0, -24.f / 625, 0}, 1e-5f);
}

TEST(Atan2, BroadcastsItsGradient) {
  const Var y(Tensor::from(Values{0, 1}, Shape{2, 1})), x(Tensor::from(Values{0, 1, 2}));
  backward(sum(atan2(y, x)));
  expect_near(of(y.grad()), {0 + 1 + 0.5f, 0 + 0.5f + 0.4f}, 1e-6f);
  expect_near(of(x.grad()), {-1, -0.5f, -0.2f}, 1e-6f);
}

TEST(Div, HasGradientsWhoseSquaresOverflowOrVanish) {
  const Values wide{1e-25f, 1e25f};
  const auto share = [](const Tensor& x) { return x.detach() / x; };
  expect_near(slope(share, wide), {-1e25f, -1e-25f}, 1e-6f);
  expect_near(slope(share, {0x1p-12f, 512}, DType::kF16), {-4096, -0x1p-9f}, 1e-3f);
}

TEST(InverseFunctions, HaveGradientsWhoseSquaresOverflow) {
  const Values far{1e25f, -1e25f};
  expect_near(slope([](const Tensor& x) { return asinh(x); }, far), {1e-25f, 1e-25f}, 1e-6f);
  expect_near(slope([](const Tensor& x) { return acosh(x); }, {1e25f}), {1e-25f}, 1e-6f);
  expect_near(slope([](const Tensor& x) { return asinh(x); }, {512}, DType::kF16), {0x1p-9f},
              2e-3f);
  expect_near(slope([](const Tensor& x) { return acosh(x); }, {512}, DType::kF16), {0x1p-9f},
              2e-3f);
  expect_near(slope([](const Tensor& x) { return atan(x); }, {512}, DType::kF16), {0x1p-18f},
              1e-2f);
  expect_near(slope([](const Tensor& x) { return softsign(x); }, {511}, DType::kF16), {0x1p-18f},
              1e-2f);
}

TEST(SumsOfSquaresAndExponentials, HaveFiniteGradientsAtTheirPoles) {
  const Tensor none = full({3}, -kInfinity), nothing = zeros({3});
  const auto at = [](const Tensor& x, const auto& f) {
    const Var v(x);
    backward(sum(f(v) * 0));  // after a late mask
    return of(v.grad());
  };
  const Values zero{0, 0, 0};
  EXPECT_EQ(at(nothing, [](const Tensor& x) { return hypot(x, x); }), zero);
  EXPECT_EQ(at(nothing, [](const Tensor& x) { return norm(x); }), zero);
  EXPECT_EQ(at(nothing, [](const Tensor& x) { return norm(x, 3); }), zero);
  EXPECT_EQ(at(nothing, [](const Tensor& x) { return norm(x, 0.5); }), zero);
  EXPECT_EQ(at(nothing, [](const Tensor& x) { return stddev(x); }), zero);
  EXPECT_EQ(at(none, [](const Tensor& x) { return logsumexp(x); }), zero);
  EXPECT_EQ(at(none, [](const Tensor& x) { return logcumsumexp(x, 0); }), zero);
  EXPECT_EQ(at(none, [](const Tensor& x) { return logaddexp(x, x); }), zero);
}

}  // namespace
}  // namespace wick
