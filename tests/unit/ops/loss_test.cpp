#include "wick/ops/loss.h"

#include <cmath>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Values = std::vector<float>;
using Ids = std::vector<int64>;

TEST(CrossEntropy, OfEqualLogitsIsTheLogarithmOfTheirNumber) {
  const Tensor loss = cross_entropy(zeros({3, 5}), Tensor::from(Ids{0, 4, 2}));
  EXPECT_EQ(loss.rank(), 0);
  EXPECT_NEAR(loss.item<float>(), std::log(5.0f), 1e-6f);
}

TEST(CrossEntropy, IsInF32) {
  const Tensor logits = zeros({3, 5}, {.dtype = DType::kBf16});
  EXPECT_EQ(cross_entropy(logits, Tensor::from(Ids{0, 4, 2})).dtype(), DType::kF32);
}

TEST(CrossEntropy, RejectsWhatDoesNotFit) {
  const Tensor x = zeros({3, 5}), targets = Tensor::from(Ids{0, 1, 2});
  EXPECT_ERROR(cross_entropy(x, Tensor::from(Ids{0, 1})), kShapeMismatch,
               "cross_entropy: expected logits [N, C] and targets [N], got [3, 5] and [2]");
  EXPECT_ERROR(cross_entropy(zeros({5}), targets), kShapeMismatch, "cross_entropy: ");
  EXPECT_ERROR(cross_entropy(x, zeros({3})), kDTypeMismatch,
               "cross_entropy: expected targets of integers, got f32");
  EXPECT_ERROR(cross_entropy(cast(x, DType::kI32), targets), kDTypeMismatch,
               "cross_entropy: expected a floating dtype, got i32");
  EXPECT_ERROR(cross_entropy(x, targets.to(Device::emulated(32))), kDeviceMismatch,
               "cross_entropy: ");
}

TEST(Softmax, OfATensorWithoutDimsIsOne) {
  const Var x(full({}, 3));
  for (const int64_t dim : {0, -1}) {
    EXPECT_EQ(softmax(x, dim).shape(), Shape{});
    EXPECT_EQ(softmax(x, dim).item<float>(), 1);
    EXPECT_EQ(log_softmax(x, dim).shape(), Shape{});
    EXPECT_EQ(log_softmax(x, dim).item<float>(), 0);
  }
  backward(softmax(x) + log_softmax(x));
  EXPECT_EQ(x.grad().item<float>(), 0);
  EXPECT_ERROR(softmax(x, 1), kOutOfRange, "softmax: expected dim in [-1, 1), got 1");
}

TEST(Softmax, OfNothingStaysOnTheTape) {
  const Var x(zeros({0, 3}));
  backward(sum(softmax(x)));
  EXPECT_EQ(x.grad().shape(), (Shape{0, 3}));
}

TEST(Softmax, OfLargeLogitsDoesNotOverflow) {
  EXPECT_EQ(softmax(Tensor::from(Values{1e30f, -1e30f, 1e30f})).to_vector<float>(),
            (Values{0.5f, 0, 0.5f}));
}

TEST(Softmax, RejectsADimThatIsNotThere) {
  EXPECT_ERROR(softmax(zeros({2, 3}), 2), kOutOfRange, "softmax: expected dim in [-2, 2), got 2");
  EXPECT_ERROR(softmax(cast(zeros({2}), DType::kI32)), kDTypeMismatch, "softmax: ");
}

}  // namespace
}  // namespace wick
