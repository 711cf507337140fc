// Elementwise ops on one tensor.
// See elementwise.h for the rules they share.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

/// -x. x: any shape, numeric. Exact; integers wrap.
WICK_API Tensor neg(Tensor x);
/// e^x. x: any shape; integers compute in f32. Max error: 2 ulp.
WICK_API Tensor exp(Tensor x);
/// The natural logarithm; NaN below 0, -inf at 0. Max error: 2 ulp.
WICK_API Tensor log(Tensor x);
/// The square root; NaN below 0. Max error: 0.5 ulp.
WICK_API Tensor sqrt(Tensor x);
/// x / (1 + e^-x). Max error: 4 ulp, 2 of which come from the exponential on some cards; the
/// composite has 6 ulp below -64. Source: Elfwing et al. 2017, arXiv:1702.03118.
WICK_API Tensor silu(Tensor x);

/// |x|. Exact; the lowest integer stays as it is. The gradient at 0 is 0.
WICK_API Tensor abs(Tensor x);
/// -1, 0 or 1; NaN for NaN; bool stays as it is. Exact. The gradient is 0.
WICK_API Tensor sign(Tensor x);
/// The larger of x and 0; NaN for NaN. Exact. The gradient at 0 is 0.
WICK_API Tensor relu(Tensor x);
/// 1 / x. Max error: 0.5 ulp.
WICK_API Tensor reciprocal(Tensor x);
/// x^2. Max error: 0.5 ulp; integers wrap.
WICK_API Tensor square(Tensor x);
/// 1 / sqrt(x). Max error: 2 ulp.
WICK_API Tensor rsqrt(Tensor x);

/// @name Functions of real numbers
/// Integers compute in f32. Max error: 2 ulp, unless stated otherwise.
/// @{

/// 2^x.
WICK_API Tensor exp2(Tensor x);
/// e^x - 1, accurate near 0.
WICK_API Tensor expm1(Tensor x);
/// The base-2 logarithm.
WICK_API Tensor log2(Tensor x);
/// The base-10 logarithm.
WICK_API Tensor log10(Tensor x);
/// log(1 + x), accurate near 0.
WICK_API Tensor log1p(Tensor x);
/// The sine of x in radians.
WICK_API Tensor sin(Tensor x);
/// The cosine of x in radians.
WICK_API Tensor cos(Tensor x);
/// The tangent of x in radians.
WICK_API Tensor tan(Tensor x);
/// The arcsine in [-pi / 2, pi / 2]; NaN outside [-1, 1].
WICK_API Tensor asin(Tensor x);
/// The arccosine in [0, pi]; NaN outside [-1, 1].
WICK_API Tensor acos(Tensor x);
/// The arctangent in [-pi / 2, pi / 2].
WICK_API Tensor atan(Tensor x);
/// (e^x - e^-x) / 2. Max error: 4 ulp above 80.
WICK_API Tensor sinh(Tensor x);
/// (e^x + e^-x) / 2. Max error: 4 ulp above 80.
WICK_API Tensor cosh(Tensor x);
/// The hyperbolic tangent: sinh(x) / cosh(x).
WICK_API Tensor tanh(Tensor x);
/// The inverse hyperbolic sine.
WICK_API Tensor asinh(Tensor x);
/// The inverse hyperbolic cosine; NaN below 1.
WICK_API Tensor acosh(Tensor x);
/// The inverse hyperbolic tangent; NaN outside [-1, 1].
WICK_API Tensor atanh(Tensor x);
/// The error function: 2 / sqrt(pi) times the integral of e^-t^2 from 0 to x.
WICK_API Tensor erf(Tensor x);
/// 1 - erf(x), accurate where that is small.
WICK_API Tensor erfc(Tensor x);
/// log |gamma(x)|. Max error: 2 ulp, more near its zeros.
WICK_API Tensor lgamma(Tensor x);
/// The derivative of lgamma. Error: |e| <= 4 u (1 + |y|) + 1 ulp of the output dtype, u: its unit
/// roundoff. For x < 0, where digamma(x) = digamma(1 - x) - pi cot(pi x), the magnitudes of these
/// two terms replace |y|.
WICK_API Tensor digamma(Tensor x);
/// The derivative of digamma. Max error: 8 ulp.
WICK_API Tensor trigamma(Tensor x);
/// The derivative of digamma of the given order, in [0, 170]; infinite at 0, -1, -2 ... Max error:
/// 2 (order + 4) ulp for positive x. Errors: kInvalidArgument for an order out of range.
WICK_API Tensor polygamma(int order, Tensor x);

/// @}

/// 1 / (1 + e^-x). Max error: 4 ulp.
WICK_API Tensor sigmoid(Tensor x);
/// x times the standard normal distribution function of x: the erf form. Max error: 24 ulp above
/// -4; below, |e| <= 2 u x^2 |gelu(x)|. Source: Hendrycks & Gimpel 2016, arXiv:1606.08415.
WICK_API Tensor gelu(Tensor x);
/// The tanh form of gelu: x / (1 + e^(-2 u)), u = sqrt(2 / pi) (x + 0.044715 x^3). Max error: 32
/// ulp above -4.
WICK_API Tensor gelu_tanh(Tensor x);
/// x / (1 + |x|); 1 with the sign of x for infinities. Max error: 2 ulp. Source: Turian et al.
/// 2009, "Quadratic features and deep architectures for chunking".
WICK_API Tensor softsign(Tensor x);
/// x for x > 0, else alpha (e^x - 1). Max error: 3 ulp. Source: Clevert et al. 2015,
/// arXiv:1511.07289.
WICK_API Tensor elu(Tensor x, double alpha = 1);
/// x for x > 0, else slope x. Max error: 0.5 ulp.
WICK_API Tensor leaky_relu(Tensor x, double slope = 0.01);
/// log(1 + e^(beta x)) / beta; x where beta x exceeds the threshold.
WICK_API Tensor softplus(const Tensor& x, double beta = 1, double threshold = 20);
/// scale x + offset. Max error: 1 ulp of the product or of the result, whichever is larger.
WICK_API Tensor affine(Tensor x, double scale, double offset);

/// @name Rounding
/// Returns x's dtype; integers are unchanged. Rounding to an integer is exact. The gradient is 0.
/// @{

/// x rounded down to an integer.
WICK_API Tensor floor(Tensor x);
/// x rounded up to an integer.
WICK_API Tensor ceil(Tensor x);
/// x rounded to the nearest integer, halves to even.
WICK_API Tensor round(Tensor x);
/// x rounded to a number of decimals; a negative number rounds before the decimal point. Halves of
/// x times the power of ten, computed in f32 (f64 for f64), go to even: 80.35f is 80.349998 and
/// becomes 80.4.
WICK_API Tensor round(const Tensor& x, int decimals);
/// x rounded towards 0 to an integer.
WICK_API Tensor trunc(Tensor x);

/// @}

/// x - trunc(x).
WICK_API Tensor frac(const Tensor& x);
/// The complement of each bit; logical not for bool. Errors: kDTypeMismatch for floats.
WICK_API Tensor bitwise_not(Tensor x);

inline Tensor operator-(Tensor x) { return neg(std::move(x)); }

}  // namespace wick
