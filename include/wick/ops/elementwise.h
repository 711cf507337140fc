// Element by element. Operands broadcast (NumPy's rule); mixed dtypes promote as PyTorch's do, and
// a number does not promote a tensor within its kind. f16, bf16 and f8 compute in f32.
//
// Where an operand is taken by value and handed over (std::move) as its only owner, the result may
// be written over it. Errors, of all with two operands: kShapeMismatch, kDeviceMismatch.
#pragma once
#include <optional>

#include "wick/core/number.h"
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
/// x / (1 + e^-x). Max error: 4 ulp, of which 2 are an exponential's on some cards; 6 below -64 as
/// a composite.
/// Source: Elfwing et al. 2017, arXiv:1702.03118.
WICK_API Tensor silu(Tensor x);

/// |x|. Exact; of integers the lowest stays. The gradient at 0 is 0.
WICK_API Tensor abs(Tensor x);
/// -1, 0 or 1; NaN stays. Exact. Its gradient is 0.
WICK_API Tensor sign(Tensor x);
/// The larger of x and 0; NaN stays. Exact. The gradient at 0 is 0.
WICK_API Tensor relu(Tensor x);
/// 1 / x. Max error: 0.5 ulp.
WICK_API Tensor recip(Tensor x);
/// x^2. Max error: 0.5 ulp; integers wrap.
WICK_API Tensor sqr(Tensor x);
/// 1 / sqrt(x). Max error: 2 ulp.
WICK_API Tensor rsqrt(Tensor x);

// Integers compute in f32. Max error: 2 ulp; sinh, cosh 4 above 80; lgamma 4, near its zeros more.
WICK_API Tensor exp2(Tensor x);
WICK_API Tensor expm1(Tensor x);
WICK_API Tensor log2(Tensor x);
WICK_API Tensor log10(Tensor x);
WICK_API Tensor log1p(Tensor x);
WICK_API Tensor sin(Tensor x);
WICK_API Tensor cos(Tensor x);
WICK_API Tensor tan(Tensor x);
WICK_API Tensor asin(Tensor x);
WICK_API Tensor acos(Tensor x);
WICK_API Tensor atan(Tensor x);
WICK_API Tensor sinh(Tensor x);
WICK_API Tensor cosh(Tensor x);
WICK_API Tensor tanh(Tensor x);
WICK_API Tensor asinh(Tensor x);
WICK_API Tensor acosh(Tensor x);
WICK_API Tensor atanh(Tensor x);
WICK_API Tensor erf(Tensor x);
WICK_API Tensor erfc(Tensor x);
/// The logarithm of |gamma(x)|, its slope, and the slope of that, which has no gradient.
WICK_API Tensor lgamma(Tensor x);
WICK_API Tensor digamma(Tensor x);
WICK_API Tensor trigamma(Tensor x);

/// 1 / (1 + e^-x). Max error: 4 ulp.
WICK_API Tensor sigmoid(Tensor x);
/// x times the normal distribution's share below x: the erf form. Max error: 24 ulp above -4, below
/// |e| <= 2 u x^2 |gelu(x)|. Source: Hendrycks & Gimpel 2016, arXiv:1606.08415.
WICK_API Tensor gelu(Tensor x);
/// x / (1 + e^(-2 u)), u = sqrt(2 / pi) (x + 0.044715 x^3): the tanh form.
WICK_API Tensor gelu_tanh(Tensor x);
/// x, below 0 alpha (e^x - 1). Max error: 3 ulp. Source: Clevert et al. 2015, arXiv:1511.07289.
WICK_API Tensor elu(Tensor x, double alpha = 1);
/// x, below 0 slope x.
WICK_API Tensor leaky_relu(Tensor x, double slope = 0.01);
/// log(1 + e^(beta x)) / beta; x where beta x is above the threshold.
WICK_API Tensor softplus(const Tensor& x, double beta = 1, double threshold = 20);
/// scale x + offset. Max error: 1 ulp of the product or of the result, whichever is more.
WICK_API Tensor affine(Tensor x, double scale, double offset);

