// Formulas y = f(x), shared by all devices: T is a scalar in device code and SIMD lanes on the CPU,
// so a formula branches with select and calls the overloaded exp, log, abs and so on. Set kLong on
// formulas that compile to much code; multi-formula kernels emit them separately. The type list at
// the end of the file registers the formulas: every backend iterates over it.
#pragma once
#include "scalar/gamma.h"
#include "scalar/math.h"
#include "scalar/silu.h"
#include "wick/abi/ops/unary.h"

namespace wick {

struct Neg {
  static constexpr Op op{"neg", "T:T"};
  static constexpr bool kModular = true;
  using Types = NumericTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return -x;
  }
};

struct Exp {
  static constexpr Op op{"exp", "T:T"};
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return exp(x);
  }
};

struct Log {
  static constexpr Op op{"log", "T:T"};
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return log(x);
  }
};

struct Sqrt {
  static constexpr Op op{"sqrt", "T:T"};
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return sqrt(x);
  }
};

struct Abs {
  static constexpr Op op{"abs", "T:T"};
  using Types = NumericTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return abs(x);
  }
};

/// -1, 0 or 1; NaN stays.
struct Sign {
  static constexpr Op op{"sign", "T:T"};
  using Types = NumericTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return select(x > T(0), T(1), select(x < T(0), T(-1), x));
  }
};

/// The larger of x and 0; NaN stays.
struct Relu {
  static constexpr Op op{"relu", "T:T"};
  using Types = NumericTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return select(x < T(0), T(0), x);
  }
};

struct Reciprocal {
  static constexpr Op op{"reciprocal", "T:T"};
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return T(1) / x;
  }
};

struct Square {
  static constexpr Op op{"square", "T:T"};
  static constexpr bool kModular = true;
  using Types = NumericTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return x * x;
  }
};

struct Rsqrt {
  static constexpr Op op{"rsqrt", "T:T"};
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return T(1) / sqrt(x);
  }
};

struct Exp2 {
  static constexpr Op op{"exp2", "T:T"};
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return exp2(x);
  }
};

struct Expm1 {
  static constexpr Op op{"expm1", "T:T"};
  static constexpr bool kLong = true;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return expm1(x);
  }
};

struct Log2 {
  static constexpr Op op{"log2", "T:T"};
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return log2(x);
  }
};

struct Log10 {
  static constexpr Op op{"log10", "T:T"};
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return log10(x);
  }
};

struct Log1p {
  static constexpr Op op{"log1p", "T:T"};
  static constexpr bool kLong = true;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return log1p(x);
  }
};

struct Sin {
  static constexpr Op op{"sin", "T:T"};
  static constexpr bool kLong = true;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return sin(x);
  }
};

struct Cos {
  static constexpr Op op{"cos", "T:T"};
  static constexpr bool kLong = true;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return cos(x);
  }
};

struct Tan {
  static constexpr Op op{"tan", "T:T"};
  static constexpr bool kLong = true;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return tan(x);
  }
};

struct Asin {
  static constexpr Op op{"asin", "T:T"};
  static constexpr bool kLong = true;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return asin(x);
  }
};

struct Acos {
  static constexpr Op op{"acos", "T:T"};
  static constexpr bool kLong = true;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return acos(x);
  }
};

struct Atan {
  static constexpr Op op{"atan", "T:T"};
  static constexpr bool kLong = true;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return atan(x);
  }
};

struct Sinh {
  static constexpr Op op{"sinh", "T:T"};
  static constexpr bool kLong = true;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return sinh(x);
  }
};

struct Cosh {
  static constexpr Op op{"cosh", "T:T"};
  static constexpr bool kLong = true;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return cosh(x);
  }
};

struct Tanh {
  static constexpr Op op{"tanh", "T:T"};
  static constexpr bool kLong = true;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return tanh(x);
  }
};

struct Asinh {
  static constexpr Op op{"asinh", "T:T"};
  static constexpr bool kLong = true;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return asinh(x);
  }
};

