#include "wick/ops/elementwise.h"

#include <limits>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Bools = std::vector<bool>;
using Values = std::vector<float>;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Bools bools(const Tensor& x) {
  EXPECT_EQ(x.dtype(), DType::kBool);
  const std::vector<uint8> bytes = cast(x, DType::kU8).to_vector<uint8>();
  return {bytes.begin(), bytes.end()};
}

TEST(Comparisons, GiveBools) {
  const Tensor a = Tensor::from(Values{1, 2, 3, kNan}), b = Tensor::from(Values{2, 2, 2, kNan});
  EXPECT_EQ(bools(eq(a, b)), (Bools{false, true, false, false}));
  EXPECT_EQ(bools(ne(a, b)), (Bools{true, false, true, true}));
  EXPECT_EQ(bools(lt(a, b)), (Bools{true, false, false, false}));
  EXPECT_EQ(bools(le(a, b)), (Bools{true, true, false, false}));
  EXPECT_EQ(bools(gt(a, b)), (Bools{false, false, true, false}));
  EXPECT_EQ(bools(ge(a, b)), (Bools{false, true, true, false}));
}

TEST(Comparisons, HaveOperators) {
  const Tensor a = Tensor::from({1.f, 2.f, 3.f, kNan}), b = Tensor::from({2.f, 2.f, 2.f, kNan});
  EXPECT_EQ(bools(a == b), bools(eq(a, b)));
  EXPECT_EQ(bools(a != b), bools(ne(a, b)));
  EXPECT_EQ(bools(a < b), bools(lt(a, b)));
  EXPECT_EQ(bools(a <= b), bools(le(a, b)));
  EXPECT_EQ(bools(a > b), bools(gt(a, b)));
  EXPECT_EQ(bools(a >= b), bools(ge(a, b)));
  const Bools equal{false, true, false, false}, smaller{true, false, false, false},
      larger{false, false, true, false}, other{true, false, true, true},
      not_larger{true, true, false, false}, not_smaller{false, true, true, false};
  EXPECT_EQ(bools(a == 2), equal);
  EXPECT_EQ(bools(2 == a), equal);
  EXPECT_EQ(bools(a != 2.0), other);
  EXPECT_EQ(bools(2 != a), other);
  EXPECT_EQ(bools(a < 2), smaller);
  EXPECT_EQ(bools(2 < a), larger);
  EXPECT_EQ(bools(a <= 2), not_larger);
  EXPECT_EQ(bools(2 <= a), not_smaller);
  EXPECT_EQ(bools(a > 2), larger);
  EXPECT_EQ(bools(2 > a), smaller);
  EXPECT_EQ(bools(a >= 2), not_smaller);
  EXPECT_EQ(bools(2 >= a), not_larger);
  const Var x(a);
  EXPECT_EQ(bools(x > 2), larger);
  EXPECT_EQ(bools(x == x.tensor()), (Bools{true, true, true, false}));
}

TEST(Comparisons, AsATruthValueAreThatOfTheirOneElement) {
  const Tensor loss = Tensor::from({0.5f}, Shape{});
  EXPECT_TRUE(loss < 1 ? true : false);
  EXPECT_FALSE(loss > 1 ? true : false);
  EXPECT_TRUE(!(loss == 1));
  EXPECT_EQ(loss, loss);  // GoogleTest asks for the truth too
  EXPECT_NE(loss, loss + 1);
  const Tensor three = Tensor::from({1.f, 2.f, 3.f});
  EXPECT_ERROR(bool(three == three), kShapeMismatch,
               "comparison: expected one element for a truth value, got shape [3]");
  EXPECT_ERROR(bool(zeros({0}) == 0), kShapeMismatch, "got shape [0]");
  EXPECT_TRUE(all(three == three).item<bool>());
}

TEST(Comparisons, ChooseElements) {
  const Tensor x = Tensor::from({-1.f, 2.f, -3.f});
  EXPECT_EQ(where(x > 0, x, 0).to_vector<float>(), (Values{0, 2, 0}));
  EXPECT_EQ(index(x, {x < 0}).to_vector<float>(), (Values{-1, -3}));
}

