// Formulas y = f(x), shared by all devices: T is a scalar in device code and SIMD lanes on the CPU,
// so a formula branches with select and calls the overloaded exp, log, abs and so on. Set kLong on
// formulas that compile to much code; multi-formula kernels emit them separately. The type list at
// the end of the file registers the formulas: every backend iterates over it.
#pragma once
#include "scalar/formula.h"
#include "scalar/gamma.h"
#include "scalar/math.h"
#include "scalar/silu.h"
#include "wick/abi/ops/unary.h"

namespace wick {

WICK_FORMULA(Neg, "neg", "T:T", NumericTypes, kModular, (T x), -x);
WICK_FORMULA(Exp, "exp", "T:T", FloatTypes, kShort, (T x), exp(x));
WICK_FORMULA(Log, "log", "T:T", FloatTypes, kShort, (T x), log(x));
WICK_FORMULA(Sqrt, "sqrt", "T:T", FloatTypes, kShort, (T x), sqrt(x));
WICK_FORMULA(Abs, "abs", "T:T", NumericTypes, kShort, (T x), abs(x));

/// -1, 0 or 1; NaN for NaN.
struct Sign {
  static constexpr Op op{"sign", "T:T"};
  using Types = NumericTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return select(x > T(0), T(1), select(x < T(0), T(-1), x));
  }
};

/// The larger of x and 0; NaN for NaN.
WICK_FORMULA(Relu, "relu", "T:T", NumericTypes, kShort, (T x), select(x < T(0), T(0), x));
WICK_FORMULA(Reciprocal, "reciprocal", "T:T", FloatTypes, kShort, (T x), T(1) / x);
WICK_FORMULA(Square, "square", "T:T", NumericTypes, kModular, (T x), (x * x));
WICK_FORMULA(Rsqrt, "rsqrt", "T:T", FloatTypes, kShort, (T x), T(1) / sqrt(x));
WICK_FORMULA(Exp2, "exp2", "T:T", FloatTypes, kShort, (T x), exp2(x));
WICK_FORMULA(Expm1, "expm1", "T:T", FloatTypes, kLong, (T x), expm1(x));
WICK_FORMULA(Log2, "log2", "T:T", FloatTypes, kShort, (T x), log2(x));
WICK_FORMULA(Log10, "log10", "T:T", FloatTypes, kShort, (T x), log10(x));
WICK_FORMULA(Log1p, "log1p", "T:T", FloatTypes, kLong, (T x), log1p(x));
WICK_FORMULA(Sin, "sin", "T:T", FloatTypes, kLong, (T x), sin(x));
WICK_FORMULA(Cos, "cos", "T:T", FloatTypes, kLong, (T x), cos(x));
WICK_FORMULA(Tan, "tan", "T:T", FloatTypes, kLong, (T x), tan(x));
WICK_FORMULA(Asin, "asin", "T:T", FloatTypes, kLong, (T x), asin(x));
WICK_FORMULA(Acos, "acos", "T:T", FloatTypes, kLong, (T x), acos(x));
WICK_FORMULA(Atan, "atan", "T:T", FloatTypes, kLong, (T x), atan(x));
WICK_FORMULA(Sinh, "sinh", "T:T", FloatTypes, kLong, (T x), sinh(x));
WICK_FORMULA(Cosh, "cosh", "T:T", FloatTypes, kLong, (T x), cosh(x));
WICK_FORMULA(Tanh, "tanh", "T:T", FloatTypes, kLong, (T x), tanh(x));
WICK_FORMULA(Asinh, "asinh", "T:T", FloatTypes, kLong, (T x), asinh(x));
WICK_FORMULA(Acosh, "acosh", "T:T", FloatTypes, kLong, (T x), acosh(x));
WICK_FORMULA(Atanh, "atanh", "T:T", FloatTypes, kLong, (T x), atanh(x));
WICK_FORMULA(Erf, "erf", "T:T", FloatTypes, kLong, (T x), erf(x));
WICK_FORMULA(Erfc, "erfc", "T:T", FloatTypes, kLong, (T x), erfc(x));
WICK_FORMULA(Lgamma, "lgamma", "T:T", FloatTypes, kLong, (T x), lgamma(x));

