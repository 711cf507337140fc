// Elementwise ops that candle's BackendStorage does not have, and those in place.
#include <cmath>

#include "rows.h"

namespace wick::test {
namespace {

constexpr double kNan = NAN, kInf = HUGE_VAL;
const double kPi = std::acos(-1.0);
const double kZeta3 = 1.2020569031595943;  // the sum of k^-3

using X = const Tensor&;

/// Runs f over x = -1.5, 0, 0.5, 2, in its memory.
Run over(std::function<void(Var&)> f) {
  return [f](const Device& d) {
    Var x(floats(d, {-1.5f, 0, 0.5f, 2}), false);
    f(x);
    return values(x.tensor());
  };
}
/// Runs f of x = 1, 2, 0.5, 3.
Run of_positive(std::function<Tensor(const Tensor&)> f) {
  return [f](const Device& d) { return values(f(floats(d, {1, 2, 0.5f, 3}))); };
}
/// f of -1.5, 0, 0.5, 2.
std::vector<double> each(double (*f)(double)) { return {f(-1.5), f(0), f(0.5), f(2)}; }

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
/// The gradient through silu at x.
double silu_slope(double x) { return logistic(x) * (1 + x * (1 - logistic(x))); }

std::vector<SurfaceRow> unary_rows() {
  return {
      row_of("rsqrt", of_positive([](X x) { return rsqrt(x); }),
             {1, std::sqrt(0.5), std::sqrt(2.0), std::sqrt(1 / 3.0)}),
      row_of("exp2", of_one([](X x) { return exp2(x); }), each(std::exp2)),
      row_of("expm1", of_one([](X x) { return expm1(x); }), each(std::expm1)),
      row_of("log2", of_one([](X x) { return log2(x); }), each(std::log2)),
      row_of("log10", of_one([](X x) { return log10(x); }), each(std::log10)),
      row_of("log1p", of_one([](X x) { return log1p(x); }), each(std::log1p)),
      row_of("tan", of_one([](X x) { return tan(x); }), each(std::tan)),
      row_of("asin", of_one([](X x) { return asin(x); }), each(std::asin)),
      row_of("acos", of_one([](X x) { return acos(x); }), each(std::acos)),
      row_of("atan", of_one([](X x) { return atan(x); }), each(std::atan)),
      row_of("sinh", of_one([](X x) { return sinh(x); }), each(std::sinh)),
      row_of("cosh", of_one([](X x) { return cosh(x); }), each(std::cosh)),
      row_of("asinh", of_one([](X x) { return asinh(x); }), each(std::asinh)),
      row_of("acosh", of_one([](X x) { return acosh(x); }), each(std::acosh)),
      row_of("atanh", of_one([](X x) { return atanh(x); }), each(std::atanh)),
      row_of("erfc", of_one([](X x) { return erfc(x); }), each(std::erfc)),
      row_of("lgamma", of_one([](X x) { return lgamma(x); }), each(std::lgamma)),
      row_of("digamma", of_positive([](X x) { return digamma(x); }),
             {-0.5772156649015329, 0.4227843350984671, -1.9635100260214235, 0.9227843350984671}),
      row_of("trigamma", of_positive([](X x) { return trigamma(x); }),
             {kPi * kPi / 6, kPi * kPi / 6 - 1, kPi * kPi / 2, kPi * kPi / 6 - 1.25}),
      row_of("polygamma", of_positive([](X x) { return polygamma(2, x); }),
             {-2 * kZeta3, 2 - 2 * kZeta3, -14 * kZeta3, 2 + 0.25 - 2 * kZeta3}),
      row_of("softsign", of_one([](X x) { return softsign(x); }), {-0.6, 0, 1 / 3.0, 2 / 3.0}),
      row_of("leaky_relu", of_one([](X x) { return leaky_relu(x, 0.5); }), {-0.75, 0, 0.5, 2}),
      row_of("softplus", of_one([](X x) { return softplus(x); }),
             each([](double x) { return std::log1p(std::exp(x)); })),
      row_of("trunc", of_one([](X x) { return trunc(x); }), {-1, 0, 0, 2}),
      row_of("frac", of_one([](X x) { return frac(x); }), {-0.5, 0, 0.5, 0}),
      row_of("clamp", of_one([](X x) { return clamp(x, {.min = -1, .max = 1}); }), {-1, 0, 0.5, 1}),
      row_of("masked_fill", of_one([](X x) { return masked_fill(x, lt(x, 0), 7); }),
             {7, 0, 0.5, 2}),
      row_of("isnan", of_one([](X x) { return isnan(log(x)); }), {1, 0, 0, 0}),
      row_of("isinf", of_one([](X x) { return isinf(log(x)); }), {0, 1, 0, 0}),
      row_of("isfinite", of_one([](X x) { return isfinite(log(x)); }), {0, 0, 1, 1}),
      row_of("logical_and", of_one([](X x) { return logical_and(x, x - 2); }), {1, 0, 1, 0}),
      row_of("logical_or", of_one([](X x) { return logical_or(x, x * 0); }), {1, 0, 1, 1}),
      row_of("logical_xor", of_one([](X x) { return logical_xor(x, x - 2); }), {0, 1, 0, 1}),
      row_of("logical_not", of_one([](X x) { return logical_not(x); }), {0, 1, 0, 0}),
  };
}

std::vector<SurfaceRow> binary_rows() {
  return {
      row_of("maximum_share", of_two([](X a, X b) { return maximum_share(a, b); }), {1, 0, 0.5}),
      row_of("fmod", of_two([](X a, X b) { return fmod(a, b); }), {2, -2, 0}),
      row_of("floor_divide", of_two([](X a, X b) { return floor_divide(a, b); }), {1, -2, 1}),
      row_of("atan2", of_two([](X a, X b) { return atan2(a, b); }),
             {std::atan2(5, 3), std::atan2(-5, 3), kPi / 4}),
      row_of("lerp", of_two([](X a, X b) { return lerp(a, b, 0.5); }), {4, -1, 2.5}),
      row_of("addcmul", of_two([](X a, X b) { return addcmul(a, a, b, 2); }), {35, -35, 15}),
      row_of("addcdiv", of_two([](X a, X b) { return addcdiv(a, b, b, 2); }), {7, -3, 4.5}),
      row_of("hypot", of_two([](X a, X b) { return hypot(a, b); }),
             {std::sqrt(34.0), std::sqrt(34.0), std::sqrt(12.5)}),
      row_of("logaddexp", of_two([](X a, X b) { return logaddexp(a, b); }),
             {5 + std::log1p(std::exp(-2)), 3 + std::log1p(std::exp(-8)), 2.5 + std::log(2)}),
      row_of("swiglu", of_two([](X a, X b) { return swiglu(a, b); }),
             {15 * logistic(5), -15 * logistic(-5), 6.25 * logistic(2.5)}),
      row_of("silu_gradient", of_two([](X a, X b) { return silu_gradient(a, b); }),
             {5 * silu_slope(3), -5 * silu_slope(3), 2.5 * silu_slope(2.5)}),
      row_of("bitwise_not", of_integers([](X a, X) { return bitwise_not(a); }), {-13, -11}),
      row_of("bitwise_left_shift", of_integers([](X a, X) { return bitwise_left_shift(a, 2); }),
             {48, 40}),
      row_of("bitwise_right_shift", of_integers([](X a, X) { return bitwise_right_shift(a, 2); }),
             {3, 2}),
  };
}

std::vector<SurfaceRow> inplace_rows() {
  const auto ones_of = [](const Var& x) { return ones_like(x.tensor()); };
  return {
      row_of("zero_", over([](Var& x) { zero_(x); }), {0, 0, 0, 0}),
      row_of("copy_", over([=](Var& x) { copy_(x, ones_of(x)); }), {1, 1, 1, 1}),
      row_of("add_", over([=](Var& x) { add_(x, ones_of(x)); }), {-0.5, 1, 1.5, 3}),
      row_of("sub_", over([=](Var& x) { sub_(x, ones_of(x)); }), {-2.5, -1, -0.5, 1}),
      row_of("mul_", over([](Var& x) { mul_(x, 2); }), {-3, 0, 1, 4}),
      row_of("div_", over([](Var& x) { div_(x, 2); }), {-0.75, 0, 0.25, 1}),
      row_of("maximum_", over([=](Var& x) { maximum_(x, ones_of(x)); }), {1, 1, 1, 2}),
      row_of("minimum_", over([=](Var& x) { minimum_(x, ones_of(x)); }), {-1.5, 0, 0.5, 1}),
      row_of("pow_", over([](Var& x) { pow_(x, 2); }), {2.25, 0, 0.25, 4}),
      row_of("clamp_", over([](Var& x) { clamp_(x, {.min = -1, .max = 1}); }), {-1, 0, 0.5, 1}),
      row_of("masked_fill_", over([](Var& x) { masked_fill_(x, lt(x.tensor(), 0), 7); }),
             {7, 0, 0.5, 2}),
      row_of("lerp_", over([=](Var& x) { lerp_(x, ones_of(x), 0.5); }), {-0.25, 0.5, 0.75, 1.5}),
      row_of("neg_", over([](Var& x) { neg_(x); }), {1.5, 0, -0.5, -2}),
      row_of("abs_", over([](Var& x) { abs_(x); }), {1.5, 0, 0.5, 2}),
      row_of("exp_", over([](Var& x) { exp_(x); }), each(std::exp)),
      row_of("log_", over([](Var& x) { log_(x); }), {kNan, -kInf, std::log(0.5), std::log(2)}),
      row_of("sqrt_", over([](Var& x) { sqrt_(x); }), {kNan, 0, std::sqrt(0.5), std::sqrt(2)}),
      row_of("relu_", over([](Var& x) { relu_(x); }), {0, 0, 0.5, 2}),
      row_of("sigmoid_", over([](Var& x) { sigmoid_(x); }), each(logistic)),
      row_of("tanh_", over([](Var& x) { tanh_(x); }), each(std::tanh)),
      row_of("floor_", over([](Var& x) { floor_(x); }), {-2, 0, 0, 2}),
      row_of("ceil_", over([](Var& x) { ceil_(x); }), {-1, 0, 1, 2}),
      row_of("round_", over([](Var& x) { round_(x); }), {-2, 0, 0, 2}),
  };
}

}  // namespace

std::vector<SurfaceRow> elementwise_rows() {
  std::vector<SurfaceRow> rows = unary_rows();
  for (auto* more : {binary_rows, inplace_rows})
    for (SurfaceRow& row : more()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace wick::test
