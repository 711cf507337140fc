// Elementwise ops on two operands; each row of the table defines one op.
#include "scalar/binary.h"

#include <limits>

#include "base/calling.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/range.h"
#include "wick/ops/create.h"
#include "wick/ops/elementwise.h"

namespace wick {
namespace {

// With s = sigmoid(x): d silu / dx = s (1 + x (1 - s)), and its derivative is
// s (1 - s) (2 + x (1 - 2 s)).
Tensor silu_gradient_composite(const Tensor& gy, const Tensor& x) {
  const DType dtype = computed_in(x.dtype());
  const Tensor wide = cast(x, dtype), whole = exp(-maximum(wide, -wide)) + 1;
  const Tensor s = exp(-maximum(-wide, 0)) / whole, rest = exp(-maximum(wide, 0)) / whole;
  return cast(cast(gy, dtype) * (s * (wide * rest + 1)), x.dtype());
}
Tensor silu_curvature(const Tensor& x) {
  const Tensor s = 1 / (exp(-x) + 1);
  return s * (1 - s) * (x * (1 - s * 2) + 2);
}
Tensor pow_gradient(const Tensor& gy, const RuleContext& c, int side) {
  const Tensor a = c.input(0), b = c.input(1), zero = scalar_like(a, 0, a.dtype());
  if (side == 0) return gy * where(eq(b, 0), zero, b * pow(a, b - 1));
  const Tensor constant = logical_and(eq(a, 0), ge(b, 0));  // 0^b is 0 or 1 in a neighbourhood of b
  return gy * where(constant, zero, c.output() * log(a));
}

/// gy b / (a² + b²) for a, gy -a / (a² + b²) for b: 0 where both are 0 and where one is infinite.
/// Scales by the larger operand, so that no square overflows or underflows.
Tensor atan2_gradient(const Tensor& gy, const RuleContext& c, int side) {
  const Tensor a = c.input(0), b = c.input(1);
  const Tensor scale = maximum(abs(a.detach()), abs(b.detach()));
  const Tensor flat = logical_or(eq(scale, 0), isinf(scale)), safe = where(flat, 1, scale);
  const Tensor x = where(flat, 0, b / safe), y = where(flat, 0, a / safe);
  const Tensor squares = where(flat, 1, square(x) + square(y));
  return gy * ((side ? -y : x) / squares) / safe;
}

/// order: a tensor without dims, off the tape.
Tensor polygamma_of(const Tensor& order, const Tensor& x);

using C = const RuleContext&;
using G = const Tensor&;
// One row per line.
// clang-format off
constexpr BinarySemantics kBinary[] = {
    {Add::op, DTypeRule::kNumbers, kKeepNothing, [](G gy, C, int) { return gy; }},
    {Sub::op, DTypeRule::kNumbers, kKeepNothing, [](G gy, C, int side) { return side ? -gy : gy; }},
    {Mul::op, DTypeRule::kNumbers, kKeepInputs, [](G gy, C c, int side) { return gy * c.input(1 - side); }},
    {Div::op, DTypeRule::kFloats, kKeepInputs, [](G gy, C c, int side) { const Tensor share = gy / c.input(1); return side ? -share * (c.input(0) / c.input(1)) : share; }},
    {Maximum::op, DTypeRule::kNumbers, kKeepInputs, [](G gy, C c, int side) { return gy * maximum_share(c.input(side), c.input(1 - side)); }},
    {Minimum::op, DTypeRule::kNumbers, kKeepInputs, [](G gy, C c, int side) { return gy * maximum_share(-c.input(side), -c.input(1 - side)); }},
    {MaximumShare::op, DTypeRule::kFloats, kKeepNothing, nullptr},
    {Swiglu::op, DTypeRule::kFloats, kKeepInputs, [](G gy, C c, int side) { return side ? gy * silu(c.input(0)) : silu_gradient(gy * c.input(1), c.input(0)); },
     [](const Tensor& a, const Tensor& b) { return cast(silu(widened(a)) * widened(b), a.dtype()); }},
    {SiluGradient::op, DTypeRule::kFloats, kKeepInputs, [](G gy, C c, int side) { return side ? gy * c.input(0) * silu_curvature(c.input(1)) : silu_gradient(gy, c.input(1)); },
     silu_gradient_composite},
    {Pow::op, DTypeRule::kNumbers, kKeepInputs | kKeepOutput, pow_gradient},
    {Remainder::op, DTypeRule::kNumbers, kKeepInputs, [](G gy, C c, int side) { return side ? -gy * floor_divide(c.input(0), c.input(1)) : gy; }},
    {Fmod::op, DTypeRule::kNumbers, kKeepInputs, [](G gy, C c, int side) { return side ? -gy * trunc(c.input(0) / c.input(1)) : gy; }},
    {FloorDivide::op, DTypeRule::kNumbers, kKeepNothing, [](G gy, C, int) { return zeros_like(gy); }},
    {Atan2::op, DTypeRule::kFloats, kKeepInputs, atan2_gradient},
    {Polygamma::op, DTypeRule::kFloats, kKeepInputs, [](G gy, C c, int) { return gy * polygamma_of(c.input(0) + 1, c.input(1)); }},
    {BitwiseAnd::op, DTypeRule::kBits, kKeepNothing, nullptr},
    {BitwiseOr::op, DTypeRule::kBits, kKeepNothing, nullptr},
    {BitwiseXor::op, DTypeRule::kBits, kKeepNothing, nullptr},
    {BitwiseLeftShift::op, DTypeRule::kIntegers, kKeepNothing, nullptr},
    {BitwiseRightShift::op, DTypeRule::kIntegers, kKeepNothing, nullptr},
};
// clang-format on

static_assert(all_have_semantics<kBinary>(Binary{}),
              "a formula of scalar/binary.h has no row here");

template <class F>
Tensor binary(Tensor a, const Tensor& b) {
  return run_binary(semantics_of<kBinary, F>(), std::move(a), b);
}
template <class F>
Tensor binary(Tensor a, Number b) {
  return run_binary(semantics_of<kBinary, F>(), std::move(a), b);
}
/// F for numbers; OfBool for bool with bool.
template <class F, class OfBool>
Tensor arithmetic(Tensor a, const Tensor& b) {
  const Calling calling(F::op.name);
  check_defined(F::op.name, a);
  check_defined(F::op.name, b);
  const bool of_bool = a.dtype() == DType::kBool && b.dtype() == DType::kBool;
  return of_bool ? binary<OfBool>(std::move(a), b) : binary<F>(std::move(a), b);
}
template <class F, class OfBool>
Tensor arithmetic(Tensor a, Number b) {
  const Calling calling(F::op.name);
  check_defined(F::op.name, a);
  const bool of_bool = a.dtype() == DType::kBool && b.is_bool();
  return of_bool ? binary<OfBool>(std::move(a), b) : binary<F>(std::move(a), b);
}

/// The dtype in which F computes with a number.
template <class F>
DType dtype_beside(const Tensor& a, Number b) {
  check_defined(F::op.name, a);
  return operand_dtype(F::op, semantics_of<kBinary, F>().rule, promote(a.dtype(), b));
}
/// F with a number that an integer dtype must hold: modulo 2^bits it would mean something else.
template <class F>
Tensor binary_held(Tensor a, Number b) {
  if (const DType dtype = dtype_beside<F>(a, b); !is_floating(dtype))
    check_holds(F::op.name, dtype, b);
  return binary<F>(std::move(a), b);
}
/// A shift; a number outside the dtype's range shifts out all bits.
template <class F>
Tensor shift(Tensor a, Number b) {
  const DType dtype = dtype_beside<F>(a, b);
  return binary<F>(std::move(a), holds(dtype, b) ? b : highest(dtype));
}

Tensor polygamma_of(const Tensor& order, const Tensor& x) { return binary<Polygamma>(order, x); }

}  // namespace

DTypeRule binary_dtype_rule(const Op& op) { return kBinary[row_of(kBinary, op)].rule; }

Tensor polygamma(int order, Tensor x) {
  const Calling calling("polygamma");
  check_defined("polygamma", x);
  check(0 <= order && order <= 170, ErrorCode::kInvalidArgument, "polygamma",
        "expected an order in [0, 170], got ", order);
  if (order == 0) return digamma(std::move(x));
  if (order == 1) return trigamma(std::move(x));
  return polygamma_of(scalar_like(x, double(order), floating(x.dtype())), x);
}

Tensor add(Tensor a, const Tensor& b) { return arithmetic<Add, BitwiseOr>(std::move(a), b); }
Tensor sub(Tensor a, const Tensor& b) { return binary<Sub>(std::move(a), b); }
Tensor mul(Tensor a, const Tensor& b) { return arithmetic<Mul, BitwiseAnd>(std::move(a), b); }
Tensor div(Tensor a, const Tensor& b) { return binary<Div>(std::move(a), b); }
Tensor maximum(Tensor a, const Tensor& b) {
  return arithmetic<Maximum, BitwiseOr>(std::move(a), b);
}
Tensor minimum(Tensor a, const Tensor& b) {
  return arithmetic<Minimum, BitwiseAnd>(std::move(a), b);
}
Tensor maximum_share(Tensor a, const Tensor& b) { return binary<MaximumShare>(std::move(a), b); }
Tensor swiglu(Tensor a, const Tensor& b) { return binary<Swiglu>(std::move(a), b); }
Tensor pow(Tensor a, const Tensor& b) { return binary<Pow>(std::move(a), b); }
Tensor remainder(Tensor a, const Tensor& b) { return binary<Remainder>(std::move(a), b); }
Tensor fmod(Tensor a, const Tensor& b) { return binary<Fmod>(std::move(a), b); }
Tensor floor_divide(Tensor a, const Tensor& b) { return binary<FloorDivide>(std::move(a), b); }
Tensor atan2(Tensor a, const Tensor& b) { return binary<Atan2>(std::move(a), b); }
Tensor bitwise_and(Tensor a, const Tensor& b) { return binary<BitwiseAnd>(std::move(a), b); }
Tensor bitwise_or(Tensor a, const Tensor& b) { return binary<BitwiseOr>(std::move(a), b); }
Tensor bitwise_xor(Tensor a, const Tensor& b) { return binary<BitwiseXor>(std::move(a), b); }
Tensor bitwise_left_shift(Tensor a, const Tensor& b) {
  return binary<BitwiseLeftShift>(std::move(a), b);
}
Tensor bitwise_right_shift(Tensor a, const Tensor& b) {
  return binary<BitwiseRightShift>(std::move(a), b);
}
Tensor silu_gradient(Tensor gy, const Tensor& x) { return binary<SiluGradient>(std::move(gy), x); }

Tensor add(Tensor a, Number b) { return arithmetic<Add, BitwiseOr>(std::move(a), b); }
Tensor sub(Tensor a, Number b) { return binary<Sub>(std::move(a), b); }
Tensor mul(Tensor a, Number b) { return arithmetic<Mul, BitwiseAnd>(std::move(a), b); }
Tensor div(Tensor a, Number b) { return binary<Div>(std::move(a), b); }
Tensor maximum(Tensor a, Number b) {
  const DType dtype = dtype_beside<Maximum>(a, b);
  return arithmetic<Maximum, BitwiseOr>(std::move(a), into_range(dtype, b));
}
Tensor minimum(Tensor a, Number b) {
  const DType dtype = dtype_beside<Minimum>(a, b);
  return arithmetic<Minimum, BitwiseAnd>(std::move(a), into_range(dtype, b));
}
Tensor pow(Tensor a, Number b) { return binary_held<Pow>(std::move(a), b); }
Tensor remainder(Tensor a, Number b) { return binary_held<Remainder>(std::move(a), b); }
Tensor fmod(Tensor a, Number b) { return binary_held<Fmod>(std::move(a), b); }
Tensor floor_divide(Tensor a, Number b) { return binary_held<FloorDivide>(std::move(a), b); }
Tensor bitwise_and(Tensor a, Number b) { return binary<BitwiseAnd>(std::move(a), b); }
Tensor bitwise_or(Tensor a, Number b) { return binary<BitwiseOr>(std::move(a), b); }
Tensor bitwise_xor(Tensor a, Number b) { return binary<BitwiseXor>(std::move(a), b); }
Tensor bitwise_left_shift(Tensor a, Number b) { return shift<BitwiseLeftShift>(std::move(a), b); }
Tensor bitwise_right_shift(Tensor a, Number b) { return shift<BitwiseRightShift>(std::move(a), b); }

Tensor pow(Number a, const Tensor& b) {
  check_defined("pow", b);
  return pow(scalar_like(b, a, operand_dtype(Pow::op, DTypeRule::kNumbers, promote(b.dtype(), a))),
             b);
}
Tensor operator-(Number a, const Tensor& b) {
  check_defined("sub", b);
  return scalar_like(b, a, operand_dtype(Sub::op, DTypeRule::kNumbers, promote(b.dtype(), a))) - b;
}
Tensor operator/(Number a, const Tensor& b) {
  check_defined("div", b);
  return scalar_like(b, a, floating(promote(b.dtype(), a))) / b;
}

Tensor lerp(const Tensor& a, const Tensor& b, const Tensor& weight) {
  const Calling calling("lerp");
  return a + (b - a) * weight;
}
Tensor lerp(const Tensor& a, const Tensor& b, double weight) {
  const Calling calling("lerp");
  return a + (b - a) * weight;
}
Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, Number value) {
  const Calling calling("addcmul");
  return x + a * b * value;
}
Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, Number value) {
  const Calling calling("addcdiv");
  return x + a / b * value;
}

Tensor hypot(const Tensor& a, const Tensor& b) {
  const Calling calling("hypot");
  // Scales by the larger operand, so that no square overflows or underflows.
  const Tensor x = abs(a), y = abs(b), scale = maximum(x.detach(), y.detach());
  const Tensor safe =
      where(logical_or(eq(scale, 0), isinf(scale)), scalar_like(scale, 1, scale.dtype()), scale);
  const Tensor squares = square(x / safe) + square(y / safe), none = eq(scale, 0);
  return where(none, 0, sqrt(where(none, 1, squares))) * safe;  // so the gradients at 0 are 0
}

Tensor logaddexp(const Tensor& a, const Tensor& b) {
  const Calling calling("logaddexp");
  const Tensor largest = maximum(a.detach(), b.detach());
  const Tensor shift = where(isfinite(largest), largest, scalar_like(largest, 0, largest.dtype()));
  const Tensor total = exp(a - shift) + exp(b - shift), none = eq(total.detach(), 0);
  const double infinity = std::numeric_limits<double>::infinity();
  return where(none, scalar_like(total, -infinity, total.dtype()),
               log(where(none, 1, total)) + shift);
}

}  // namespace wick
