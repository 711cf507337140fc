// Ops of two operands, or of one and a number, element by element.
// See elementwise.h for what these share.
#pragma once
#include "wick/core/number.h"
#include "wick/core/tensor.h"

namespace wick {

/// a + b. Max error: 0.5 ulp; integers wrap.
WICK_API Tensor add(Tensor a, const Tensor& b);
/// a - b. Max error: 0.5 ulp; integers wrap.
WICK_API Tensor sub(Tensor a, const Tensor& b);
/// a b. Max error: 0.5 ulp; integers wrap.
WICK_API Tensor mul(Tensor a, const Tensor& b);
/// a / b, true division: integers compute in f32. Max error: 0.5 ulp.
WICK_API Tensor div(Tensor a, const Tensor& b);
/// The larger of a and b; NaN wins. Exact.
WICK_API Tensor maximum(Tensor a, const Tensor& b);
/// The part of maximum's gradient that is a's: 1 where a is larger, 1/2 where they are equal, else
/// 0; NaN counts as largest. Floating; constant to the gradient. Exact.
WICK_API Tensor maximum_share(Tensor a, const Tensor& b);

/// The smaller of a and b; NaN wins. Exact.
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

/// @name Bits
/// Of integers and bool. Errors: kDTypeMismatch of floats.
/// @{

/// Each bit: whether both have it.
WICK_API Tensor bitwise_and(Tensor a, const Tensor& b);
/// Each bit: whether one of both has it, or both.
WICK_API Tensor bitwise_or(Tensor a, const Tensor& b);
/// Each bit: whether one of both has it alone.
WICK_API Tensor bitwise_xor(Tensor a, const Tensor& b);
/// a 2^b modulo 2^bits. A negative b, or one beyond the bits, moves all of them out.
WICK_API Tensor bitwise_left_shift(Tensor a, const Tensor& b);
/// floor(a / 2^b). A negative b, or one beyond the bits, moves all of them out.
WICK_API Tensor bitwise_right_shift(Tensor a, const Tensor& b);

/// @}

/// a + weight (b - a).
WICK_API Tensor lerp(const Tensor& a, const Tensor& b, const Tensor& weight);
WICK_API Tensor lerp(const Tensor& a, const Tensor& b, double weight);
/// x + value a b.
WICK_API Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, Number value = 1);
/// x + value a / b.
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

/// @name With a number
/// As of two tensors; core/number.h says what becomes of the dtype.
/// @{
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
WICK_API Tensor bitwise_left_shift(Tensor a, Number b);
WICK_API Tensor bitwise_right_shift(Tensor a, Number b);
WICK_API Tensor pow(Number a, const Tensor& b);
/// @}

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