/// The derivative of lgamma.
WICK_FORMULA(Digamma, "digamma", "T:T", FloatTypes, kLong, (T x), digamma(x));

/// The derivative of digamma.
WICK_FORMULA(Trigamma, "trigamma", "T:T", FloatTypes, kLong, (T x), trigamma(x));

/// 1 / (1 + exp(-x)).
struct Sigmoid {
  static constexpr Op op{"sigmoid", "T:T"};
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    const T e = exp(-abs(x));
    return select(x < T(0), e, T(1)) / (T(1) + e);
  }
};

/// x times the standard normal distribution function of x: the erf form. Source: arXiv:1606.08415.
struct Gelu {
  static constexpr Op op{"gelu", "T:T"};
  static constexpr bool kLong = true;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return T(0.5f) * x * quick_erfc(x * T(-0.70710678118654752440));
  }
};

/// The tanh approximation of gelu.
struct GeluTanh {
  static constexpr Op op{"gelu_tanh", "T:T"};
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    // 1 + tanh(u) = 2 sigmoid(2 u), which does not cancel.
    const T u = T(1.5957691216057307917) * (x + T(0.044715) * (x * x * x));
    return x * Sigmoid()(u);
  }
};

/// x / (1 + |x|); for an infinity, 1 with its sign.
struct Softsign {
  static constexpr Op op{"softsign", "T:T"};
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    const T size = abs(x), whole = T(1) + size;
    return select(whole == size, select(x < T(0), T(-1), T(1)), x / whole);
  }
};

WICK_FORMULA(Floor, "floor", "T:T", FloatTypes, kShort, (T x), floor(x));
WICK_FORMULA(Ceil, "ceil", "T:T", FloatTypes, kShort, (T x), ceil(x));
WICK_FORMULA(Trunc, "trunc", "T:T", FloatTypes, kShort, (T x), trunc(x));

/// Rounds to the nearest integer, halves to even.
WICK_FORMULA(Round, "round", "T:T", FloatTypes, kShort, (T x), round_even(x));
WICK_FORMULA(BitwiseNot, "bitwise_not", "T:T", IntegerTypes, kShort, (T x), T(~x));

/// All formulas of one operand.
using Unary = TypeList<Neg, Exp, Log, Sqrt, Silu, Abs, Sign, Relu, Reciprocal, Square, Rsqrt, Exp2,
                       Expm1, Log2, Log10, Log1p, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh,
                       Asinh, Acosh, Atanh, Erf, Erfc, Lgamma, Digamma, Trigamma, Sigmoid, Gelu,
                       GeluTanh, Softsign, Floor, Ceil, Round, Trunc, BitwiseNot>;

// Formulas that take numbers beside x (NumberAttributes).

/// a x + b, rounded once if the machine has a fused multiply-add.
struct Affine {
  static constexpr Op op{"affine", "T:T", attributes<NumberAttributes>};
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x, T a, T b) const {
    return fma(x, a, b);
  }
};

/// x for x >= 0, else a (e^x - 1). Source: arXiv:1511.07289.
struct Elu {
  static constexpr Op op{"elu", "T:T", attributes<NumberAttributes>};
  static constexpr bool kLong = true;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x, T a, T) const {
    return select(x < T(0), a * expm1(x), x);
  }
};

/// x for x >= 0, else a x.
struct LeakyRelu {
  static constexpr Op op{"leaky_relu", "T:T", attributes<NumberAttributes>};
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x, T a, T) const {
    return select(x < T(0), a * x, x);
  }
};

/// log(1 + e^(beta x)) / beta; x where beta x exceeds the threshold.
struct Softplus {
  static constexpr Op op{"softplus", "T:T", attributes<NumberAttributes>};
  static constexpr bool kLong = true;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x, T beta, T threshold) const {
    const T scaled = x * beta;
    const T soft = select(scaled > T(0), scaled, T(0)) + log1p(exp(-abs(scaled)));
    return select(scaled > threshold, x, soft / beta);
  }
};

using UnaryWithNumbers = TypeList<Affine, Elu, LeakyRelu, Softplus>;

}  // namespace wick