TEST(Where, OfTwoNumbersIsBoolOrI64OrF32) {
  const Tensor mask = Tensor::from({true, false});
  const Tensor integers = where(mask, 7, -1), reals = where(mask, 1, 0.5);
  EXPECT_EQ(integers.to_vector<int64>(), (std::vector<int64>{7, -1}));
  EXPECT_EQ(reals.to_vector<float>(), (Values{1, 0.5f}));
  EXPECT_EQ(bools(where(mask, false, true)), (Bools{false, true}));
  EXPECT_EQ(where(mask, true, 2).dtype(), DType::kI64);
  EXPECT_ERROR(where(mask, UINT64_MAX, 0), kInvalidArgument,
               "where: i64 cannot hold the number 18446744073709551615");
  EXPECT_ERROR(where({}, 1, 2), kInvalidArgument, "where: an operand is an empty Tensor()");
}

TEST(Where, OfATensorAndANumberKeepsTheTensorsKind) {
  const Tensor mask = Tensor::from({true, false});
  const auto dtype_beside = [&](DType dtype, Number number) {
    const Tensor x = ones({2}, {.dtype = dtype});
    EXPECT_EQ(where(mask, x, number).dtype(), where(mask, number, x).dtype());
    return where(mask, x, number).dtype();
  };
  EXPECT_EQ(dtype_beside(DType::kF16, 2.5), DType::kF16);
  EXPECT_EQ(dtype_beside(DType::kU8, 2), DType::kU8);
  EXPECT_EQ(dtype_beside(DType::kI32, 2.5), DType::kF32);
  EXPECT_EQ(dtype_beside(DType::kBool, 2), DType::kI64);
  EXPECT_EQ(dtype_beside(DType::kBool, true), DType::kBool);
  EXPECT_EQ(dtype_beside(DType::kU8, true), DType::kU8);
}

TEST(BoolArithmetic, IsLogicAsInPyTorch) {
  const Tensor a = Tensor::from({false, false, true, true}),
               b = Tensor::from({false, true, false, true});
  const Bools either{false, true, true, true}, both{false, false, false, true};
  EXPECT_EQ(bools(a + b), either);
  EXPECT_EQ(bools(maximum(a, b)), either);
  EXPECT_EQ(bools(a * b), both);
  EXPECT_EQ(bools(minimum(a, b)), both);
  EXPECT_EQ(bools(sign(a)), bools(a));
  EXPECT_EQ(bools(bitwise_not(a * b)), (Bools{true, true, true, false}));
  const Tensor x = Tensor::from({10.f, 20.f, 30.f, 40.f});
  EXPECT_EQ(index(x, {a * b}).to_vector<float>(), Values{40});
  EXPECT_EQ(bools(transpose(unsqueeze(a, 0), 0, 1) * b),
            (Bools{false, false, false, false, false, false, false, false,  //
                   false, true, false, true, false, true, false, true}));
  EXPECT_ERROR(a + Tensor::from({true, false, true}), kShapeMismatch, "add: ");
  EXPECT_ERROR(a * Tensor(), kInvalidArgument, "mul: an operand is an empty Tensor()");
}

TEST(BoolArithmetic, TakesTruthValues) {
  const Tensor a = Tensor::from({false, true});
  EXPECT_EQ(bools(a + true), (Bools{true, true}));
  EXPECT_EQ(bools(false + a), (Bools{false, true}));
  EXPECT_EQ(bools(a * false), (Bools{false, false}));
  EXPECT_EQ(bools(maximum(a, true)), (Bools{true, true}));
  EXPECT_EQ(bools(minimum(a, true)), (Bools{false, true}));
  EXPECT_EQ(bools(bitwise_and(a, true)), (Bools{false, true}));
  EXPECT_EQ(bools(eq(a, true)), (Bools{false, true}));
  Var target(Tensor::from({false, true}), false);
  add_(target, true);
  EXPECT_EQ(bools(target.tensor()), (Bools{true, true}));
}

TEST(BoolArithmetic, BesideAnotherKindIsThatKinds) {
  const Tensor a = Tensor::from({false, true});
  EXPECT_EQ((a + 1).to_vector<int64>(), (std::vector<int64>{1, 2}));
  EXPECT_EQ((a * 0.5).to_vector<float>(), (Values{0, 0.5f}));
  EXPECT_EQ((a + Tensor::from(std::vector<uint8>{1, 255})).to_vector<uint8>(),
            (std::vector<uint8>{1, 0}));
  EXPECT_EQ((Tensor::from(std::vector<int8>{5}) * true).dtype(), DType::kI8);
  EXPECT_EQ((Tensor::from(Values{5}) + true).to_vector<float>(), Values{6});
  EXPECT_EQ((a - a).dtype(), DType::kI64);
  EXPECT_EQ((a - true).to_vector<int64>(), (std::vector<int64>{-1, 0}));
  EXPECT_EQ(abs(a).dtype(), DType::kI64);
}

