// Formulas y = f(x). One text for every device: T is a scalar in device code and SIMD lanes on the
// CPU, so a formula branches by select and calls exp, log, abs ... by argument. The list at the end
// is the registration: every backend walks it.
#pragma once
#include "scalar/gamma.h"
#include "scalar/math.h"
#include "wick/abi/ops.h"

namespace wick {

struct Neg {
  static constexpr OpId op = OpId::kNeg;
  static constexpr bool kModular = true;
  using Types = NumericTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return -x;
  }
};

struct Exp {
  static constexpr OpId op = OpId::kExp;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return exp(x);
  }
};

struct Log {
  static constexpr OpId op = OpId::kLog;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return log(x);
  }
};

struct Sqrt {
  static constexpr OpId op = OpId::kSqrt;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return sqrt(x);
  }
};

/// x / (1 + exp(-x)). Far below 0 exp(x) is subnormal where the result is not yet: there the
/// exponential is taken e^32 too large (32 + x is exact), and the product brought back at the end.
struct Silu {
  static constexpr OpId op = OpId::kSilu;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    const T size = abs(x);
    const T e = exp(select(size > T(64), T(32) - size, -size));
    const T top = select(x < T(0), x * e, x);
    const T far = select(x < T(0), top * T(0x1.c8464f7616468p-47), x);  // e^-32; 1 + e^-|x| is 1
    return select(size > T(64), far, top / (T(1) + e));
  }
};

struct Abs {
  static constexpr OpId op = OpId::kAbs;
  using Types = NumericTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return abs(x);
  }
};

/// -1, 0 or 1; NaN stays.
struct Sign {
  static constexpr OpId op = OpId::kSign;
  using Types = NumericTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return select(x > T(0), T(1), select(x < T(0), T(-1), x));
  }
};

/// The larger of x and 0; NaN stays.
struct Relu {
  static constexpr OpId op = OpId::kRelu;
  using Types = NumericTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return select(x < T(0), T(0), x);
  }
};

struct Recip {
  static constexpr OpId op = OpId::kRecip;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return T(1) / x;
  }
};

struct Sqr {
  static constexpr OpId op = OpId::kSqr;
  static constexpr bool kModular = true;
  using Types = NumericTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return x * x;
  }
};

struct Rsqrt {
  static constexpr OpId op = OpId::kRsqrt;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return T(1) / sqrt(x);
  }
};

struct Exp2 {
  static constexpr OpId op = OpId::kExp2;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return exp2(x);
  }
};

struct Expm1 {
  static constexpr OpId op = OpId::kExpm1;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return expm1(x);
  }
};

struct Log2 {
  static constexpr OpId op = OpId::kLog2;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return log2(x);
  }
};

struct Log10 {
  static constexpr OpId op = OpId::kLog10;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return log10(x);
  }
};

struct Log1p {
  static constexpr OpId op = OpId::kLog1p;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return log1p(x);
  }
};

struct Sin {
  static constexpr OpId op = OpId::kSin;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return sin(x);
  }
};

struct Cos {
  static constexpr OpId op = OpId::kCos;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return cos(x);
  }
};

struct Tan {
  static constexpr OpId op = OpId::kTan;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return tan(x);
  }
};

struct Asin {
  static constexpr OpId op = OpId::kAsin;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return asin(x);
  }
};

struct Acos {
  static constexpr OpId op = OpId::kAcos;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return acos(x);
  }
};

struct Atan {
  static constexpr OpId op = OpId::kAtan;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return atan(x);
  }
};

struct Sinh {
  static constexpr OpId op = OpId::kSinh;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return sinh(x);
  }
};

struct Cosh {
  static constexpr OpId op = OpId::kCosh;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return cosh(x);
  }
};

struct Tanh {
  static constexpr OpId op = OpId::kTanh;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return tanh(x);
  }
};

struct Asinh {
  static constexpr OpId op = OpId::kAsinh;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return asinh(x);
  }
};

struct Acosh {
  static constexpr OpId op = OpId::kAcosh;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return acosh(x);
  }
};

struct Atanh {
  static constexpr OpId op = OpId::kAtanh;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return atanh(x);
  }
};

struct Erf {
  static constexpr OpId op = OpId::kErf;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return erf(x);
  }
};

struct Erfc {
  static constexpr OpId op = OpId::kErfc;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return erfc(x);
  }
};

struct Lgamma {
  static constexpr OpId op = OpId::kLgamma;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return lgamma(x);
  }
};

/// The slope of lgamma.
struct Digamma {
  static constexpr OpId op = OpId::kDigamma;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return digamma(x);
  }
};

/// The slope of digamma.
struct Trigamma {
  static constexpr OpId op = OpId::kTrigamma;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return trigamma(x);
  }
};

/// 1 / (1 + exp(-x)).
struct Sigmoid {
  static constexpr OpId op = OpId::kSigmoid;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    const T e = exp(-abs(x));
    return select(x < T(0), e, T(1)) / (T(1) + e);
  }
};

/// x times the normal distribution's share below x: the erf form. Source: arXiv:1606.08415.
struct Gelu {
  static constexpr OpId op = OpId::kGelu;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return T(0.5f) * x * erfc(x * T(-0.70710678118654752440));
  }
};

/// The tanh form, which approximates gelu.
struct GeluTanh {
  static constexpr OpId op = OpId::kGeluTanh;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    // 1 + tanh(u) is 2 sigmoid(2 u): without cancellation.
    const T u = T(1.5957691216057307917) * (x + T(0.044715) * (x * x * x));
    return x * Sigmoid()(u);
  }
};

struct Floor {
  static constexpr OpId op = OpId::kFloor;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return floor(x);
  }
};

struct Ceil {
  static constexpr OpId op = OpId::kCeil;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return ceil(x);
  }
};

struct Trunc {
  static constexpr OpId op = OpId::kTrunc;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return trunc(x);
  }
};

/// To the nearest integer, half to even.
struct Round {
  static constexpr OpId op = OpId::kRound;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return round_even(x);
  }
};

struct BitwiseNot {
  static constexpr OpId op = OpId::kBitwiseNot;
  using Types = IntegerTypes;
  template <class T>
  WICK_HD T operator()(T x) const {
    return T(~x);
  }
};

/// Served by every backend.
using CommonUnary = TypeList<Neg, Exp, Log, Sqrt, Silu>;
/// Every one.
using Unary = TypeList<Neg, Exp, Log, Sqrt, Silu, Abs, Sign, Relu, Recip, Sqr, Rsqrt, Exp2, Expm1,
                       Log2, Log10, Log1p, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Asinh,
                       Acosh, Atanh, Erf, Erfc, Lgamma, Digamma, Trigamma, Sigmoid, Gelu, GeluTanh,
                       Floor, Ceil, Round, Trunc, BitwiseNot>;

// With numbers beside x: NumberAttributes.

/// a x + b, rounded once where the machine has a fused product.
struct Affine {
  static constexpr OpId op = OpId::kAffine;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x, T a, T b) const {
    return fma(x, a, b);
  }
};

/// x, below 0 a (e^x - 1). Source: arXiv:1511.07289.
struct Elu {
  static constexpr OpId op = OpId::kElu;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x, T a, T) const {
    return select(x < T(0), a * expm1(x), x);
  }
};

/// x, below 0 a x.
struct LeakyRelu {
  static constexpr OpId op = OpId::kLeakyRelu;
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T x, T a, T) const {
    return select(x < T(0), a * x, x);
  }
};

using UnaryWithNumbers = TypeList<Affine, Elu, LeakyRelu>;

}  // namespace wick
