// scalar/precise.h against the C library's long double: what cards compute by it they compute bit for bit as here.
#include "scalar/precise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace wick::precise {
namespace {

using Real = long double;

/// The error of y in ulp of T; 1e9 for another infinity, NaN or sign of 0.
template <class T>
double error(T y, Real expected) {
  using Limits = std::numeric_limits<T>;
  constexpr double kWrong = 1e9;
  const bool is_infinite =
      std::fabs(expected) >=
      Real(Limits::max()) + std::ldexp(Real(1), Limits::max_exponent - Limits::digits - 1);
  if (std::isnan(expected) || std::isnan(y))
    return std::isnan(expected) && std::isnan(y) ? 0 : kWrong;
  if (std::isinf(y) || is_infinite)
    return std::isinf(y) && is_infinite && (y > 0) == (expected > 0) ? 0 : kWrong;
  if (expected == 0 || y == 0) {
    if (std::signbit(expected) != std::signbit(y)) return kWrong;
  }
  int exponent = Limits::min_exponent;
  if (expected != 0) std::frexp(expected, &exponent);
  exponent = std::max(exponent, Limits::min_exponent);
  return double(std::fabs(expected - Real(y)) / std::ldexp(Real(1), exponent - Limits::digits));
}

/// Arguments: special ones, the range [low, high], around 0 and 1, and any bits.
template <class T>
std::vector<T> arguments(double low, double high, int seed) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> x = {T(0),
                      T(0.5),
                      T(0.75),
                      T(1),
                      T(1.5),
                      T(2),
                      T(2.5),
                      T(3),
                      T(88),
                      T(89),
                      T(104),
                      T(710),
                      T(745),
                      T(0x1p15),
                      T(0x1p16),
                      T(0x1p17),
                      T(1e9),
                      Limits::min(),
                      Limits::denorm_min(),
                      Limits::max(),
                      Limits::infinity(),
                      Limits::quiet_NaN()};
  for (std::size_t i = 0, n = x.size(); i < n; i++) x.push_back(-x[i]);
  std::mt19937_64 random{std::uint64_t(seed)};
  std::uniform_real_distribution<double> unit(0, 1);
  for (int i = 0; i < 8000; i++) {
    x.push_back(T(low + (high - low) * unit(random)));
    const double small = std::exp2(-40 * unit(random)) * (unit(random) < 0.5 ? -1 : 1);
    x.push_back(T(8 * small));
    x.push_back(T(1 + small));
    const auto bits = typename Format<T>::Bits(random());
    x.push_back(__builtin_bit_cast(T, bits));
  }
  return x;
}

struct Worst {
  double error = 0;
  std::string at = "nowhere";
  void add(double e, const std::string& where) {
    if (e > error) error = e, at = where;
  }
};

template <class T, class F, class Exact>
Worst worst_of(F f, Exact exact, double low, double high) {
  Worst worst;
  for (const T x : arguments<T>(low, high, 1))
    worst.add(error(f(x), exact(Real(x))), testing::PrintToString(x));
  return worst;
}
template <class T, class F, class Exact>
Worst worst_of_two(F f, Exact exact, double low, double high) {
  Worst worst;
  const std::vector<T> a = arguments<T>(low, high, 1), b = arguments<T>(low, high, 2);
  const auto add = [&](T x, T y) {
    worst.add(error(f(x, y), exact(Real(x), Real(y))),
              testing::PrintToString(x) + ", " + testing::PrintToString(y));
  };
  for (std::size_t i = 0; i < a.size(); i++) add(a[i], b[i]);
  for (std::size_t i = 0; i < 44; i++)
    for (std::size_t j = 0; j < 44; j++) add(a[i], b[j]);  // the special ones, each with each
  return worst;
}

TEST(Precise, Sinh) {
  const auto exact = [](Real x) { return std::sinh(x); };
  const Worst single = worst_of<float>(sinh<float>, exact, -100, 100),
              twice = worst_of<double>(sinh<double>, exact, -100, 100);
  EXPECT_LE(single.error, 1) << single.at;
  EXPECT_LE(twice.error, 1) << twice.at;
}