// To an integer, in x's dtype: down, up, to the nearest (half to even), towards 0. Exact; the
// gradient is 0.
WICK_API Tensor floor(Tensor x);
WICK_API Tensor ceil(Tensor x);
WICK_API Tensor round(Tensor x);
WICK_API Tensor trunc(Tensor x);
/// x - trunc(x).
WICK_API Tensor frac(const Tensor& x);
/// To so many decimals, negative ones before the point; half to even.
WICK_API Tensor round_to(const Tensor& x, int decimals);

/// a + b. Max error: 0.5 ulp; integers wrap.
WICK_API Tensor add(Tensor a, const Tensor& b);
WICK_API Tensor sub(Tensor a, const Tensor& b);
WICK_API Tensor mul(Tensor a, const Tensor& b);
/// a / b, true division: integers compute in f32.
WICK_API Tensor div(Tensor a, const Tensor& b);
/// The larger; NaN wins.
WICK_API Tensor maximum(Tensor a, const Tensor& b);
/// The part of maximum's gradient that is a's: 1 where a is larger, 1/2 where they are equal, else
/// 0; NaN counts as largest. Floating; constant to the gradient. Exact.
WICK_API Tensor maximum_share(Tensor a, const Tensor& b);

/// The smaller; NaN wins.
WICK_API Tensor minimum(Tensor a, const Tensor& b);
/// a^b as C99's pow: 0^0 is 1, a negative base with an integer power has its sign. Max error: 2
/// ulp. Of integers modulo 2^bits; a negative power is 0 but of 1 and -1.
WICK_API Tensor pow(Tensor a, const Tensor& b);
/// a - b floor(a / b): the divisor's sign. By integer 0 it is 0. Max error: 1 ulp.
WICK_API Tensor remainder(Tensor a, const Tensor& b);
/// a - b trunc(a / b): the dividend's sign. By integer 0 it is 0. Exact.
WICK_API Tensor fmod(Tensor a, const Tensor& b);
/// floor(a / b), in the operands' dtype. By integer 0 it is 0. Max error: 1 ulp. Its gradient is 0.
WICK_API Tensor floor_divide(Tensor a, const Tensor& b);
/// The angle of the point (b, a). Max error: 2 ulp.
WICK_API Tensor atan2(Tensor a, const Tensor& b);

// Bit by bit, of integers and bool. Errors: kDTypeMismatch of floats.
WICK_API Tensor bitwise_and(Tensor a, const Tensor& b);
WICK_API Tensor bitwise_or(Tensor a, const Tensor& b);
WICK_API Tensor bitwise_xor(Tensor a, const Tensor& b);
WICK_API Tensor bitwise_not(Tensor x);
/// a 2^b modulo 2^bits, floor(a / 2^b). A negative b, or one beyond the bits, moves all of them
/// out.
WICK_API Tensor shift_left(Tensor a, const Tensor& b);
WICK_API Tensor shift_right(Tensor a, const Tensor& b);

/// a + weight (b - a).
WICK_API Tensor lerp(const Tensor& a, const Tensor& b, const Tensor& weight);
WICK_API Tensor lerp(const Tensor& a, const Tensor& b, double weight);
/// x + value a b, x + value a / b.
WICK_API Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, Number value = 1);
WICK_API Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, Number value = 1);
/// sqrt(a^2 + b^2), whose squares neither overflow nor vanish.
WICK_API Tensor hypot(const Tensor& a, const Tensor& b);
/// log(e^a + e^b).
WICK_API Tensor logaddexp(const Tensor& a, const Tensor& b);

/// silu(a) · b. Floating; computed in f32 (f64 for f64). Max error: 7 ulp, where silu(a) is no
/// subnormal. Source: Shazeer 2020, arXiv:2002.05202.
WICK_API Tensor swiglu(Tensor a, const Tensor& b);

/// The gradient of x through silu for gy of its result: gy s (1 + x (1 - s)), s = 1 / (1 + e^-x).
/// Floating. Error: |e| <= 14 u |gy| s (1 + |x| (1 - s)) + 1 ulp of the output dtype.
WICK_API Tensor silu_gradient(Tensor gy, const Tensor& x);

