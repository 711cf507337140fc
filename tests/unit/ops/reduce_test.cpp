#include "wick/ops/reduce.h"

#include <cmath>

#include "../expect.h"
#include "wick/ops/statistics.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Values = std::vector<float>;
using Ids = std::vector<int64>;
constexpr float kInf = INFINITY, kNan = NAN;

TEST(Reduce, RefusesDimsThatAreNotThereOrComeTwice) {
  const Tensor x = zeros({2, 3});
  EXPECT_ERROR(min(x, {.dims = {2}}), kOutOfRange, "min: expected dim in [-2, 2), got 2");
  EXPECT_ERROR(prod(x, {.dims = {1, -1}}), kInvalidArgument, "prod: dim 1 is named twice");
  EXPECT_ERROR(argmax(x, -3), kOutOfRange, "argmax: expected dim in [-2, 2), got -3");
  EXPECT_ERROR(var({}), kInvalidArgument, "var: an operand is an empty Tensor()");
}

TEST(Reduce, ATensorWithoutDimsTakesDim0) {
  const Var x(full({}, 3));
  for (const int64_t dim : {0, -1}) {
    for (const Tensor& y : {sum(x, {.dims = {dim}}), mean(x, {.dims = {dim}, .keepdim = true}),
                            max(x, {.dims = {dim}}), amin(x, {.dims = {dim}}),
                            max_with_indices(x, dim).values, logsumexp(x, {.dims = {dim}})}) {
      EXPECT_EQ(y.shape(), Shape{});
      EXPECT_EQ(y.item<float>(), 3);
    }
    EXPECT_EQ(argmax(x, dim, true).shape(), Shape{});
    EXPECT_EQ(argmin(x, dim).item<int64>(), 0);
    EXPECT_EQ(max_with_indices(x, dim, true).indices.shape(), Shape{});
  }
  backward(max(x, {.dims = {0}}) + sum(x, {.dims = {-1}}));
  EXPECT_EQ(x.grad().item<float>(), 2);
  EXPECT_ERROR(sum(x, {.dims = {1}}), kOutOfRange, "sum: expected dim in [-1, 1), got 1");
  EXPECT_ERROR(argmax(x, 1), kOutOfRange, "argmax: expected dim in [-1, 1), got 1");
  EXPECT_ERROR(sum(x, {.dims = {0, -1}}), kInvalidArgument, "sum: dim 0 is named twice");
}

TEST(Reduce, OfNothingHasAValueOrIsAnError) {
  const Tensor x = zeros({3, 0});
  EXPECT_EQ(prod(x).item<float>(), 1);
  EXPECT_FALSE(any(x).item<bool>());
  EXPECT_TRUE(all(x).item<bool>());
  EXPECT_TRUE(std::isnan(var(x).item<float>()));
  EXPECT_EQ(logsumexp(x).item<float>(), -kInf);
  EXPECT_EQ(norm(x).item<float>(), 0);
  EXPECT_ERROR(min(x), kInvalidArgument,
               "min: expected at least one element in dim 1, got shape [3, 0]");
  EXPECT_ERROR(argmin(x, 1), kInvalidArgument,
               "argmin: expected at least one element in dim 1, got shape [3, 0]");
  EXPECT_ERROR(argmax(x), kInvalidArgument,
               "argmax: expected at least one element in dim 1, got shape [3, 0]");
  EXPECT_ERROR(norm(x, kInf), kInvalidArgument,
               "norm: expected at least one element in dim 1, got shape [3, 0]");
  EXPECT_ERROR(norm(x, -2), kInvalidArgument,
               "norm: expected at least one element for p = -2, got shape [3, 0]");
  EXPECT_ERROR(norm(x, kNan), kInvalidArgument, "norm: expected a number p, got NaN");
}

TEST(Argmax, TakesTheFirstOfEqualsAndNanBeforeNumbers) {
  const Tensor x = Tensor::from(Values{1, 5, 5, 5, kNan, kNan, -kInf, 2, 2}, {3, 3});
  EXPECT_EQ(argmax(x, 1).to_vector<int64>(), (Ids{1, 1, 1}));
  EXPECT_EQ(argmin(x, 1).to_vector<int64>(), (Ids{0, 1, 0}));
  EXPECT_EQ(argmax(x).item<int64>(), 4);
  EXPECT_EQ(argmin(x, 0, true).shape(), Shape({1, 3}));
  const ValuesIndices y = max_with_indices(x, -1, true);
  EXPECT_EQ(y.values.shape(), Shape({3, 1}));
  EXPECT_EQ(y.indices.to_vector<int64>(), (Ids{1, 1, 1}));
  EXPECT_EQ(y.values.to_vector<float>()[2], 2);
  EXPECT_EQ(min_with_indices(x, 1).indices.to_vector<int64>(), (Ids{0, 1, 0}));
}