TEST(Precise, Cosh) {
  const auto exact = [](Real x) { return std::cosh(x); };
  const Worst single = worst_of<float>(cosh<float>, exact, -100, 100);
  const Worst twice = worst_of<double>(cosh<double>, exact, -100, 100);
  EXPECT_LE(single.error, 1) << single.at;
  EXPECT_LE(twice.error, 1) << twice.at;
}

TEST(Precise, Tanh) {
  const auto exact = [](Real x) { return std::tanh(x); };
  const Worst worst = worst_of<float>(tanh<float>, exact, -11, 11);
  EXPECT_LE(worst.error, 1.5) << worst.at;
}

TEST(Precise, Asinh) {
  const auto exact = [](Real x) { return std::asinh(x); };
  const Worst single = worst_of<float>(asinh<float>, exact, -100, 100),
              twice = worst_of<double>(asinh<double>, exact, -100, 100);
  EXPECT_LE(single.error, 1) << single.at;
  EXPECT_LE(twice.error, 1) << twice.at;
}

TEST(Precise, Acosh) {
  const auto exact = [](Real x) { return std::acosh(x); };
  const Worst single = worst_of<float>(acosh<float>, exact, 1, 100),
              twice = worst_of<double>(acosh<double>, exact, 1, 100);
  EXPECT_LE(single.error, 1) << single.at;
  EXPECT_LE(twice.error, 1) << twice.at;
}

TEST(Precise, Atanh) {
  const auto exact = [](Real x) { return std::atanh(x); };
  const Worst single = worst_of<float>(atanh<float>, exact, -1, 1),
              twice = worst_of<double>(atanh<double>, exact, -1, 1);
  EXPECT_LE(single.error, 1) << single.at;
  EXPECT_LE(twice.error, 1) << twice.at;
}

TEST(Precise, Asin) {
  const Worst worst = worst_of<float>(
      asin<float>, [](Real x) { return std::asin(x); }, -1, 1);
  EXPECT_LE(worst.error, 1) << worst.at;
}

TEST(Precise, TanOfSmallAndOfLargeAngles) {
  const Worst worst = worst_of<float>(
      tan<float>, [](Real x) { return std::tan(x); }, -70000, 70000);
  EXPECT_LE(worst.error, 1.5) << worst.at;
}

TEST(Precise, Erfc) {
  const auto exact = [](Real x) { return std::erfc(x); };
  const Worst single = worst_of<float>(erfc<float>, exact, -6, 12),
              twice = worst_of<double>(erfc<double>, exact, -6, 28);
  EXPECT_LE(single.error, 1.5) << single.at;
  EXPECT_LE(twice.error, 1.75) << twice.at;
}

/// Around its zeros below 0 by how far both are apart, which counts as 1 there.
template <class T>
Worst worst_lgamma() {
  Worst worst;
  for (const T x : arguments<T>(-20, 100, 1)) {
    const Real expected = std::lgamma(Real(x));
    if (x < T(-2) && std::fabs(expected) < 1)
      worst.add(double(std::fabs(Real(lgamma(x)) - expected) *
                       std::ldexp(Real(1), std::numeric_limits<T>::digits)),
                testing::PrintToString(x));
    else
      worst.add(error(lgamma(x), expected), testing::PrintToString(x));
  }
  return worst;
}
TEST(Precise, Lgamma) {
  const Worst single = worst_lgamma<float>(), twice = worst_lgamma<double>();
  EXPECT_LE(single.error, 1.75) << single.at;
  EXPECT_LE(twice.error, 1.75) << twice.at;
}

TEST(Precise, Pow) {
  const auto exact = [](Real x, Real y) { return std::pow(x, y); };
  const Worst worst = worst_of_two<float>(pow<float>, exact, -20, 20);
  EXPECT_LE(worst.error, 1) << worst.at;
}

TEST(Precise, Atan2) {
  const auto exact = [](Real y, Real x) { return std::atan2(y, x); };
  const Worst worst = worst_of_two<float>(atan2<float>, exact, -20, 20);
  EXPECT_LE(worst.error, 1.25) << worst.at;
}

}  // namespace
}  // namespace wick::precise
