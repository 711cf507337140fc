#include "wick/ops/scan.h"

#include <cmath>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Values = std::vector<float>;
using Ids = std::vector<int64>;
constexpr float kInf = INFINITY, kNan = NAN;

TEST(Scan, RefusesADimThatIsNotThere) {
  EXPECT_ERROR(cumsum(zeros({2, 3}), 2), kOutOfRange, "cumsum: expected dim in [-2, 2), got 2");
  EXPECT_ERROR(cumprod(zeros({}), 1), kOutOfRange, "cumprod: expected dim in [-1, 1), got 1");
  EXPECT_ERROR(cummax({}, 0), kInvalidArgument, "cummax: an operand is an empty Tensor()");
  EXPECT_ERROR(logcumsumexp(zeros({3}), -2), kOutOfRange, "logcumsumexp: ");
}

TEST(Scan, OfATensorWithoutDimsIsThatTensor) {
  const Var x(full({}, 3));
  for (const int64_t dim : {0, -1}) {
    for (const Tensor& y : {cumsum(x, dim), cumprod(x, dim), cummax(x, dim).values,
                            cummin(x, dim).values, logcumsumexp(x, dim)}) {
      EXPECT_EQ(y.shape(), Shape{});
      EXPECT_EQ(y.item<float>(), 3);
    }
    EXPECT_EQ(cummax(x, dim).indices.shape(), Shape{});
    EXPECT_EQ(cummax(x, dim).indices.item<int64>(), 0);
  }
  backward(cumsum(x, 0) + cumprod(x, 0) + cummax(x, 0).values);
  EXPECT_EQ(x.grad().item<float>(), 3);
}

TEST(Cumsum, OfIntegersAddsUpInI64) {
  const Tensor y = cumsum(Tensor::from(std::vector<uint8>{200, 200, 200}), 0);
  EXPECT_EQ(y.to_vector<int64>(), (Ids{200, 400, 600}));
}

TEST(Cumsum, CarriesInfinityAndNanOn) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    const Tensor x = cast(Tensor::from(Values{1, kInf, 2, -kInf, 3}), dtype);
    const Values y = cast(cumsum(x, 0), DType::kF32).to_vector<float>();
    EXPECT_EQ(y[0], 1);
    EXPECT_EQ(y[1], kInf);
    EXPECT_EQ(y[2], kInf);
    EXPECT_TRUE(std::isnan(y[3]) && std::isnan(y[4]));
  }
}

TEST(Cummax, GivesTheLastOfEqualsAndKeepsNan) {
  const ValuesIndices y = cummax(Tensor::from(Values{2, 2, 1, kNan, 5, kNan}), 0);
  EXPECT_EQ(y.indices.to_vector<int64>(), (Ids{0, 1, 1, 3, 3, 5}));
  EXPECT_TRUE(std::isnan(y.values.to_vector<float>()[4]));
  const ValuesIndices least = cummin(ne(Tensor::from(Ids{1, 0, 1}), 0), 0);
  EXPECT_EQ(least.values.to_vector<bool>(), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(least.indices.to_vector<int64>(), (Ids{0, 1, 1}));
}

TEST(Cumprod, ItsGradientIsRightWhereFactorsAreZero) {
  const Var x(Tensor::from(Values{2, 0, 3, 0, 5}));
  backward(sum(cumprod(x, 0)));
  // y = 2, 0, 0 ...: of x[1] it is 2 (1 + 3), of the others but x[0] nothing.
  EXPECT_EQ(x.grad().to_vector<float>(), (Values{1, 8, 0, 0, 0}));
}

TEST(Logcumsumexp, StartsFromNothing) {
  const Var x(Tensor::from(Values{-kInf, 0, 0}));
  const Tensor y = logcumsumexp(x, 0);
  EXPECT_EQ(y.to_vector<float>(), (Values{-kInf, 0, std::log(2.0f)}));
  backward(sum(narrow(y, 0, 1, 2)));
  EXPECT_EQ(x.grad().to_vector<float>(), (Values{0, 1.5f, 0.5f}));
}

}  // namespace
}  // namespace wick