TEST(Comparisons, OfIntegersAreExact) {
  const int64 large = int64{1} << 53;
  const Tensor a = Tensor::from(std::vector<int64>{large}),
               b = Tensor::from(std::vector<int64>{large + 1});
  EXPECT_EQ(bools(lt(a, b)), Bools{true});
  EXPECT_EQ(bools(eq(a, b)), Bools{false});
}

TEST(Comparisons, AreOffTheTape) {
  const Var x(Tensor::from(Values{1, 2}));
  EXPECT_FALSE(lt(x, x).requires_grad());
}

TEST(Comparisons, RejectWhatDoesNotFit) {
  const Tensor a = Tensor::from(Values{1, 2}), b = Tensor::from(Values{1, 2, 3});
  EXPECT_ERROR(lt(a, b), kShapeMismatch, "lt: ");
  EXPECT_ERROR(eq(a, {}), kInvalidArgument, "eq: an operand is an empty Tensor()");
  EXPECT_ERROR(ge(a, a.to(Device::emulated(32))), kDeviceMismatch, "ge: ");
}

TEST(Where, ChoosesAndBroadcasts) {
  const Tensor condition = Tensor::from(Values{0, 1, kNan}, Shape{3, 1});  // NaN is not 0
  const Tensor a = Tensor::from(Values{1, 2});
  EXPECT_EQ(where(condition, a, Tensor::from(Values{9}, Shape{})).to_vector<float>(),
            (Values{9, 9, 1, 2, 1, 2}));
  EXPECT_EQ(where(condition, a, -3).to_vector<float>(), (Values{-3, -3, 1, 2, 1, 2}));
}

TEST(Where, WhatIsNotChosenDoesNotMatter) {
  const Var x(Tensor::from(Values{4, -1}));
  const Tensor y = where(gt(x, zeros({2})), sqrt(x), Tensor::from(Values{7, 7}));
  EXPECT_EQ(y.to_vector<float>(), (Values{2, 7}));
  const Tensor other = where(gt(x, zeros({2})), x.tensor() * 3, 0);
  backward(sum(other));
  EXPECT_EQ(x.grad().to_vector<float>(), (Values{3, 0}));
}

TEST(Where, PromotesTheChoices) {
  const Tensor yes = Tensor::from(std::vector<int32>{1, 2}), no = Tensor::from(Values{0.5f, 0.5f});
  const Tensor y = where(Tensor::from(Values{1, 0}), yes, no);
  EXPECT_EQ(y.to_vector<float>(), (Values{1, 0.5f}));
}

TEST(Where, RejectsWhatDoesNotFit) {
  const Tensor a = Tensor::from(Values{1, 2}), b = Tensor::from(Values{1, 2, 3});
  EXPECT_ERROR(where(a, a, b), kShapeMismatch, "where: ");
  EXPECT_ERROR(where(b, a, a), kShapeMismatch, "where: ");
  EXPECT_ERROR(where({}, a, a), kInvalidArgument, "where: an operand is an empty Tensor()");
  EXPECT_ERROR(where(a, a, {}), kInvalidArgument, "where: an operand is an empty Tensor()");
  EXPECT_ERROR(where(a.to(Device::emulated(32)), a, a), kDeviceMismatch, "where: ");
}

Values slope(Tensor (*f)(const Tensor&), const Values& at) {
  const Var x(Tensor::from(at));
  backward(sum(f(x)));
  return x.grad().to_vector<float>();
}

