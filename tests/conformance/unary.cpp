// Ops of one operand, or of one and numbers beside it.
#include "scalar/unary.h"
#include "elementwise.h"
#include "wick/ops/unary.h"

namespace wick::conformance {
namespace {

/// x rounded to an integer by f, which is for floats: an integer is its own.
template <class T, class F>
T rounded_by(T x, F f) {
  if constexpr (std::is_same_v<T, Real>)
    return f(x);
  else
    return x;
}

// A row is a line.
// clang-format off
const std::vector<UnaryRow> kUnary = {
    {Neg::op, neg, [](auto x) { return -x; }, {-100, 100}, exact()},
    {Exp::op, exp, [](Real x) { return std::exp(x); }, {-80, 80}, ulp(2), {}, {.grad_domains = {{-2, 2}}}},
    {Log::op, log, [](Real x) { return std::log(x); }, {1e-3, 1e3}, ulp(2), {}, {.grad_domains = {{0.5, 3}}}},
    {Sqrt::op, sqrt, [](Real x) { return std::sqrt(x); }, {0, 1e4}, rounded(), {}, {.grad_domains = {{0.5, 3}}}},
    {Silu::op, silu, [](Real x) { return x / (1 + std::exp(-x)); }, {-20, 20}, ulp(4), edge(6, "below -64 the composite takes two exponentials"), {.fused = true}},
    {Abs::op, abs, [](auto x) { return x < 0 ? -x : x + 0; }, {-100, 100}, exact(), {}, {.grad_domains = {either_sign(0.1, 3)}}},
    {Sign::op, sign, [](auto x) { return x != x || x == 0 ? x : decltype(x)(x > 0 ? 1 : -1); }, {-100, 100}, exact(), {}, {.grad_domains = {either_sign(0.1, 3)}}},
    {Relu::op, relu, [](auto x) { return x < 0 ? decltype(x)(0) : x; }, {-100, 100}, exact(), {}, {.grad_domains = {either_sign(0.1, 3)}}},
    {Reciprocal::op, reciprocal, [](Real x) { return 1 / x; }, {-100, 100}, rounded(), {}, {.grad_domains = {either_sign(0.5, 3)}}},
    {Square::op, square, [](auto x) { return product(x, x); }, {-100, 100}, rounded()},
    {Rsqrt::op, rsqrt, [](Real x) { return 1 / std::sqrt(x); }, {1e-3, 1e3}, ulp(2), {}, {.grad_domains = {{0.5, 3}}}},
    {Exp2::op, exp2, [](Real x) { return std::exp2(x); }, {-100, 100}, ulp(2)},
    {Expm1::op, expm1, [](Real x) { return std::expm1(x); }, {-80, 80}, ulp(2), {}, {.grad_domains = {{-2, 2}}}},
    {Log2::op, log2, [](Real x) { return std::log2(x); }, {1e-3, 1e3}, ulp(2), {}, {.grad_domains = {{0.5, 3}}}},
    {Log10::op, log10, [](Real x) { return std::log10(x); }, {1e-3, 1e3}, ulp(2), {}, {.grad_domains = {{0.5, 3}}}},
    {Log1p::op, log1p, [](Real x) { return std::log1p(x); }, {-0.9, 1e3}, ulp(2), {}, {.grad_domains = {{-0.5, 3}}}},
    {Sin::op, sin, [](Real x) { return std::sin(x); }, {-100, 100}, ulp(2)},
    {Cos::op, cos, [](Real x) { return std::cos(x); }, {-100, 100}, ulp(2)},
    {Tan::op, tan, [](Real x) { return std::tan(x); }, {-100, 100}, ulp(2), {}, {.grad_domains = {{-1, 1}}}},
    {Asin::op, asin, [](Real x) { return std::asin(x); }, {-1, 1}, ulp(2), {}, {.grad_domains = {{-0.9, 0.9}}}},
    {Acos::op, acos, [](Real x) { return std::acos(x); }, {-1, 1}, ulp(2), {}, {.grad_domains = {{-0.9, 0.9}}}},
    {Atan::op, atan, [](Real x) { return std::atan(x); }, {-100, 100}, ulp(2)},
    {Sinh::op, sinh, [](Real x) { return std::sinh(x); }, {-80, 80}, ulp(2), edge(4, "above 80 from the square of an exponential")},
    {Cosh::op, cosh, [](Real x) { return std::cosh(x); }, {-80, 80}, ulp(2), edge(4, "above 80 from the square of an exponential")},
    {Tanh::op, tanh, [](Real x) { return std::tanh(x); }, {-20, 20}, ulp(2)},
    {Asinh::op, asinh, [](Real x) { return std::asinh(x); }, {-100, 100}, ulp(2)},
    {Acosh::op, acosh, [](Real x) { return std::acosh(x); }, {1, 100}, ulp(2), {}, {.grad_domains = {{1.5, 3}}}},
    {Atanh::op, atanh, [](Real x) { return std::atanh(x); }, {-1, 1}, ulp(2), {}, {.grad_domains = {{-0.8, 0.8}}}},
    {Erf::op, erf, [](Real x) { return std::erf(x); }, {-5, 5}, ulp(2)},
    {Erfc::op, erfc, [](Real x) { return std::erfc(x); }, {-5, 9}, ulp(2)},
    {Lgamma::op, lgamma, [](Real x) { return std::lgamma(x); }, {0.1, 100}, ulp(2), {}, {.grad_domains = {either_sign(1.2, 1.8)}}},
    {Trigamma::op, trigamma, reference::trigamma, {0.1, 100}, ulp(8), {}, {.grad_domains = {either_sign(1.2, 1.8)}}},
    {Sigmoid::op, sigmoid, [](Real x) { return 1 / (1 + std::exp(-x)); }, {-80, 80}, ulp(4)},
    {Gelu::op, gelu, [](Real x) { return x / 2 * std::erfc(-x * std::sqrt(Real(0.5))); }, {-4, 20}, ulp(24), edge(300, "below -4 the rounded argument of erfc counts x^2 times")},
    {GeluTanh::op, gelu_tanh, [](Real x) { return x / (1 + std::exp(-2 * std::sqrt(2 / std::acos(Real(-1))) * (x + 0.044715L * x * x * x))); }, {-4, 20}, ulp(32), edge(300, "below -4 the rounded argument of exp counts as much as it is large")},
    {Softsign::op, softsign, [](Real x) { return std::isinf(x) ? std::copysign(Real(1), x) : x / (1 + std::abs(x)); }, {-100, 100}, ulp(2), {}, {.grad_domains = {either_sign(0.1, 3)}}},
    {Floor::op, wick::floor, [](auto x) { return rounded_by(x, [](Real r) { return std::floor(r); }); }, {-100, 100}, exact(), {}, {.grad_domains = {either_sign(1.1, 1.4)}}},
    {Ceil::op, wick::ceil, [](auto x) { return rounded_by(x, [](Real r) { return std::ceil(r); }); }, {-100, 100}, exact(), {}, {.grad_domains = {either_sign(1.1, 1.4)}}},
    {Round::op, wick::round, [](auto x) { return rounded_by(x, [](Real r) { return std::nearbyint(r); }); }, {-100, 100}, exact(), {}, {.grad_domains = {either_sign(1.1, 1.4)}}},
    {Trunc::op, wick::trunc, [](auto x) { return rounded_by(x, [](Real r) { return std::trunc(r); }); }, {-100, 100}, exact(), {}, {.grad_domains = {either_sign(1.1, 1.4)}}},
};

const std::vector<WithNumberRow> kWithNumber = {
    {"affine", Affine::op, [](Tensor x) { return affine(std::move(x), 2.5, 1); }, [](Real x) { return x * 2.5L + 1; }, {0.1, 100}, ulp(2)},
    {"elu", Elu::op, [](Tensor x) { return elu(std::move(x), 1.5); }, [](Real x) { return x < 0 ? 1.5L * std::expm1(x) : x; }, {-20, 20}, ulp(3), {}, {.grad_domains = {either_sign(0.1, 3)}}},
    {"leaky_relu", LeakyRelu::op, [](Tensor x) { return leaky_relu(std::move(x), 0.25); }, [](Real x) { return x < 0 ? 0.25L * x : x; }, {-100, 100}, rounded(), {}, {.grad_domains = {either_sign(0.1, 3)}}},
    {"softplus", Softplus::op, [](Tensor x) { return softplus(x, 2, 8); }, [](Real x) { return x * 2 > 8 ? x : (std::max<Real>(x * 2, 0) + std::log1p(std::exp(-std::abs(x * 2)))) / 2; }, {-20, 20}, ulp(3), {}, {.grad_domains = {{-3, 3}}}},
};
// clang-format on

/// Around its zeros digamma is a difference of larger terms: below 0 of digamma above 1 and of a
/// cotangent, which cancel.
Row digamma_row() {
  Row row = row_of(UnaryRow{Digamma::op,
                            digamma,
                            reference::digamma,
                            {-50, 100},
                            condition(4),
                            {},
                            {.grad_domains = {either_sign(1.2, 1.8)}}});
  row.reference = [formula = Formula(reference::digamma)](const std::vector<Array>& x,
                                                          const Case&) {
    Result result = formula(x, false);
    const Array in = reference::convert(x[0], result.array.dtype);
    for (std::size_t i = 0; i < in.values.size(); i++) {
      const Real at = in.values[i], y = result.array.values[i];
      const Real above = at < 0 ? reference::digamma(1 - at) : 0;
      result.magnitude.push_back(1 + std::fabs(above) + std::fabs(y - above));
    }
    return result;
  };
  return row;
}

Row bitwise_not_row() {
  Row row = row_of(UnaryRow{BitwiseNot::op,
                            [](Tensor x) { return bitwise_not(std::move(x)); },
                            [](auto x) { return -1 - x; },
                            {-100, 100},
                            exact(),
                            {},
                            {.differentiable = false}});
  row.dtypes.clear();
  for (const DType dtype : kIntegers) row.dtypes.push_back({dtype});
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"unary">() {
  std::vector<Row> rows;
  for (const UnaryRow& u : kUnary) rows.push_back(row_of(u));
  for (const WithNumberRow& w : kWithNumber) rows.push_back(row_of(w));
  rows.push_back(digamma_row());
  rows.push_back(bitwise_not_row());
  return rows;
}

}  // namespace wick::conformance
