#include "wick/ops/sort.h"

#include <cmath>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Values = std::vector<float>;
using Ids = std::vector<int64>;
constexpr float kInf = INFINITY, kNan = NAN;

TEST(Sort, IsStableAndPutsNanLastOrDescendingFirst) {
  const Tensor x = Tensor::from(Values{kNan, 0, 3, -0.0f, -kInf, 3, kNan, kInf});
  EXPECT_EQ(argsort(x).to_vector<int64>(), (Ids{4, 1, 3, 2, 5, 7, 0, 6}));
  EXPECT_EQ(argsort(x, 0, {.descending = true}).to_vector<int64>(), (Ids{0, 6, 7, 2, 5, 1, 3, 4}));
  const Values sorted = sort(x).values.to_vector<float>();
  EXPECT_TRUE(!std::signbit(sorted[1]) && std::signbit(sorted[2]));  // the two zeros, as they came
}

TEST(Sort, TakesRowsOfAnyLengthAndDim) {  // rows above 8192 do not fit a block's memory on a card
  const int64_t n = 10000;
  const Tensor falling = (n - 1) - arange(n);
  const Tensor x = transpose(broadcast_to(falling, {2, n}));
  const ValuesIndices y = sort(x, 0);
  EXPECT_EQ(y.values.shape(), x.shape());
  EXPECT_TRUE(all(eq(y.values, unsqueeze(arange(n), 1))).item<bool>());
  EXPECT_TRUE(all(eq(y.indices, unsqueeze(falling, 1))).item<bool>());
}

TEST(Sort, ItsGradientGoesBackToWhereElementsStood) {
  const Var x(Tensor::from(Values{3, 1, 2}));
  backward(sum(sort(x).values * Tensor::from(Values{10, 20, 30})));
  EXPECT_EQ(x.grad().to_vector<float>(), (Values{30, 10, 20}));
}

TEST(Topk, RefusesMoreThanThereIs) {
  const Tensor x = zeros({2, 3});
  EXPECT_ERROR(topk(x, 4), kInvalidArgument, "topk: expected k in [0, 3], got 4");
  EXPECT_ERROR(topk(x, -1), kInvalidArgument, "topk: expected k in [0, 3], got -1");
  EXPECT_ERROR(topk(x, 1, 2), kOutOfRange, "topk: expected dim in [-2, 2), got 2");
  EXPECT_ERROR(kthvalue(x, 0), kInvalidArgument, "kthvalue: expected k in [1, 3], got 0");
  EXPECT_ERROR(quantile(x, 1.5), kInvalidArgument, "quantile: expected q in [0, 1], got 1.5");
  EXPECT_ERROR(median(zeros({3, 0})), kInvalidArgument,
               "median: expected at least one element in dim 1, got shape [3, 0]");
  EXPECT_ERROR(sort(zeros({}), 1), kOutOfRange, "sort: expected dim in [-1, 1), got 1");
  EXPECT_ERROR(topk(zeros({}), 0), kInvalidArgument, "topk: expected k of 1 for shape [], got 0");
}

TEST(Sort, OfATensorWithoutDimsIsThatTensor) {
  const Var x(full({}, 3));
  for (const int64_t dim : {0, -1}) {
    for (const ValuesIndices& y : {sort(x, dim), topk(x, 1, dim), kthvalue(x, 1, dim, true),
                                   median(x, dim, true), mode(x, dim)}) {
      EXPECT_EQ(y.values.shape(), Shape{});
      EXPECT_EQ(y.values.item<float>(), 3);
      EXPECT_EQ(y.indices.shape(), Shape{});
      EXPECT_EQ(y.indices.item<int64>(), 0);
    }
    EXPECT_EQ(argsort(x, dim).item<int64>(), 0);
    EXPECT_EQ(quantile(x, 0.5, dim, true).shape(), Shape{});
  }
  backward(sort(x).values + quantile(x, 0.5));
  EXPECT_EQ(x.grad().shape(), Shape{});
  EXPECT_EQ(x.grad().item<float>(), 2);
}

TEST(Topk, GivesTheFirstOfEquals) {
  const Tensor x = Tensor::from(Values{1, 3, 3, kNan, 3});
  EXPECT_EQ(topk(x, 3).indices.to_vector<int64>(), (Ids{3, 1, 2}));
  EXPECT_EQ(topk(x, 2, 0, {.largest = false}).indices.to_vector<int64>(), (Ids{0, 1}));
  EXPECT_EQ(topk(zeros({2, 3}), 0).values.shape(), Shape({2, 0}));
}

/// Every element is better than those before it: the worst for a selection that throws some out.
TEST(Topk, OfARisingRowIsItsEnd) {
  const int64_t n = 30000, k = 20;
  const ValuesIndices y = topk(arange(n), k);
  EXPECT_TRUE(all(eq(y.values, (n - 1) - arange(k))).item<bool>());
  EXPECT_TRUE(all(eq(y.values, y.indices)).item<bool>());
}

TEST(Median, IsTheLowerOfTwoAndNanWhereThereIsOne) {
  EXPECT_EQ(median(Tensor::from(Values{4, 1, 3, 2})).values.item<float>(), 2);
  const ValuesIndices y = median(Tensor::from(Values{4, kNan, 3, kNan}));
  EXPECT_TRUE(std::isnan(y.values.item<float>()));
  EXPECT_EQ(y.indices.item<int64>(), 1);
}

TEST(Mode, IsTheSmallestOfTheMostFrequent) {
  const ValuesIndices y = mode(Tensor::from(Values{5, 2, 7, 2, 5}));
  EXPECT_EQ(y.values.item<float>(), 2);
  EXPECT_EQ(y.indices.item<int64>(), 3);
}

TEST(Quantile, LiesBetweenNeighbours) {
  const Tensor x = Tensor::from(Values{4, 1, 3, 2});
  EXPECT_EQ(quantile(x, 0.5).item<float>(), 2.5f);
  EXPECT_EQ(quantile(x, 1, 0, true).shape(), Shape({1}));
  EXPECT_EQ(quantile(Tensor::from(Values{kInf, kInf}), 0.5).item<float>(), kInf);
  EXPECT_TRUE(std::isnan(quantile(Tensor::from(Values{1, kNan}), 0).item<float>()));
}

}  // namespace
}  // namespace wick
