#include "wick/ops/inplace.h"

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Values = std::vector<float>;

Var var(Values values) { return Var(Tensor::from(values)); }
Values values_of(const Var& x) { return x.tensor().to_vector<float>(); }

TEST(InPlace, WritesIntoTheVarsMemory) {
  Var x = var({-1, 4});
  const void* memory = x.tensor().data();
  add_(x, Tensor::from(Values{1, 1}));
  EXPECT_EQ(values_of(x), (Values{0, 5}));
  sub_(x, Tensor::from(Values{2}));  // broadcasts
  EXPECT_EQ(values_of(x), (Values{-2, 3}));
  mul_(x, Tensor::from(Values{3, 2}));
  EXPECT_EQ(values_of(x), (Values{-6, 6}));
  div_(x, full({}, 2));
  EXPECT_EQ(values_of(x), (Values{-3, 3}));
  maximum_(x, full({}, -2));
  minimum_(x, full({}, 2));
  EXPECT_EQ(values_of(x), (Values{-2, 2}));
  pow_(x, full({}, 3));
  EXPECT_EQ(values_of(x), (Values{-8, 8}));
  add_(x, 1), sub_(x, 2), mul_(x, 4), div_(x, 2);
  EXPECT_EQ(values_of(x), (Values{-18, 14}));
  pow_(x, 2);
  EXPECT_EQ(values_of(x), (Values{324, 196}));
  sqrt_(x);
  EXPECT_EQ(values_of(x), (Values{18, 14}));
  neg_(x);
  lerp_(x, zeros({2}), 0.5);
  EXPECT_EQ(values_of(x), (Values{-9, -7}));
  clamp_(x, {.min = -8});
  abs_(x);
  EXPECT_EQ(values_of(x), (Values{8, 7}));
  masked_fill_(x, gt(x, 7), -0.5);
  EXPECT_EQ(values_of(x), (Values{-0.5, 7}));
  relu_(x);
  EXPECT_EQ(values_of(x), (Values{0, 7}));
  exp_(x), log_(x);
  EXPECT_EQ(values_of(x)[0], 0);
  sigmoid_(x);
  EXPECT_EQ(values_of(x)[0], 0.5);
  round_(x), floor_(x), ceil_(x), tanh_(x);
  EXPECT_EQ(values_of(x)[0], 0);
  zero_(x);
  EXPECT_EQ(values_of(x), (Values{0, 0}));
  EXPECT_EQ(x.tensor().data(), memory);
}

TEST(InPlace, OfItselfReadsTheOldValue) {
  Var x = var({1, 2, 3});
  mul_(x, x.tensor());
  EXPECT_EQ(values_of(x), (Values{1, 4, 9}));
  sub_(x, broadcast_to(narrow(x.tensor(), 0, 0, 1), {3}));
  EXPECT_EQ(values_of(x), (Values{0, 3, 8}));
  // The first row is written before the others are computed from it.
  Var m(reshape(arange(1, 257, 1, {.dtype = DType::kF32}), {4, 64}));
  const Tensor expected = m.tensor().detach() - narrow(m.tensor().detach(), 0, 0, 1);
  sub_(m, narrow(m.tensor(), 0, 0, 1));
  EXPECT_EQ(values_of(m), expected.to_vector<float>());
  EXPECT_EQ(values_of(m).back(), 192);
}

TEST(InPlace, ReadsTheOldValuesThroughAnyView) {
  Var m(reshape(arange(9), {3, 3}), false);
  copy_(m, transpose(m.tensor()));
  EXPECT_EQ(m.tensor().to_vector<int64>(), (std::vector<int64>{0, 3, 6, 1, 4, 7, 2, 5, 8}));
  Var p(Tensor::from(std::vector<int64>{2, 0, 1}), false);
  scatter_(p, 0, p.tensor(), p.tensor() * 10);  // ids are what is written over
  EXPECT_EQ(p.tensor().to_vector<int64>(), (std::vector<int64>{0, 10, 20}));
}

TEST(InPlace, KeepsTheTargetsDtype) {
  Var x(Tensor::from(std::vector<int64>{5, 7}), false);
  div_(x, 2);
  EXPECT_EQ(x.tensor().to_vector<int64>(), (std::vector<int64>{2, 3}));
  mul_(x, Tensor::from(Values{1.5, 1.5}));
  EXPECT_EQ(x.tensor().to_vector<int64>(), (std::vector<int64>{3, 4}));
}

TEST(InPlace, IsDetectedByWhoNeedsTheOldValue) {
  Var x = var({1, 2});
  const auto after = [&](auto write) {
    const Tensor y = sum(x * x);
    write();
    EXPECT_ERROR(backward(y), kModifiedInPlace, "mul: an input");
  };
  after([&] { mul_(x, full({}, 2)); });
  after([&] { mul_(x, 2); });
  after([&] { neg_(x); });
  after([&] { zero_(x); });
}

TEST(InPlace, NamesWhatIsWrong) {
  Var x = var({1, 2}), none;
  EXPECT_ERROR(mul_(x, ones({2, 2})), kShapeMismatch, "mul_");
  EXPECT_ERROR(mul_(x, ones({3})), kShapeMismatch, "mul");
  EXPECT_ERROR(mul_(none, 2), kInvalidArgument, "mul_: the target is an empty Var()");
  EXPECT_ERROR(mul_(x, Tensor()), kInvalidArgument, "mul");
  EXPECT_ERROR(zero_(none), kInvalidArgument, "zero_");
  EXPECT_ERROR(masked_fill_(x, ones({2}), 1), kDTypeMismatch, "a mask of bool");
  EXPECT_EQ(values_of(x), (Values{1, 2}));
}

}  // namespace
}  // namespace wick