/// Comparisons give bool; with NaN all are false but ne.
WICK_API Tensor eq(const Tensor& a, const Tensor& b);
WICK_API Tensor ne(const Tensor& a, const Tensor& b);
WICK_API Tensor lt(const Tensor& a, const Tensor& b);
WICK_API Tensor le(const Tensor& a, const Tensor& b);
WICK_API Tensor gt(const Tensor& a, const Tensor& b);
WICK_API Tensor ge(const Tensor& a, const Tensor& b);
// A number that the tensor's dtype does not hold is compared as what it is.
WICK_API Tensor eq(const Tensor& a, Number b);
WICK_API Tensor ne(const Tensor& a, Number b);
WICK_API Tensor lt(const Tensor& a, Number b);
WICK_API Tensor le(const Tensor& a, Number b);
WICK_API Tensor gt(const Tensor& a, Number b);
WICK_API Tensor ge(const Tensor& a, Number b);
/// Of integers: false, false, true.
WICK_API Tensor isnan(const Tensor& x);
WICK_API Tensor isinf(const Tensor& x);
WICK_API Tensor isfinite(const Tensor& x);
// Of operands as bool: whether they are not 0.
WICK_API Tensor logical_and(const Tensor& a, const Tensor& b);
WICK_API Tensor logical_or(const Tensor& a, const Tensor& b);
WICK_API Tensor logical_xor(const Tensor& a, const Tensor& b);
WICK_API Tensor logical_not(const Tensor& x);
/// condition ? a : b. condition: bool, or a dtype that cast takes to it. a and b promote.
WICK_API Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
WICK_API Tensor where(const Tensor& condition, const Tensor& a, Number b);
WICK_API Tensor where(const Tensor& condition, Number a, const Tensor& b);
/// x with the number where the mask (bool, broadcast to x) is true; x's dtype.
WICK_API Tensor masked_fill(const Tensor& x, const Tensor& mask, Number value);

struct ClampOptions {
  std::optional<Number> min = {};
  std::optional<Number> max = {};
};
/// x, not below min and then not above max; NaN stays. A real bound makes f32 of integers. The
/// gradient passes where min < x < max.
WICK_API Tensor clamp(const Tensor& x, const ClampOptions& options);

WICK_API Tensor add(Tensor a, Number b);
WICK_API Tensor sub(Tensor a, Number b);
WICK_API Tensor mul(Tensor a, Number b);
WICK_API Tensor div(Tensor a, Number b);
WICK_API Tensor maximum(Tensor a, Number b);
WICK_API Tensor minimum(Tensor a, Number b);
WICK_API Tensor pow(Tensor a, Number b);
WICK_API Tensor remainder(Tensor a, Number b);
WICK_API Tensor fmod(Tensor a, Number b);
WICK_API Tensor floor_divide(Tensor a, Number b);
WICK_API Tensor bitwise_and(Tensor a, Number b);
WICK_API Tensor bitwise_or(Tensor a, Number b);
WICK_API Tensor bitwise_xor(Tensor a, Number b);
WICK_API Tensor shift_left(Tensor a, Number b);
WICK_API Tensor shift_right(Tensor a, Number b);
WICK_API Tensor pow(Number a, const Tensor& b);

/// x as another dtype: itself if already so. Float to integer cuts and saturates, NaN gives 0; to
/// bool: whether not zero.
WICK_API Tensor cast(const Tensor& x, DType dtype);

inline Tensor operator-(Tensor x) { return neg(std::move(x)); }
inline Tensor operator+(Tensor a, const Tensor& b) { return add(std::move(a), b); }
inline Tensor operator-(Tensor a, const Tensor& b) { return sub(std::move(a), b); }
inline Tensor operator*(Tensor a, const Tensor& b) { return mul(std::move(a), b); }
inline Tensor operator/(Tensor a, const Tensor& b) { return div(std::move(a), b); }
inline Tensor operator+(Tensor a, Number b) { return add(std::move(a), b); }
inline Tensor operator-(Tensor a, Number b) { return sub(std::move(a), b); }
inline Tensor operator*(Tensor a, Number b) { return mul(std::move(a), b); }
inline Tensor operator/(Tensor a, Number b) { return div(std::move(a), b); }
inline Tensor operator+(Number a, Tensor b) { return add(std::move(b), a); }
inline Tensor operator*(Number a, Tensor b) { return mul(std::move(b), a); }
WICK_API Tensor operator-(Number a, const Tensor& b);
WICK_API Tensor operator/(Number a, const Tensor& b);

}  // namespace wick
