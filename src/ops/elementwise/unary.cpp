// Elementwise ops on one operand; each row of the table defines one op.
#include <cmath>
#include <numbers>

#include "base/calling.h"
#include "ops/elementwise/elementwise.h"
#include "scalar/unary.h"
#include "wick/abi/ops/unary.h"
#include "wick/ops/create.h"
#include "wick/ops/elementwise.h"

namespace wick {
namespace {

constexpr double kLn2 = std::numbers::ln2, kLn10 = std::numbers::ln10;

/// x e^min(x, 0) / (1 + e^-|x|). Below -64 the first exponential is split into two factors, because
/// it becomes subnormal before the result does.
Tensor silu_composite(const Tensor& x) {
  const Tensor wide = cast(x, computed_in(x.dtype()));
  const Tensor low = -maximum(-wide, 0), near = maximum(low, -64);
  const Tensor top = wide * exp(near) * exp(low - near);
  return cast(top / (exp(-maximum(wide, -wide)) + 1), x.dtype());
}

/// The derivative of gelu: the normal distribution function at x, plus x times the density.
Tensor gelu_slope(const Tensor& x) {
  const Tensor share = erfc(x * -std::sqrt(0.5)) * 0.5;
  return share + x * exp(square(x) * -0.5) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
}
/// The derivative of gelu_tanh, which is x s(u) with s the sigmoid and u a polynomial in x.
Tensor gelu_tanh_slope(const Tensor& x) {
  const double a = 2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi, b = 0.044715;
  const Tensor s = sigmoid((x + square(x) * x * b) * a);
  return s + x * s * (1 - s) * ((square(x) * (3 * b) + 1) * a);
}

/// The gradient of a piecewise constant function.
Tensor no_slope(const Tensor& gy, const RuleContext&) { return zeros_like(gy); }

using C = const RuleContext&;
using G = const Tensor&;
// One row per line.
// clang-format off
constexpr UnarySemantics kUnary[] = {
    {Neg::op, DTypeRule::kNumbers, kKeepNothing, [](G gy, C) { return -gy; }},
    {Exp::op, DTypeRule::kFloats, kKeepOutput, [](G gy, C c) { return gy * c.output(); }},
    {Log::op, DTypeRule::kFloats, kKeepInput0, [](G gy, C c) { return gy / c.input(0); }},
    {Sqrt::op, DTypeRule::kFloats, kKeepOutput, [](G gy, C c) { return gy / (c.output() * 2); }},
    {Silu::op, DTypeRule::kFloats, kKeepInput0, [](G gy, C c) { return silu_gradient(gy, c.input(0)); }, silu_composite},
    {Abs::op, DTypeRule::kNumbers, kKeepInput0, [](G gy, C c) { return gy * sign(c.input(0).detach()); }},
    {Sign::op, DTypeRule::kNumbers, kKeepNothing, no_slope},
    {Relu::op, DTypeRule::kNumbers, kKeepInput0, [](G gy, C c) { return where(le(c.input(0), 0), scalar_like(gy, 0, gy.dtype()), gy); }},
    {Reciprocal::op, DTypeRule::kFloats, kKeepOutput, [](G gy, C c) { return -gy * square(c.output()); }},
    {Square::op, DTypeRule::kNumbers, kKeepInput0, [](G gy, C c) { return gy * (c.input(0) * 2); }},
    {Rsqrt::op, DTypeRule::kFloats, kKeepInput0 | kKeepOutput, [](G gy, C c) { return gy * (c.output() / c.input(0) * -0.5); }},
    {Exp2::op, DTypeRule::kFloats, kKeepOutput, [](G gy, C c) { return gy * (c.output() * kLn2); }},
    {Expm1::op, DTypeRule::kFloats, kKeepOutput, [](G gy, C c) { return gy * (c.output() + 1); }},
    {Log2::op, DTypeRule::kFloats, kKeepInput0, [](G gy, C c) { return gy / (c.input(0) * kLn2); }},
    {Log10::op, DTypeRule::kFloats, kKeepInput0, [](G gy, C c) { return gy / (c.input(0) * kLn10); }},
    {Log1p::op, DTypeRule::kFloats, kKeepInput0, [](G gy, C c) { return gy / (c.input(0) + 1); }},
    {Sin::op, DTypeRule::kFloats, kKeepInput0, [](G gy, C c) { return gy * cos(c.input(0)); }},
    {Cos::op, DTypeRule::kFloats, kKeepInput0, [](G gy, C c) { return -gy * sin(c.input(0)); }},
    {Tan::op, DTypeRule::kFloats, kKeepOutput, [](G gy, C c) { return gy * (square(c.output()) + 1); }},
    {Asin::op, DTypeRule::kFloats, kKeepInput0, [](G gy, C c) { return gy * rsqrt(1 - square(c.input(0))); }},
    {Acos::op, DTypeRule::kFloats, kKeepInput0, [](G gy, C c) { return -gy * rsqrt(1 - square(c.input(0))); }},
    {Atan::op, DTypeRule::kFloats, kKeepInput0, [](G gy, C c) { return cast(widened(gy) / (square(widened(c.input(0))) + 1), gy.dtype()); }},
    {Sinh::op, DTypeRule::kFloats, kKeepInput0, [](G gy, C c) { return gy * cosh(c.input(0)); }},
    {Cosh::op, DTypeRule::kFloats, kKeepInput0, [](G gy, C c) { return gy * sinh(c.input(0)); }},
    {Tanh::op, DTypeRule::kFloats, kKeepOutput, [](G gy, C c) { return gy * (1 - square(c.output())); }},
    {Asinh::op, DTypeRule::kFloats, kKeepInput0, [](G gy, C c) { return gy / hypot(c.input(0), scalar_like(gy, 1, gy.dtype())); }},
    {Acosh::op, DTypeRule::kFloats, kKeepInput0, [](G gy, C c) { return gy * rsqrt(c.input(0) - 1) * rsqrt(c.input(0) + 1); }},
    {Atanh::op, DTypeRule::kFloats, kKeepInput0, [](G gy, C c) { return gy / (1 - square(c.input(0))); }},
    {Erf::op, DTypeRule::kFloats, kKeepInput0, [](G gy, C c) { return gy * (exp(-square(c.input(0))) * (2 * std::numbers::inv_sqrtpi)); }},
    {Erfc::op, DTypeRule::kFloats, kKeepInput0, [](G gy, C c) { return gy * (exp(-square(c.input(0))) * (-2 * std::numbers::inv_sqrtpi)); }},
    {Lgamma::op, DTypeRule::kFloats, kKeepInput0, [](G gy, C c) { return gy * digamma(c.input(0)); }},
    {Digamma::op, DTypeRule::kFloats, kKeepInput0, [](G gy, C c) { return gy * trigamma(c.input(0)); }},
    {Trigamma::op, DTypeRule::kFloats, kKeepInput0, [](G gy, C c) { return gy * polygamma(2, c.input(0)); }},
    {Sigmoid::op, DTypeRule::kFloats, kKeepOutput, [](G gy, C c) { return gy * (c.output() * (1 - c.output())); }},
    {Gelu::op, DTypeRule::kFloats, kKeepInput0, [](G gy, C c) { return cast(widened(gy) * gelu_slope(widened(c.input(0))), gy.dtype()); }},
    {GeluTanh::op, DTypeRule::kFloats, kKeepInput0, [](G gy, C c) { return cast(widened(gy) * gelu_tanh_slope(widened(c.input(0))), gy.dtype()); }},
    {Softsign::op, DTypeRule::kFloats, kKeepInput0, [](G gy, C c) { const Tensor whole = maximum(c.input(0), -c.input(0)) + 1; return gy / whole / whole; }},
    {Floor::op, DTypeRule::kNumbers, kKeepNothing, no_slope},
    {Ceil::op, DTypeRule::kNumbers, kKeepNothing, no_slope},
    {Round::op, DTypeRule::kNumbers, kKeepNothing, no_slope},
    {Trunc::op, DTypeRule::kNumbers, kKeepNothing, no_slope},
    {BitwiseNot::op, DTypeRule::kIntegers, kKeepNothing, no_slope},
};
// clang-format on

static_assert(all_have_semantics<kUnary>(Unary{}), "a formula of scalar/unary.h has no row here");

template <class F>
Tensor unary(Tensor x) {
  return run_unary(semantics_of<kUnary, F>(), std::move(x));
}

/// Rounding leaves integers unchanged.
template <class F>
Tensor to_integer(Tensor x) {
  check_defined(F::op.name, x);
  return is_floating(x.dtype()) ? unary<F>(std::move(x)) : x;
}

/// Runs an op with numbers beside x. gradient: that of x, given the output's.
template <class F>
Tensor with_numbers(Tensor x, double a, double b, unsigned keep,
                    const std::function<Tensor(const Tensor& gy, const RuleContext&)>& gradient) {
  static constexpr Op op = F::op;
  check_defined(op.name, x);
  x = cast(x, operand_dtype(op, DTypeRule::kFloats, x.dtype()));
  const bool on_tape = recording({&x});
  const Tensor y = output_for(x, x.shape(), x.dtype(), !on_tape, op, 1);
  const NumberAttributes numbers{a, b};
  const Operand in = operand(x), out = operand(y);
  elementwise(x.device(), op, x.shape(), {&in, 1}, {&out, 1}, attributes_of(numbers));
  if (!on_tape) return y;
  return record(op.name, y, {&x}, keep, [gradient](const RuleContext& c, std::span<Tensor> g) {
    g[0] = gradient(c.gradient, c);
  });
}

}  // namespace

DTypeRule unary_dtype_rule(const Op& op) { return kUnary[row_of(kUnary, op)].rule; }

Tensor neg(Tensor x) { return unary<Neg>(std::move(x)); }
Tensor exp(Tensor x) { return unary<Exp>(std::move(x)); }
Tensor log(Tensor x) { return unary<Log>(std::move(x)); }
Tensor sqrt(Tensor x) { return unary<Sqrt>(std::move(x)); }
Tensor silu(Tensor x) { return unary<Silu>(std::move(x)); }
Tensor abs(Tensor x) { return unary<Abs>(std::move(x)); }
Tensor sign(Tensor x) {
  check_defined("sign", x);
  return x.dtype() == DType::kBool ? x : unary<Sign>(std::move(x));
}
Tensor relu(Tensor x) { return unary<Relu>(std::move(x)); }
Tensor reciprocal(Tensor x) { return unary<Reciprocal>(std::move(x)); }
Tensor square(Tensor x) { return unary<Square>(std::move(x)); }
Tensor rsqrt(Tensor x) { return unary<Rsqrt>(std::move(x)); }
Tensor exp2(Tensor x) { return unary<Exp2>(std::move(x)); }
Tensor expm1(Tensor x) { return unary<Expm1>(std::move(x)); }
Tensor log2(Tensor x) { return unary<Log2>(std::move(x)); }
Tensor log10(Tensor x) { return unary<Log10>(std::move(x)); }
Tensor log1p(Tensor x) { return unary<Log1p>(std::move(x)); }
Tensor sin(Tensor x) { return unary<Sin>(std::move(x)); }
Tensor cos(Tensor x) { return unary<Cos>(std::move(x)); }
Tensor tan(Tensor x) { return unary<Tan>(std::move(x)); }
Tensor asin(Tensor x) { return unary<Asin>(std::move(x)); }
Tensor acos(Tensor x) { return unary<Acos>(std::move(x)); }
Tensor atan(Tensor x) { return unary<Atan>(std::move(x)); }
Tensor sinh(Tensor x) { return unary<Sinh>(std::move(x)); }
Tensor cosh(Tensor x) { return unary<Cosh>(std::move(x)); }
Tensor tanh(Tensor x) { return unary<Tanh>(std::move(x)); }
Tensor asinh(Tensor x) { return unary<Asinh>(std::move(x)); }
Tensor acosh(Tensor x) { return unary<Acosh>(std::move(x)); }
Tensor atanh(Tensor x) { return unary<Atanh>(std::move(x)); }
Tensor erf(Tensor x) { return unary<Erf>(std::move(x)); }
Tensor erfc(Tensor x) { return unary<Erfc>(std::move(x)); }
Tensor lgamma(Tensor x) { return unary<Lgamma>(std::move(x)); }
Tensor digamma(Tensor x) { return unary<Digamma>(std::move(x)); }
Tensor trigamma(Tensor x) { return unary<Trigamma>(std::move(x)); }
Tensor sigmoid(Tensor x) { return unary<Sigmoid>(std::move(x)); }
Tensor gelu(Tensor x) { return unary<Gelu>(std::move(x)); }
Tensor gelu_tanh(Tensor x) { return unary<GeluTanh>(std::move(x)); }
Tensor softsign(Tensor x) { return unary<Softsign>(std::move(x)); }
Tensor floor(Tensor x) { return to_integer<Floor>(std::move(x)); }
Tensor ceil(Tensor x) { return to_integer<Ceil>(std::move(x)); }
Tensor round(Tensor x) { return to_integer<Round>(std::move(x)); }
Tensor trunc(Tensor x) { return to_integer<Trunc>(std::move(x)); }

Tensor bitwise_not(Tensor x) {
  check_defined("bitwise_not", x);
  return x.dtype() == DType::kBool ? logical_not(x) : unary<BitwiseNot>(std::move(x));
}

Tensor frac(const Tensor& x) {
  const Calling calling("frac");
  return x - trunc(x);
}

Tensor round(const Tensor& x, int decimals) {
  check_defined("round", x);
  if (!is_floating(x.dtype())) return x;
  const double scale = std::pow(10., std::abs(decimals));
  const Tensor wide = widened(x);
  const Tensor y = decimals < 0 ? round(wide / scale) * scale : round(wide * scale) / scale;
  return cast(y, x.dtype());
}

Tensor affine(Tensor x, double scale, double offset) {
  return with_numbers<Affine>(std::move(x), scale, offset, kKeepNothing,
                              [scale](const Tensor& gy, const RuleContext&) { return gy * scale; });
}

Tensor elu(Tensor x, double alpha) {
  return with_numbers<Elu>(
      std::move(x), alpha, 0, kKeepInput0, [alpha](const Tensor& gy, const RuleContext& c) {
        const Tensor x = c.input(0);
        return gy * where(le(x, 0), exp(x) * alpha, scalar_like(x, 1, x.dtype()));
      });
}

Tensor leaky_relu(Tensor x, double slope) {
  return with_numbers<LeakyRelu>(std::move(x), slope, 0, kKeepInput0,
                                 [slope](const Tensor& gy, const RuleContext& c) {
                                   return where(le(c.input(0), 0), gy * slope, gy);
                                 });
}

Tensor softplus(const Tensor& x, double beta, double threshold) {
  check(beta != 0, ErrorCode::kInvalidArgument, "softplus", "expected a beta other than 0");
  return with_numbers<Softplus>(x, beta, threshold, kKeepInput0,
                                [=](const Tensor& gy, const RuleContext& c) {
                                  const Tensor scaled = c.input(0) * beta;
                                  return where(gt(scaled, threshold), gy, gy * sigmoid(scaled));
                                });
}

}  // namespace wick