TEST(Slopes, AtKinksAreThoseOfTheConventions) {
  EXPECT_EQ(slope([](const Tensor& x) { return relu(x); }, {-1, 0, 2}), (Values{0, 0, 1}));
  EXPECT_EQ(slope([](const Tensor& x) { return wick::abs(x); }, {-1, 0, 2}), (Values{-1, 0, 1}));
  EXPECT_EQ(slope([](const Tensor& x) { return minimum(x, 1); }, {0, 1, 2}), (Values{1, 0.5f, 0}));
  EXPECT_EQ(slope([](const Tensor& x) { return clamp(x, {.min = -1, .max = 1}); }, {-2, -1, 0, 1}),
            (Values{0, 0, 1, 0}));
  EXPECT_EQ(slope([](const Tensor& x) { return leaky_relu(x, 0.25); }, {-1, 0, 1}),
            (Values{0.25f, 0.25f, 1}));
  EXPECT_EQ(slope([](const Tensor& x) { return wick::round(x); }, {0.4f, 0.5f}), (Values{0, 0}));
  EXPECT_EQ(slope([](const Tensor& x) { return softplus(x); }, {0}), (Values{0.5f}));
}

TEST(Powers, OfNegativeBasesAndOfZero) {
  const Tensor base = Tensor::from(Values{-2, -2, 0, 0, -8}),
               power = Tensor::from(Values{3, 2, 0, 2, -1});
  EXPECT_EQ(pow(base, power).to_vector<float>(), (Values{-8, 4, 1, 0, -0.125f}));
  const Var x(Tensor::from(Values{-2, 0}));
  backward(sum(pow(x, 2)));
  EXPECT_EQ(x.grad().to_vector<float>(), (Values{-4, 0}));
  const Var y(Tensor::from(Values{0, 2}));
  backward(sum(pow(Tensor::from(Values{0, 1}), y)));
  EXPECT_EQ(y.grad().to_vector<float>(), (Values{0, 0}));
}

TEST(Integers, DivideByNumbersInFloats) {
  const Tensor x = Tensor::from(std::vector<int32>{1, 2, 3});
  EXPECT_EQ((x / 2.0).to_vector<float>(), (Values{0.5f, 1, 1.5f}));
  EXPECT_EQ((x / 2).to_vector<float>(), (Values{0.5f, 1, 1.5f}));
  EXPECT_EQ(mean(x).item<float>(), 2);
}

TEST(Integers, ComputeFunctionsInFloats) {
  const Tensor x = Tensor::from(std::vector<int64>{0, 1});
  for (const auto f : {wick::exp, wick::sin, wick::erf, gelu, silu, sqrt, reciprocal})
    EXPECT_EQ(f(x).dtype(), DType::kF32);
  EXPECT_EQ(wick::exp(x).to_vector<float>()[0], 1);
  EXPECT_EQ(wick::floor(x).dtype(), DType::kI64);
  EXPECT_EQ(square(neg(x)).to_vector<int64>(), (std::vector<int64>{0, 1}));
}

TEST(Integers, HaveAnAnswerForEveryDivisor) {
  const int32 lowest = std::numeric_limits<int32>::lowest();
  const Tensor a = Tensor::from(std::vector<int32>{7, -7, lowest, -7}),
               b = Tensor::from(std::vector<int32>{0, 0, -1, 2});
  EXPECT_EQ(floor_divide(a, b).to_vector<int32>(), (std::vector<int32>{0, 0, lowest, -4}));
  EXPECT_EQ(remainder(a, b).to_vector<int32>(), (std::vector<int32>{0, 0, 0, 1}));
  EXPECT_EQ(fmod(a, b).to_vector<int32>(), (std::vector<int32>{0, 0, 0, -1}));
}

TEST(Promotion, FindsTheNarrowestIntegerThatHoldsBoth) {
  const auto promoted = [](DType a, DType b) {
    return (ones({1}, {.dtype = a}) + ones({1}, {.dtype = b})).dtype();
  };
  EXPECT_EQ(promoted(DType::kU8, DType::kI8), DType::kI16);
  EXPECT_EQ(promoted(DType::kI16, DType::kU8), DType::kI16);
  EXPECT_EQ(promoted(DType::kU16, DType::kI16), DType::kI32);
  EXPECT_EQ(promoted(DType::kU32, DType::kI8), DType::kI64);
  EXPECT_EQ(promoted(DType::kU64, DType::kU8), DType::kU64);
  EXPECT_EQ(promoted(DType::kU64, DType::kF16), DType::kF16);
  EXPECT_ERROR(promoted(DType::kU64, DType::kI64), kDTypeMismatch,
               "u64 and i64 have no common integer dtype: cast one of them");
}

