// wick/abi/numbers.h against tests/reference/formats.h, which finds the same by frexp and ldexp:
// every pattern, every midpoint.
#include "wick/abi/numbers.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "reference/formats.h"

namespace wick {
namespace {

using reference::Real;

template <class T>
struct Format : testing::Test {
  static constexpr DType dtype = kDTypeOf<T>;
  static constexpr unsigned kPatterns = 1u << (8 * sizeof(T));
  static T from_bits(unsigned bits) {
    T x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
  }
  static Real value(unsigned bits) { return reference::decode(dtype, &bits); }
  /// What the reference rounds x to, as bits; NaN as one pattern.
  static unsigned expected_bits(Real x) {
    unsigned bits = 0;
    reference::encode(dtype, reference::round_to_format(dtype, x), &bits);
    return bits;
  }
};
using Narrow = testing::Types<f16, bf16, f8e4m3, f8e5m2>;
TYPED_TEST_SUITE(Format, Narrow);

bool same(Real a, Real b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

/// Rounds x, a double, by way of the double and, where x is a float too, by way of the float.
template <class T>
void expect_rounds(double x) {
  const unsigned expected = Format<T>::expected_bits(x);
  const unsigned got = round_to<T>(x).bits;
  const bool is_nan = std::isnan(Format<T>::value(expected));
  ASSERT_EQ(std::isnan(Format<T>::value(got)), is_nan) << x;
  if (!is_nan) {
    ASSERT_EQ(got, expected) << x;
  }
  if (const float narrow = float(x); double(narrow) == x || std::isnan(x)) {
    const unsigned from_float = round_to<T>(narrow).bits;
    ASSERT_EQ(std::isnan(Format<T>::value(from_float)), is_nan) << x;
    if (!is_nan) {
      ASSERT_EQ(from_float, expected) << x << " as a float";
    }
  }
}

TYPED_TEST(Format, EveryPatternHasTheReferencesValue) {
  for (unsigned bits = 0; bits < TestFixture::kPatterns; bits++) {
    const float got = to_float(TestFixture::from_bits(bits));
    ASSERT_TRUE(same(got, TestFixture::value(bits))) << std::hex << bits << " is " << got;
  }
}

TYPED_TEST(Format, EveryValueRoundsToItself) {
  for (unsigned bits = 0; bits < TestFixture::kPatterns; bits++) {
    const Real x = TestFixture::value(bits);
    if (std::isnan(x)) continue;
    ASSERT_EQ(round_to<TypeParam>(double(x)).bits, bits);
    ASSERT_EQ(round_to<TypeParam>(float(x)).bits, bits);
  }
}

TYPED_TEST(Format, EveryMidpointAndItsNeighboursRoundToNearestEven) {
  for (unsigned bits = 0; bits + 1 < TestFixture::kPatterns; bits++) {
    const Real low = TestFixture::value(bits), high = TestFixture::value(bits + 1);
    if (!std::isfinite(low) || !std::isfinite(high) || std::signbit(low) != std::signbit(high))
      continue;
    const double middle = double((low + high) / 2);  // exact: one more bit
    const float as_float = float(middle);
    for (const double x :
         {middle, std::nextafter(middle, -1e300), std::nextafter(middle, 1e300),
          double(std::nextafter(as_float, -1e30f)), double(std::nextafter(as_float, 1e30f))}) {
      expect_rounds<TypeParam>(x);
    }
  }
}

TYPED_TEST(Format, WhatIsTooLargeOverflowsWhereTheReferenceDoes) {
  const DType dtype = TestFixture::dtype;
  const double largest = double(reference::largest(dtype)),
               half = double(reference::ulp(dtype, reference::largest(dtype)) / 2);
  for (const double sign : {1.0, -1.0}) {
    for (const double x : {largest, largest + half * 0.5, std::nextafter(largest + half, 0),
                           largest + half, std::nextafter(largest + half, 1e300),
                           largest + 2 * half, 3 * largest, 1e300, HUGE_VAL}) {
      expect_rounds<TypeParam>(sign * x);
    }
  }
}

TYPED_TEST(Format, WhatIsTooSmallBecomesZeroOfItsSign) {
  const double smallest = double(reference::smallest_subnormal(TestFixture::dtype));
  for (const double sign : {1.0, -1.0}) {
    for (const double x :
         {0.0, 5e-324, 1e-310, 1e-45, smallest / 4, std::nextafter(smallest / 2, 0), smallest / 2,
          std::nextafter(smallest / 2, 1), smallest}) {
      expect_rounds<TypeParam>(sign * x);
    }
  }
}

TYPED_TEST(Format, NanStaysNan) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_rounds<TypeParam>(nan);
  expect_rounds<TypeParam>(-nan);
  // A payload in the lowest bits alone must not become infinity.
  const float quiet = __builtin_bit_cast(float, 0x7f800001u);
  EXPECT_TRUE(std::isnan(TestFixture::value(round_to<TypeParam>(quiet).bits)));
  EXPECT_TRUE(std::isnan(TestFixture::value(
      round_to<TypeParam>(__builtin_bit_cast(double, uint64(0x7ff) << 52 | 1)).bits)));
}

TYPED_TEST(Format, RandomBitsRoundAsTheReferenceSays) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; i++) {
    const uint64 bits = random();
    expect_rounds<TypeParam>(__builtin_bit_cast(double, bits));
    expect_rounds<TypeParam>(double(__builtin_bit_cast(float, uint32(bits >> 32))));
  }
}

TEST(Conversions, AreConstants) {
  static_assert(to_float(bf16{0x3f80}) == 1 && to_float(f16{0x3c00}) == 1);
  static_assert(to_float(f8e4m3{0x38}) == 1 && to_float(f8e5m2{0x3c}) == 1);
  static_assert(round_to<f16>(65504.0).bits == 0x7bff && round_to<f8e4m3>(448.0f).bits == 0x7e);
}

}  // namespace
}  // namespace wick
