// That a wrong result is called wrong: errors planted by hand.
#include "bounds.h"

#include <gtest/gtest.h>

namespace wick::conformance {
namespace {

constexpr Real kInf = std::numeric_limits<Real>::infinity();
constexpr Real kNaN = std::numeric_limits<Real>::quiet_NaN();

Array array(DType dtype, std::vector<Real> values) {
  return {dtype, {int64_t(values.size())}, std::move(values)};
}

Comparison compared(DType dtype, std::vector<Real> got, std::vector<Real> expected, Terms terms) {
  return compare(array(dtype, std::move(got)), {array(dtype, std::move(expected)), {}, 0}, terms);
}
bool passes(DType dtype, Real got, Real expected, Terms terms) {
  return compared(dtype, {got}, {expected}, terms).passed;
}

TEST(Compare, CountsErrorsInUlpOfTheOutput) {
  const Real x = 3, ulp32 = reference::ulp(DType::kF32, x);
  const Comparison c = compared(DType::kF32, {x, x + 5 * ulp32, x}, {x, x, x}, {ulp(4)});
  EXPECT_FALSE(c.passed);
  EXPECT_EQ(c.first_wrong, 1);
  EXPECT_EQ(c.first_error, 5);
  EXPECT_EQ(c.wrong, 1);
  EXPECT_TRUE(passes(DType::kF32, x + 5 * ulp32, x, {ulp(5)}));
  const Comparison fine = compared(DType::kF32, {x - 3 * ulp32}, {x}, {ulp(4)});
  EXPECT_TRUE(fine.passed);
  EXPECT_EQ(fine.worst, 3);
}

TEST(Compare, RejectsAnotherShapeOrDType) {
  EXPECT_FALSE(compare({DType::kF32, {2, 3}, std::vector<Real>(6)},
                       {{DType::kF32, {3, 2}, std::vector<Real>(6)}, {}, 0}, {ulp(9)})
                   .passed);
  const Comparison c = compare(array(DType::kF32, {1}), {array(DType::kF64, {1}), {}, 0}, {ulp(9)});
  EXPECT_FALSE(c.passed);
  EXPECT_EQ(c.why, "expected f64[1], got f32[1]");
}

TEST(Compare, AsksForNanWhereNanIsDueAndNowhereElse) {
  EXPECT_TRUE(passes(DType::kF32, kNaN, kNaN, {ulp(4)}));
  for (const Tolerance& tolerance : {exact(), rounded(), ulp(1e9), sums(1e9), condition(1e9)}) {
    EXPECT_FALSE(passes(DType::kF32, kNaN, 1, {tolerance}));
    EXPECT_FALSE(passes(DType::kF32, 1, kNaN, {tolerance}));
    EXPECT_FALSE(passes(DType::kF16, kInf, kNaN, {tolerance}));
    EXPECT_FALSE(passes(DType::kF16, kNaN, kInf, {tolerance}));
  }
}

TEST(Compare, TellsInfinitiesApart) {
  EXPECT_TRUE(passes(DType::kF32, kInf, kInf, {exact()}));
  EXPECT_FALSE(passes(DType::kF32, -kInf, kInf, {ulp(100)}));
  EXPECT_FALSE(passes(DType::kF32, kInf, 1, {ulp(100)}));
  EXPECT_FALSE(passes(DType::kF32, reference::largest(DType::kF32), kInf, {ulp(100)}));
}

TEST(Compare, LetsWhatIsTooLargeOverflow) {
  const Real largest = reference::largest(DType::kF16), unit = reference::ulp(DType::kF16, largest);
  EXPECT_TRUE(passes(DType::kF16, kInf, 1e9, {rounded()}));
  EXPECT_TRUE(passes(DType::kF16, kInf, largest + unit / 2, {rounded()}));
  EXPECT_FALSE(passes(DType::kF16, kInf, largest + unit / 4, {rounded()}));
  EXPECT_FALSE(passes(DType::kF16, largest, 1e9, {rounded()}));
  EXPECT_TRUE(passes(DType::kF16, largest, largest + 3 * unit, {ulp(1)}));
  // f8e4m3 has NaN in infinity's place.
  EXPECT_TRUE(passes(DType::kF8E4M3, kNaN, 1e9, {rounded()}));
  EXPECT_TRUE(passes(DType::kF8E4M3, kNaN, -kInf, {rounded()}));
  EXPECT_FALSE(passes(DType::kF8E4M3, kNaN, 440, {rounded()}));
  EXPECT_FALSE(passes(DType::kF8E4M3, 448, 1e9, {rounded()}));
}

TEST(Compare, WantsTheTieThatIsEven) {
  const Real tie = 1 + std::ldexp(Real(1), -24);
  EXPECT_TRUE(passes(DType::kF32, 1, tie, {rounded()}));
  EXPECT_FALSE(passes(DType::kF32, 1 + std::ldexp(Real(1), -23), tie, {rounded()}));
  EXPECT_TRUE(passes(DType::kF32, 1 + std::ldexp(Real(1), -23), tie, {ulp(0.5)}));
}

TEST(Compare, MeasuresSubnormalsByTheirOwnStep) {
  const Real step = reference::smallest_subnormal(DType::kF32);
  EXPECT_TRUE(passes(DType::kF32, 3 * step, step, {ulp(2)}));
  EXPECT_FALSE(passes(DType::kF32, 4 * step, step, {ulp(2)}));
  EXPECT_FALSE(passes(DType::kF32, 0, 5 * step, {ulp(2)}));
}

TEST(Compare, SeesTheSignOfZeroWhereItCounts) {
  EXPECT_FALSE(passes(DType::kF32, 0, -Real(0), {.tolerance = exact(), .signed_zero = true}));
  EXPECT_TRUE(passes(DType::kF32, 0, -Real(0), {.tolerance = exact()}));
  EXPECT_FALSE(passes(DType::kF32, 0, -std::ldexp(Real(1), -200),
                      {.tolerance = ulp(1), .signed_zero = true}));
}

TEST(Compare, WantsIntegersExact) {
  const Real large = 9007199254740993;  // 2^53 + 1
  EXPECT_TRUE(passes(DType::kI64, large, large, {ulp(4)}));
  EXPECT_FALSE(passes(DType::kI64, large - 1, large, {ulp(4)}));
}

TEST(Compare, MeasuresSumsByTheirTerms) {
  const Real u = std::ldexp(Real(1), -24), unit = std::ldexp(Real(1), -23);
  const auto passed = [&](Real error) {
    return compare(array(DType::kF32, {1 + error}), {array(DType::kF32, {1}), {100}, 16}, {sums(2)})
        .passed;
  };
  EXPECT_TRUE(passed(2 * u * 100 + unit));
  EXPECT_FALSE(passed(2 * u * 100 + 1.1L * unit));
  // bf16 accumulates in f32: an error of two of its own steps is not in the terms.
  const Real step = std::ldexp(Real(1), -7);
  EXPECT_FALSE(
      compare(array(DType::kBf16, {1 + 2 * step}), {array(DType::kBf16, {1}), {4}, 4}, {sums(8)})
          .passed);
  EXPECT_TRUE(compare(array(DType::kBf16, {1 + 2 * step}), {array(DType::kBf16, {1}), {4}, 4},
                      {condition(8)})
                  .passed);
}

TEST(Compare, AllowsEachTermOfASumToUnderflow) {
  const Real step = reference::smallest_subnormal(DType::kF32);
  const auto passed = [&](Real got, int64_t terms) {
    return compare(array(DType::kF32, {got}), {array(DType::kF32, {0}), {step / 100}, terms},
                   {sums(2)})
        .passed;
  };
  EXPECT_TRUE(passed(6 * step, 10));
  EXPECT_FALSE(passed(7 * step, 10));
}

TEST(Compare, GivesTheBoundOfSumsRoomWithTheirLength) {
  EXPECT_EQ(bound_of(sums(4, 2), 1024), 24);
  EXPECT_EQ(bound_of(sums(4, 2), 0), 4);
  EXPECT_EQ(bound_of(sums(8), 1024), 8);
}

TEST(Compare, HoldsElementsAtTheEdgeToTheEdgesBoundAlone) {
  const Real x = 3, step = reference::ulp(DType::kF32, x);
  const Terms terms{.tolerance = ulp(1), .edge = Edge{6, "planted"}, .at_edge = {false, true}};
  EXPECT_TRUE(compared(DType::kF32, {x, x + 6 * step}, {x, x}, terms).passed);
  EXPECT_FALSE(compared(DType::kF32, {x + 2 * step, x}, {x, x}, terms).passed);
  EXPECT_FALSE(compared(DType::kF32, {x, x + 7 * step}, {x, x}, terms).passed);
  EXPECT_EQ(compared(DType::kF32, {x, x + 6 * step}, {x, x}, terms).worst_at_edge, 6);
}

TEST(Compare, TakesTheOtherResultElementByElementWhereThereIsOne) {
  const Result other{array(DType::kF32, {5, 6}), {}, 0};
  EXPECT_TRUE(
      compared(DType::kF32, {1, 6}, {1, 2}, {.tolerance = exact(), .or_else = &other}).passed);
  EXPECT_FALSE(
      compared(DType::kF32, {1, 7}, {1, 2}, {.tolerance = exact(), .or_else = &other}).passed);
}

}  // namespace
}  // namespace wick::conformance
