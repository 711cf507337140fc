// Formulas y = f(a, b); see unary.h.
#pragma once
#include "scalar/divide.h"
#include "scalar/formula.h"
#include "scalar/gamma.h"
#include "scalar/silu.h"
#include "wick/abi/op.h"

namespace wick {

WICK_FORMULA(Add, "add", "TT:T", NumericTypes, kModular, (T a, T b), a + b);
WICK_FORMULA(Sub, "sub", "TT:T", NumericTypes, kModular, (T a, T b), a - b);
WICK_FORMULA(Mul, "mul", "TT:T", NumericTypes, kModular, (T a, T b), (a * b));

/// True division: integers are cast to f32 before they come here.
WICK_FORMULA(Div, "div", "TT:T", FloatTypes, kShort, (T a, T b), a / b);

/// The larger operand; NaN if either is NaN. For two zeros, returns the first.
struct Maximum {
  static constexpr Op op{"maximum", "TT:T"};
  using Types = NumericTypes;
  template <class T>
  WICK_HD T operator()(T a, T b) const {
    return select(a != a, a, select(b != b, b, select(a < b, b, a)));
  }
};

/// The share of maximum's gradient that goes to a: 1 if a is larger, 1/2 if they are equal, else 0.
/// NaN counts as the largest value.
struct MaximumShare {
  static constexpr Op op{"maximum_share", "TT:T"};
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T a, T b) const {
    const T ordered = select(b < a, T(1), select(a == b, T(0.5f), T(0)));
    return select(a != a, select(b != b, T(0.5f), T(1)), ordered);
  }
};

/// silu(a) b. Source: Shazeer 2020, arXiv:2002.05202.
WICK_FORMULA(Swiglu, "swiglu", "TT:T", FloatTypes, kShort, (T a, T b), Silu()(a) * b);

/// gy times the derivative of silu, s (1 + x (1 - s)) with s = 1 / (1 + exp(-x)). Computes s and
/// 1 - s separately, to avoid cancellation.
struct SiluGradient {
  static constexpr Op op{"silu_gradient", "TT:T"};
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T gy, T x) const {
    const T e = exp(-abs(x)), whole = T(1) + e;
    const T s = select(x < T(0), e, T(1)) / whole, rest = select(x < T(0), T(1), e) / whole;
    return gy * (s * (T(1) + x * rest));
  }
};

/// The smaller operand; NaN and zeros as in Maximum.
struct Minimum {
  static constexpr Op op{"minimum", "TT:T"};
  using Types = NumericTypes;
  template <class T>
  WICK_HD T operator()(T a, T b) const {
    return select(a != a, a, select(b != b, b, select(b < a, b, a)));
  }
};

/// a^b. Integers wrap modulo 2^bits; a negative exponent gives 0 unless a is 1 or -1.
WICK_FORMULA(Pow, "pow", "TT:T", NumericTypes, kLong, (T a, T b), pow(a, b));

/// a - b floor(a / b), which has the divisor's sign. 0 for an integer divisor of 0.
WICK_FORMULA(Remainder, "remainder", "TT:T", NumericTypes, kLong, (T a, T b),
             floored_remainder(a, b));

/// a - b trunc(a / b), which has the dividend's sign. 0 for an integer divisor of 0.
WICK_FORMULA(Fmod, "fmod", "TT:T", NumericTypes, kLong, (T a, T b), cut_remainder(a, b));

/// floor(a / b). 0 for an integer divisor of 0; the lowest integer divided by -1 wraps.
WICK_FORMULA(FloorDivide, "floor_divide", "TT:T", NumericTypes, kLong, (T a, T b),
             floored_quotient(a, b));
WICK_FORMULA(Atan2, "atan2", "TT:T", FloatTypes, kLong, (T a, T b), atan2(a, b));

/// The derivative of digamma of order n.
WICK_FORMULA(Polygamma, "polygamma", "TT:T", FloatTypes, kLong, (T n, T x), polygamma(n, x));
WICK_FORMULA(BitwiseAnd, "bitwise_and", "TT:T", BitTypes, kShort, (T a, T b), T((a & b)));
WICK_FORMULA(BitwiseOr, "bitwise_or", "TT:T", BitTypes, kShort, (T a, T b), T(a | b));
WICK_FORMULA(BitwiseXor, "bitwise_xor", "TT:T", BitTypes, kShort, (T a, T b), T(a ^ b));

/// a 2^b modulo 2^bits; 0 if b is negative or at least the number of bits.
WICK_FORMULA(BitwiseLeftShift, "bitwise_left_shift", "TT:T", IntegerTypes, kShort, (T a, T b),
             shift_left(a, b));

/// floor(a / 2^b); a negative or too large b shifts out every bit.
WICK_FORMULA(BitwiseRightShift, "bitwise_right_shift", "TT:T", IntegerTypes, kShort, (T a, T b),
             shift_right(a, b));

/// All formulas of two operands.
using Binary = TypeList<Add, Sub, Mul, Div, Maximum, MaximumShare, Swiglu, SiluGradient, Minimum,
                        Pow, Remainder, Fmod, FloorDivide, Atan2, Polygamma, BitwiseAnd, BitwiseOr,
                        BitwiseXor, BitwiseLeftShift, BitwiseRightShift>;

}  // namespace wick
