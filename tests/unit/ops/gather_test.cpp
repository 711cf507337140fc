#include "wick/ops/gather.h"

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Values = std::vector<float>;
using Ids = std::vector<int64>;

TEST(Scatter, WritesIntoTheTargetsMemoryAndOffTheTape) {
  Var cache(zeros({4, 2}));
  const void* memory = cache.tensor().data();
  const Var src(Tensor::from(Values{1, 2, 3, 4}, Shape{2, 2}));
  scatter_(cache, 0, Tensor::from(Ids{3, 1}, Shape{2, 1}), src);
  EXPECT_EQ(cache.tensor().data(), memory);
  EXPECT_EQ(cache.tensor().to_vector<float>(), (Values{0, 0, 3, 4, 0, 0, 1, 2}));
  backward(sum(cache * 2));
  EXPECT_EQ(cache.grad().to_vector<float>(), Values(8, 2.0f));
  EXPECT_FALSE(src.grad());
}

TEST(Scatter, OfEqualIdsOneStays) {
  Var x(zeros({2}));
  scatter_(x, 0, Tensor::from(Ids{1, 1, 1}), Tensor::from(Values{5, 6, 7}));
  const Values y = x.tensor().to_vector<float>();
  EXPECT_EQ(y[0], 0);
  EXPECT_TRUE(y[1] == 5 || y[1] == 6 || y[1] == 7) << y[1];
}

TEST(Scatter, RejectsWhatDoesNotFit) {
  Var x(zeros({4, 2})), none;
  const Tensor ids = zeros({3, 2}, {.dtype = DType::kI64}), src = zeros({3, 2});
  EXPECT_ERROR(scatter_(none, 0, ids, src), kInvalidArgument,
               "scatter_: the target is an empty Var()");
  EXPECT_ERROR(scatter_(x, 0, src, src), kDTypeMismatch,
               "scatter_: expected ids of integers, got f32");
  EXPECT_ERROR(scatter_(x, 0, ids, cast(src, DType::kF64)), kDTypeMismatch,
               "scatter_: expected src of f32, got f64");
  EXPECT_ERROR(scatter_(x, 0, ids, zeros({3})), kShapeMismatch,
               "scatter_: expected src of rank 2, got [3]");
  EXPECT_ERROR(scatter_(x, 0, ids, zeros({3, 3})), kShapeMismatch,
               "scatter_: src [3, 3] exceeds the target [4, 2] in dim 1");
  EXPECT_ERROR(scatter_(x, 0, zeros({2, 2}, {.dtype = DType::kI64}), src), kShapeMismatch,
               "scatter_: ids [2, 2] do not broadcast to [3, 2]");
  EXPECT_ERROR(scatter_(x, 2, ids, src), kOutOfRange, "scatter_: expected dim in [-2, 2), got 2");
  EXPECT_ERROR(scatter_(x, 0, ids, {}), kInvalidArgument, "scatter_: an operand is an empty");
  EXPECT_ERROR(scatter_(x, 0, ids.to(Device::emulated(32)), src), kDeviceMismatch, "scatter_: ");
  EXPECT_EQ(x.tensor().to_vector<float>(), Values(8, 0.0f));
}

}  // namespace
}  // namespace wick