struct Acosh {
  static constexpr Op op{"acosh", "T:T"};
  static constexpr bool kLong = true;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return acosh(x);
  }
};

struct Atanh {
  static constexpr Op op{"atanh", "T:T"};
  static constexpr bool kLong = true;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return atanh(x);
  }
};

struct Erf {
  static constexpr Op op{"erf", "T:T"};
  static constexpr bool kLong = true;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return erf(x);
  }
};

struct Erfc {
  static constexpr Op op{"erfc", "T:T"};
  static constexpr bool kLong = true;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return erfc(x);
  }
};

struct Lgamma {
  static constexpr Op op{"lgamma", "T:T"};
  static constexpr bool kLong = true;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return lgamma(x);
  }
};

/// The slope of lgamma.
struct Digamma {
  static constexpr Op op{"digamma", "T:T"};
  static constexpr bool kLong = true;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return digamma(x);
  }
};

/// The slope of digamma.
struct Trigamma {
  static constexpr Op op{"trigamma", "T:T"};
  static constexpr bool kLong = true;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return trigamma(x);
  }
};

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

/// x times the normal distribution's share below x: the erf form. Source: arXiv:1606.08415.
struct Gelu {
  static constexpr Op op{"gelu", "T:T"};
  static constexpr bool kLong = true;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return T(0.5f) * x * quick_erfc(x * T(-0.70710678118654752440));
  }
};

/// The tanh form, which approximates gelu.
struct GeluTanh {
  static constexpr Op op{"gelu_tanh", "T:T"};
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    // 1 + tanh(u) is 2 sigmoid(2 u): without cancellation.
    const T u = T(1.5957691216057307917) * (x + T(0.044715) * (x * x * x));
    return x * Sigmoid()(u);
  }
};

/// x / (1 + |x|); of an infinity 1 with its sign.
struct Softsign {
  static constexpr Op op{"softsign", "T:T"};
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    const T size = abs(x), whole = T(1) + size;
    return select(whole == size, select(x < T(0), T(-1), T(1)), x / whole);
  }
};

struct Floor {
  static constexpr Op op{"floor", "T:T"};
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return floor(x);
  }
};

struct Ceil {
  static constexpr Op op{"ceil", "T:T"};
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return ceil(x);
  }
};

struct Trunc {
  static constexpr Op op{"trunc", "T:T"};
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return trunc(x);
  }
};

/// To the nearest integer, half to even.
struct Round {
  static constexpr Op op{"round", "T:T"};
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return round_even(x);
  }
};

struct BitwiseNot {
  static constexpr Op op{"bitwise_not", "T:T"};
  using Types = IntegerTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return T(~x);
  }
};

/// Every formula of one operand.
using Unary = TypeList<Neg, Exp, Log, Sqrt, Silu, Abs, Sign, Relu, Reciprocal, Square, Rsqrt, Exp2,
                       Expm1, Log2, Log10, Log1p, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh,
                       Asinh, Acosh, Atanh, Erf, Erfc, Lgamma, Digamma, Trigamma, Sigmoid, Gelu,
                       GeluTanh, Softsign, Floor, Ceil, Round, Trunc, BitwiseNot>;

// With numbers beside x: NumberAttributes.

/// a x + b, rounded once where the machine has a fused product.
struct Affine {
  static constexpr Op op{"affine", "T:T", attributes<NumberAttributes>};
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x, T a, T b) const {
    return fma(x, a, b);
  }
};

/// x, below 0 a (e^x - 1). Source: arXiv:1511.07289.
struct Elu {
  static constexpr Op op{"elu", "T:T", attributes<NumberAttributes>};
  static constexpr bool kLong = true;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x, T a, T) const {
    return select(x < T(0), a * expm1(x), x);
  }
};

/// x, below 0 a x.
struct LeakyRelu {
  static constexpr Op op{"leaky_relu", "T:T", attributes<NumberAttributes>};
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x, T a, T) const {
    return select(x < T(0), a * x, x);
  }
};

using UnaryWithNumbers = TypeList<Affine, Elu, LeakyRelu>;

}  // namespace wick
