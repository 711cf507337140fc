// Ops of one operand, element by element.
// See elementwise.h for what these share.
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
/// x / (1 + e^-x). Max error: 4 ulp, of which 2 are an exponential's on some cards; 6 below -64
/// as a composite.
/// Source: Elfwing et al. 2017, arXiv:1702.03118.
WICK_API Tensor silu(Tensor x);

/// |x|. Exact; of integers the lowest stays. The gradient at 0 is 0.
WICK_API Tensor abs(Tensor x);
/// -1, 0 or 1; NaN stays. Exact. Its gradient is 0.
WICK_API Tensor sign(Tensor x);
/// The larger of x and 0; NaN stays. Exact. The gradient at 0 is 0.
WICK_API Tensor relu(Tensor x);
/// 1 / x. Max error: 0.5 ulp.
WICK_API Tensor reciprocal(Tensor x);
/// x^2. Max error: 0.5 ulp; integers wrap.
WICK_API Tensor square(Tensor x);
/// 1 / sqrt(x). Max error: 2 ulp.
WICK_API Tensor rsqrt(Tensor x);

/// @name Functions of real numbers
/// Integers compute in f32. Max error: 2 ulp, unless another is given.
/// @{

/// 2^x.
WICK_API Tensor exp2(Tensor x);
/// e^x - 1, with all digits near 0.
WICK_API Tensor expm1(Tensor x);
/// The logarithm to base 2.
WICK_API Tensor log2(Tensor x);
/// The logarithm to base 10.
WICK_API Tensor log10(Tensor x);
/// log(1 + x), with all digits near 0.
WICK_API Tensor log1p(Tensor x);
/// The sine.
WICK_API Tensor sin(Tensor x);
/// The cosine.
WICK_API Tensor cos(Tensor x);
/// The tangent.
WICK_API Tensor tan(Tensor x);
/// The angle in [-pi / 2, pi / 2] whose sine is x; NaN beyond -1 and 1.
WICK_API Tensor asin(Tensor x);
/// The angle in [0, pi] whose cosine is x; NaN beyond -1 and 1.
WICK_API Tensor acos(Tensor x);
/// The angle in [-pi / 2, pi / 2] whose tangent is x.
WICK_API Tensor atan(Tensor x);
/// (e^x - e^-x) / 2. Max error: 4 ulp above 80.
WICK_API Tensor sinh(Tensor x);
/// (e^x + e^-x) / 2. Max error: 4 ulp above 80.
WICK_API Tensor cosh(Tensor x);
/// The hyperbolic tangent: sinh(x) / cosh(x).
WICK_API Tensor tanh(Tensor x);
/// The inverse of sinh.
WICK_API Tensor asinh(Tensor x);
/// The inverse of cosh; NaN below 1.
WICK_API Tensor acosh(Tensor x);
/// The inverse of tanh; NaN beyond -1 and 1.
WICK_API Tensor atanh(Tensor x);
/// The error function: 2 / sqrt(pi) times the integral of e^-t^2 from 0 to x.
WICK_API Tensor erf(Tensor x);
/// 1 - erf(x), with all digits where that is small.
WICK_API Tensor erfc(Tensor x);
/// The logarithm of |gamma(x)|. Max error: 2 ulp, near its zeros more.
WICK_API Tensor lgamma(Tensor x);
/// The slope of lgamma. Error: |e| <= 4 u (1 + |y|) + 1 ulp of the output dtype, u of that dtype;
/// below 0, where it is digamma(1 - x) less pi cot(pi x), of these two in y's place.
WICK_API Tensor digamma(Tensor x);
/// The slope of digamma. Max error: 8 ulp.
WICK_API Tensor trigamma(Tensor x);
/// The derivative of digamma of this order, in [0, 170]; at 0, -1, -2 ... an infinity. Max error:
/// 2 (order + 4) ulp where x is positive. Errors: kInvalidArgument.
WICK_API Tensor polygamma(int order, Tensor x);

/// @}

/// 1 / (1 + e^-x). Max error: 4 ulp.
WICK_API Tensor sigmoid(Tensor x);
/// x times the normal distribution's share below x: the erf form. Max error: 24 ulp above -4, below
/// |e| <= 2 u x^2 |gelu(x)|. Source: Hendrycks & Gimpel 2016, arXiv:1606.08415.
WICK_API Tensor gelu(Tensor x);
/// x / (1 + e^(-2 u)), u = sqrt(2 / pi) (x + 0.044715 x^3): the tanh form of gelu. Max error: 32
/// ulp above -4.
WICK_API Tensor gelu_tanh(Tensor x);
/// x / (1 + |x|); of an infinity 1 with its sign. Max error: 2 ulp. Source: Turian et al. 2009,
/// "Quadratic features and deep architectures for chunking".
WICK_API Tensor softsign(Tensor x);
/// x, below 0 alpha (e^x - 1). Max error: 3 ulp. Source: Clevert et al. 2015, arXiv:1511.07289.
WICK_API Tensor elu(Tensor x, double alpha = 1);
/// x, below 0 slope x. Max error: 0.5 ulp.
WICK_API Tensor leaky_relu(Tensor x, double slope = 0.01);
/// log(1 + e^(beta x)) / beta; x where beta x is above the threshold.
WICK_API Tensor softplus(const Tensor& x, double beta = 1, double threshold = 20);
/// scale x + offset. Max error: 1 ulp of the product or of the result, whichever is more.
WICK_API Tensor affine(Tensor x, double scale, double offset);

/// @name Rounding
/// In x's dtype; integers stay. To an integer it is exact. The gradient is 0.
/// @{

/// x rounded down to an integer.
WICK_API Tensor floor(Tensor x);
/// x rounded up to an integer.
WICK_API Tensor ceil(Tensor x);
/// x rounded to the nearest integer, half to even.
WICK_API Tensor round(Tensor x);
/// x rounded to so many decimals, negative ones before the point; half to even, of x times the power
/// of ten as f32 has it (f64 of f64): 80.35f is 80.349998 and becomes 80.4.
WICK_API Tensor round(const Tensor& x, int decimals);
/// x rounded towards 0 to an integer.
WICK_API Tensor trunc(Tensor x);

/// @}

/// x - trunc(x).
WICK_API Tensor frac(const Tensor& x);
/// The opposite of each bit of integers, of a bool the opposite. Errors: kDTypeMismatch of floats.
WICK_API Tensor bitwise_not(Tensor x);

inline Tensor operator-(Tensor x) { return neg(std::move(x)); }

}  // namespace wick