TEST(Comparisons, WithNumbersThatTheDtypeDoesNotHold) {
  const Tensor small = Tensor::from(std::vector<uint8>{0, 44, 255});
  EXPECT_EQ(bools(lt(small, 300)), (Bools{true, true, true}));
  EXPECT_EQ(bools(eq(small, 300)), (Bools{false, false, false}));
  EXPECT_EQ(bools(gt(small, -1)), (Bools{true, true, true}));
  const Tensor large = Tensor::from(std::vector<uint64>{0, ~uint64(0)});
  EXPECT_EQ(bools(gt(large, -1)), (Bools{true, true}));
  EXPECT_EQ(bools(eq(large, ~uint64(0))), (Bools{false, true}));
  const Tensor whole = Tensor::from(std::vector<int64>{-1, INT64_MAX});
  EXPECT_EQ(bools(lt(whole, uint64(1) << 63)), (Bools{true, true}));
  EXPECT_EQ(bools(eq(whole, ~uint64(0))), (Bools{false, false}));
  EXPECT_EQ(bools(ne(whole, ~uint64(0))), (Bools{true, true}));
}

TEST(Bits, AreOfIntegersAndBools) {
  const Tensor a = Tensor::from(std::vector<int32>{12, -1}), half = Tensor::from(Values{0.5f});
  EXPECT_EQ(bitwise_and(a, 10).to_vector<int32>(), (std::vector<int32>{8, 10}));
  EXPECT_EQ(bitwise_left_shift(a, 40).to_vector<int32>(), (std::vector<int32>{0, 0}));
  EXPECT_EQ(bitwise_right_shift(a, -1).to_vector<int32>(), (std::vector<int32>{0, -1}));
  const Tensor yes = gt(a, 0);
  EXPECT_EQ(bools(bitwise_not(yes)), (Bools{false, true}));
  EXPECT_ERROR(bitwise_or(a, half), kDTypeMismatch, "bitwise_or: expected integers, got f32");
  EXPECT_ERROR(bitwise_not(half), kDTypeMismatch, "bitwise_not: expected integers, got f32");
}

TEST(MaskedFill, WantsAMaskThatFits) {
  const Tensor x = zeros({2, 3});
  EXPECT_ERROR(masked_fill(x, zeros({3}), 1), kDTypeMismatch, "expected a mask of bool, got f32");
  EXPECT_ERROR(masked_fill(x, ones({4, 2, 3}, {.dtype = DType::kBool}), 1), kShapeMismatch,
               "masked_fill: a mask [4, 2, 3] does not broadcast to [2, 3]");
}

TEST(Softplus, WantsABeta) {
  EXPECT_ERROR(softplus(zeros({1}), 0), kInvalidArgument, "expected a beta other than 0");
}

TEST(Polygamma, WantsAnOrderThatItHas) {
  EXPECT_ERROR(polygamma(-1, zeros({1})), kInvalidArgument,
               "polygamma: expected an order in [0, 170], got -1");
  EXPECT_ERROR(polygamma(171, zeros({1})), kInvalidArgument, "polygamma: ");
}

TEST(Polygamma, NeitherOverflowsNorVanishesOnTheWay) {
  // 170! is 7e306, 1000^-171 1e-513. By 60 decimals.
  for (const auto& [order, x, expected] : {std::tuple{170, 1000.0, -4.642275481885541e-206},
                                           {170, 96.0, -9.411374856783828e-33},
                                           {40, 3.0, -2.2370562304678765e+28},
                                           {5, 0.25, 491552.5137676813}}) {
    const double y = polygamma(order, full({}, x, {.dtype = DType::kF64})).item<double>();
    EXPECT_NEAR(y, expected, std::abs(expected) * 2 * (order + 4) * 0x1p-52) << order << ' ' << x;
  }
}

TEST(Lgamma, HasEveryDerivative) {
  const Var x(Tensor::from(std::vector<double>{0.7, 2.5, -1.3}));
  Tensor y = lgamma(x);
  for (int order = 0; order < 5; order++) {
    y = grad(sum(y), {x}, {.create_graph = true})[0];
    EXPECT_EQ(y.to_vector<double>(), polygamma(order, x.tensor().detach()).to_vector<double>());
  }
}

}  // namespace
}  // namespace wick
