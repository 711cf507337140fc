// Ops of one operand: what each means is a row.
#include <cmath>
#include <numbers>

#include "ops/elementwise.h"
#include "wick/ops/create.h"

namespace wick {
namespace {

constexpr double kLn2 = std::numbers::ln2, kLn10 = std::numbers::ln10;

/// x e^min(x, 0) / (1 + e^-|x|). Below -64 the first exponential is taken in two factors: it is
/// subnormal where the result is not yet.
Tensor silu_composite(const Tensor& x) {
  const Tensor wide = cast(x, computed_in(x.dtype()));
  const Tensor low = -maximum(-wide, 0), near = maximum(low, -64);
  const Tensor top = wide * exp(near) * exp(low - near);
  return cast(top / (exp(-maximum(wide, -wide)) + 1), x.dtype());
}

/// The slope of gelu: the normal distribution's share below x, and x times its density.
Tensor gelu_slope(const Tensor& x) {
  const Tensor share = erfc(x * -std::sqrt(0.5)) * 0.5;
  return share + x * exp(sqr(x) * -0.5) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
}
/// gelu_tanh is x s(u) with s the sigmoid and u a polynomial of x.
Tensor gelu_tanh_slope(const Tensor& x) {
  const double a = 2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi, b = 0.044715;
  const Tensor s = sigmoid((x + sqr(x) * x * b) * a);
  return s + x * s * (1 - s) * ((sqr(x) * (3 * b) + 1) * a);
}

/// Of what is constant but for its steps.
Tensor no_slope(const Tensor& gy, const RuleContext&) { return zeros_like(gy); }

using C = const RuleContext&;
using G = const Tensor&;
// A row is a line.
// clang-format off
constexpr UnaryMeaning kUnary[] = {
    {OpId::kNeg, Takes::kNumbers, kKeepNothing, [](G gy, C) { return -gy; }},
    {OpId::kExp, Takes::kFloats, kKeepOutput, [](G gy, C c) { return gy * c.output(); }},
    {OpId::kLog, Takes::kFloats, kKeepInput0, [](G gy, C c) { return gy / c.input(0); }},
    {OpId::kSqrt, Takes::kFloats, kKeepOutput, [](G gy, C c) { return gy / (c.output() * 2); }},
    {OpId::kSilu, Takes::kFloats, kKeepInput0, [](G gy, C c) { return silu_gradient(gy, c.input(0)); }, silu_composite},
    {OpId::kAbs, Takes::kNumbers, kKeepInput0, [](G gy, C c) { return gy * sign(c.input(0).detach()); }},
    {OpId::kSign, Takes::kNumbers, kKeepNothing, no_slope},
    {OpId::kRelu, Takes::kNumbers, kKeepInput0, [](G gy, C c) { return where(le(c.input(0), 0), scalar_like(gy, 0, gy.dtype()), gy); }},
    {OpId::kRecip, Takes::kFloats, kKeepOutput, [](G gy, C c) { return -gy * sqr(c.output()); }},
    {OpId::kSqr, Takes::kNumbers, kKeepInput0, [](G gy, C c) { return gy * (c.input(0) * 2); }},
    {OpId::kRsqrt, Takes::kFloats, kKeepInput0 | kKeepOutput, [](G gy, C c) { return gy * (c.output() / c.input(0) * -0.5); }},
    {OpId::kExp2, Takes::kFloats, kKeepOutput, [](G gy, C c) { return gy * (c.output() * kLn2); }},
    {OpId::kExpm1, Takes::kFloats, kKeepOutput, [](G gy, C c) { return gy * (c.output() + 1); }},
    {OpId::kLog2, Takes::kFloats, kKeepInput0, [](G gy, C c) { return gy / (c.input(0) * kLn2); }},
    {OpId::kLog10, Takes::kFloats, kKeepInput0, [](G gy, C c) { return gy / (c.input(0) * kLn10); }},
    {OpId::kLog1p, Takes::kFloats, kKeepInput0, [](G gy, C c) { return gy / (c.input(0) + 1); }},
    {OpId::kSin, Takes::kFloats, kKeepInput0, [](G gy, C c) { return gy * cos(c.input(0)); }},
    {OpId::kCos, Takes::kFloats, kKeepInput0, [](G gy, C c) { return -gy * sin(c.input(0)); }},
    {OpId::kTan, Takes::kFloats, kKeepOutput, [](G gy, C c) { return gy * (sqr(c.output()) + 1); }},
    {OpId::kAsin, Takes::kFloats, kKeepInput0, [](G gy, C c) { return gy * rsqrt(1 - sqr(c.input(0))); }},
    {OpId::kAcos, Takes::kFloats, kKeepInput0, [](G gy, C c) { return -gy * rsqrt(1 - sqr(c.input(0))); }},
    {OpId::kAtan, Takes::kFloats, kKeepInput0, [](G gy, C c) { return gy / (sqr(c.input(0)) + 1); }},
    {OpId::kSinh, Takes::kFloats, kKeepInput0, [](G gy, C c) { return gy * cosh(c.input(0)); }},
    {OpId::kCosh, Takes::kFloats, kKeepInput0, [](G gy, C c) { return gy * sinh(c.input(0)); }},
    {OpId::kTanh, Takes::kFloats, kKeepOutput, [](G gy, C c) { return gy * (1 - sqr(c.output())); }},
    {OpId::kAsinh, Takes::kFloats, kKeepInput0, [](G gy, C c) { return gy * rsqrt(sqr(c.input(0)) + 1); }},
    {OpId::kAcosh, Takes::kFloats, kKeepInput0, [](G gy, C c) { return gy * rsqrt(sqr(c.input(0)) - 1); }},
    {OpId::kAtanh, Takes::kFloats, kKeepInput0, [](G gy, C c) { return gy / (1 - sqr(c.input(0))); }},
    {OpId::kErf, Takes::kFloats, kKeepInput0, [](G gy, C c) { return gy * (exp(-sqr(c.input(0))) * (2 * std::numbers::inv_sqrtpi)); }},
    {OpId::kErfc, Takes::kFloats, kKeepInput0, [](G gy, C c) { return gy * (exp(-sqr(c.input(0))) * (-2 * std::numbers::inv_sqrtpi)); }},
    {OpId::kLgamma, Takes::kFloats, kKeepInput0, [](G gy, C c) { return gy * digamma(c.input(0)); }},
    {OpId::kDigamma, Takes::kFloats, kKeepInput0, [](G gy, C c) { return gy * trigamma(c.input(0)); }},
    {OpId::kTrigamma, Takes::kFloats, kKeepNothing, [](G, C) -> Tensor { fail(ErrorCode::kUnsupported, "trigamma", "it has no gradient"); }},
    {OpId::kSigmoid, Takes::kFloats, kKeepOutput, [](G gy, C c) { return gy * (c.output() * (1 - c.output())); }},
    {OpId::kGelu, Takes::kFloats, kKeepInput0, [](G gy, C c) { return cast(widened(gy) * gelu_slope(widened(c.input(0))), gy.dtype()); }},
    {OpId::kGeluTanh, Takes::kFloats, kKeepInput0, [](G gy, C c) { return cast(widened(gy) * gelu_tanh_slope(widened(c.input(0))), gy.dtype()); }},
    {OpId::kFloor, Takes::kNumbers, kKeepNothing, no_slope},
    {OpId::kCeil, Takes::kNumbers, kKeepNothing, no_slope},
    {OpId::kRound, Takes::kNumbers, kKeepNothing, no_slope},
    {OpId::kTrunc, Takes::kNumbers, kKeepNothing, no_slope},
    {OpId::kBitwiseNot, Takes::kIntegers, kKeepNothing, no_slope},
};
// clang-format on

Tensor unary(OpId op, Tensor x) { return run_unary(meaning_of(kUnary, op), std::move(x)); }

/// An integer is its own nearest integer.
Tensor to_integer(OpId op, Tensor x) {
  check_defined(op_name(op), x);
  return is_floating(x.dtype()) ? unary(op, std::move(x)) : x;
}

/// An op with numbers beside x. slope: of the result by x.
Tensor with_numbers(OpId op, Tensor x, double a, double b, unsigned keep,
                    const std::function<Tensor(const Tensor& gy, const RuleContext&)>& gradient) {
  check_defined(op_name(op), x);
  x = cast(x, taken(op, Takes::kFloats, x.dtype()));
  const bool on_tape = recording({&x});
  const Tensor y = output_for(x, x.shape(), x.dtype(), !on_tape, op, 1);
  const NumberAttributes numbers{a, b};
  const Operand in = operand(x), out = operand(y);
  elementwise(x.device(), op, x.shape(), {&in, 1}, {&out, 1}, attributes_of(numbers));
  if (!on_tape) return y;
  return record(op_name(op), y, {&x}, keep, [gradient](const RuleContext& c, std::span<Tensor> g) {
    g[0] = gradient(c.gradient, c);
  });
}

}  // namespace

Tensor neg(Tensor x) { return unary(OpId::kNeg, std::move(x)); }
Tensor exp(Tensor x) { return unary(OpId::kExp, std::move(x)); }
Tensor log(Tensor x) { return unary(OpId::kLog, std::move(x)); }
Tensor sqrt(Tensor x) { return unary(OpId::kSqrt, std::move(x)); }
Tensor silu(Tensor x) { return unary(OpId::kSilu, std::move(x)); }
Tensor abs(Tensor x) { return unary(OpId::kAbs, std::move(x)); }
Tensor sign(Tensor x) { return unary(OpId::kSign, std::move(x)); }
Tensor relu(Tensor x) { return unary(OpId::kRelu, std::move(x)); }
Tensor recip(Tensor x) { return unary(OpId::kRecip, std::move(x)); }
Tensor sqr(Tensor x) { return unary(OpId::kSqr, std::move(x)); }
Tensor rsqrt(Tensor x) { return unary(OpId::kRsqrt, std::move(x)); }
Tensor exp2(Tensor x) { return unary(OpId::kExp2, std::move(x)); }
Tensor expm1(Tensor x) { return unary(OpId::kExpm1, std::move(x)); }
Tensor log2(Tensor x) { return unary(OpId::kLog2, std::move(x)); }
Tensor log10(Tensor x) { return unary(OpId::kLog10, std::move(x)); }
Tensor log1p(Tensor x) { return unary(OpId::kLog1p, std::move(x)); }
Tensor sin(Tensor x) { return unary(OpId::kSin, std::move(x)); }
Tensor cos(Tensor x) { return unary(OpId::kCos, std::move(x)); }
Tensor tan(Tensor x) { return unary(OpId::kTan, std::move(x)); }
Tensor asin(Tensor x) { return unary(OpId::kAsin, std::move(x)); }
Tensor acos(Tensor x) { return unary(OpId::kAcos, std::move(x)); }
Tensor atan(Tensor x) { return unary(OpId::kAtan, std::move(x)); }
Tensor sinh(Tensor x) { return unary(OpId::kSinh, std::move(x)); }
Tensor cosh(Tensor x) { return unary(OpId::kCosh, std::move(x)); }
Tensor tanh(Tensor x) { return unary(OpId::kTanh, std::move(x)); }
Tensor asinh(Tensor x) { return unary(OpId::kAsinh, std::move(x)); }
Tensor acosh(Tensor x) { return unary(OpId::kAcosh, std::move(x)); }
Tensor atanh(Tensor x) { return unary(OpId::kAtanh, std::move(x)); }
Tensor erf(Tensor x) { return unary(OpId::kErf, std::move(x)); }
Tensor erfc(Tensor x) { return unary(OpId::kErfc, std::move(x)); }
Tensor lgamma(Tensor x) { return unary(OpId::kLgamma, std::move(x)); }
Tensor digamma(Tensor x) { return unary(OpId::kDigamma, std::move(x)); }
Tensor trigamma(Tensor x) { return unary(OpId::kTrigamma, std::move(x)); }
Tensor sigmoid(Tensor x) { return unary(OpId::kSigmoid, std::move(x)); }
Tensor gelu(Tensor x) { return unary(OpId::kGelu, std::move(x)); }
Tensor gelu_tanh(Tensor x) { return unary(OpId::kGeluTanh, std::move(x)); }
Tensor floor(Tensor x) { return to_integer(OpId::kFloor, std::move(x)); }
Tensor ceil(Tensor x) { return to_integer(OpId::kCeil, std::move(x)); }
Tensor round(Tensor x) { return to_integer(OpId::kRound, std::move(x)); }
Tensor trunc(Tensor x) { return to_integer(OpId::kTrunc, std::move(x)); }

Tensor bitwise_not(Tensor x) {
  check_defined("bitwise_not", x);
  return x.dtype() == DType::kBool ? logical_not(x) : unary(OpId::kBitwiseNot, std::move(x));
}

Tensor frac(const Tensor& x) { return x - trunc(x); }

Tensor round_to(const Tensor& x, int decimals) {
  check_defined("round_to", x);
  if (!is_floating(x.dtype())) return x;
  const double scale = std::pow(10., std::abs(decimals));
  const Tensor wide = widened(x);
  const Tensor y = decimals < 0 ? round(wide / scale) * scale : round(wide * scale) / scale;
  return cast(y, x.dtype());
}

Tensor affine(Tensor x, double scale, double offset) {
  return with_numbers(OpId::kAffine, std::move(x), scale, offset, kKeepNothing,
                      [scale](const Tensor& gy, const RuleContext&) { return gy * scale; });
}

Tensor elu(Tensor x, double alpha) {
  return with_numbers(OpId::kElu, std::move(x), alpha, 0, kKeepInput0,
                      [alpha](const Tensor& gy, const RuleContext& c) {
                        const Tensor x = c.input(0);
                        return gy * where(le(x, 0), exp(x) * alpha, scalar_like(x, 1, x.dtype()));
                      });
}

Tensor leaky_relu(Tensor x, double slope) {
  return with_numbers(OpId::kLeakyRelu, std::move(x), slope, 0, kKeepInput0,
                      [slope](const Tensor& gy, const RuleContext& c) {
                        return where(le(c.input(0), 0), gy * slope, gy);
                      });
}

Tensor softplus(const Tensor& x, double beta, double threshold) {
  check_defined("softplus", x);
  check(beta != 0, ErrorCode::kInvalidArgument, "softplus", "expected a beta other than 0");
  const Tensor wide = widened(x), scaled = wide * beta;
  const Tensor soft = (relu(scaled) + log1p(exp(-abs(scaled)))) / beta;
  // relu and abs have no slope at 0, where softplus has 1/2.
  const Tensor at_0 = where(eq(scaled, 0), scaled * 0.5, scalar_like(scaled, 0, scaled.dtype()));
  return cast(where(gt(scaled, threshold), wide, soft + at_0 / beta), floating(x.dtype()));
}

}  // namespace wick