Values gradient(const Values& values, const std::function<Tensor(const Tensor&)>& f) {
  const Var x(Tensor::from(values));
  backward(sum(f(x.tensor())));
  return x.grad().to_vector<float>();
}

TEST(Max, ItsGradientGoesToTheFirstOfOneDimAndIsSharedByAll) {
  const Values tied = {3, 1, 3, 3};
  EXPECT_EQ(gradient(tied, [](const Tensor& x) { return max(x, {.dims = {0}}); }),
            (Values{1, 0, 0, 0}));
  const float third = 1.0f / 3;
  EXPECT_EQ(gradient(tied, [](const Tensor& x) { return max(x); }),
            (Values{third, 0, third, third}));
  EXPECT_EQ(gradient(tied, [](const Tensor& x) { return amax(x, {.dims = {0}}); }),
            (Values{third, 0, third, third}));
  EXPECT_EQ(gradient({2, 1, 1}, [](const Tensor& x) { return amin(x, {.dims = {0}}); }),
            (Values{0, 0.5, 0.5}));
  EXPECT_EQ(gradient({2, 1, 1}, [](const Tensor& x) { return min(x, {.dims = {0}}); }),
            (Values{0, 1, 0}));
  EXPECT_EQ(gradient(tied, [](const Tensor& x) { return max_with_indices(x, 0).values; }),
            (Values{1, 0, 0, 0}));
}

TEST(Prod, ItsGradientIsRightWhereFactorsAreZero) {
  const auto product = [](const Tensor& x) { return prod(x); };
  EXPECT_EQ(gradient({2, 0, 3}, product), (Values{0, 6, 0}));
  EXPECT_EQ(gradient({0, 5, 0}, product), (Values{0, 0, 0}));
}

TEST(Variance, DividesByAtLeastZero) {
  const Tensor x = Tensor::from(Values{1, 2});
  EXPECT_EQ(var(x, {.correction = 0}).item<float>(), 0.25f);
  EXPECT_EQ(var(x, {.correction = 3}).item<float>(), kInf);
  EXPECT_TRUE(std::isnan(var(Tensor::from(Values{1})).item<float>()));
  EXPECT_EQ(var(Tensor::from(Ids{1, 2, 3})).dtype(), DType::kF32);
  const VarMean both = var_mean(Tensor::from(Values{1, 2, 3}));
  EXPECT_EQ(both.var.item<float>(), 1);
  EXPECT_EQ(both.mean.item<float>(), 2);
}

TEST(Std, ItsGradientIsZeroWhereNothingDiffers) {
  EXPECT_EQ(gradient({3, 3, 3}, [](const Tensor& x) { return stddev(x); }), (Values{0, 0, 0}));
}

TEST(Norm, ItsGradientIsZeroAtZero) {
  for (const double p : {1.0, 2.0, 3.0})
    EXPECT_EQ(gradient({0, 0}, [p](const Tensor& x) { return norm(x, p); }), (Values{0, 0})) << p;
}

TEST(LogSumExp, OfOneLongRowIsThatOfItsParts) {
  const Tensor x = linspace(-3, 3, 100000), rows = reshape(x, {1000, 100});
  const Tensor parts = logsumexp(logsumexp(rows, {.dims = {1}}));
  EXPECT_NEAR(logsumexp(x).item<float>(), parts.item<float>(), 1e-5f);
}

TEST(LogSumExp, OfInfinitiesIsOne) {
  const auto of = [](const Values& x) { return logsumexp(Tensor::from(x)).item<float>(); };
  EXPECT_EQ(of({-kInf, -kInf}), -kInf);
  EXPECT_EQ(of({kInf, 1}), kInf);
  EXPECT_TRUE(std::isnan(of({kNan, kInf})));
  EXPECT_EQ(of({1000, 1000}), 1000 + std::log(2.0f));
  EXPECT_EQ(gradient({-kInf, -kInf}, [](const Tensor& x) { return logsumexp(x); }), (Values{0, 0}));
}

TEST(Nanmean, LeavesNanOut) {
  const Tensor x = Tensor::from(Values{1, kNan, 3});
  EXPECT_EQ(nansum(x).item<float>(), 4);
  EXPECT_EQ(nanmean(x).item<float>(), 2);
  EXPECT_EQ(count_nonzero(x).item<int64>(), 3);
}

}  // namespace
}  // namespace wick
