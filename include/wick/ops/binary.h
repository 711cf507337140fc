// Elementwise ops on two tensors, or on a tensor and a number.
// See elementwise.h for the rules they share.
#pragma once
#include "wick/core/number.h"
#include "wick/core/tensor.h"

namespace wick {

/// a + b. Max error: 0.5 ulp; integers wrap; bool is a or b.
WICK_API Tensor add(Tensor a, const Tensor& b);
/// a - b. Max error: 0.5 ulp; integers wrap; bool computes in i64.
WICK_API Tensor sub(Tensor a, const Tensor& b);
/// a b. Max error: 0.5 ulp; integers wrap; bool is a and b.
WICK_API Tensor mul(Tensor a, const Tensor& b);
/// a / b, true division: integers compute in f32. Max error: 0.5 ulp.
WICK_API Tensor div(Tensor a, const Tensor& b);
/// The larger of a and b; NaN if either is NaN; bool is a or b. Exact.
WICK_API Tensor maximum(Tensor a, const Tensor& b);
/// a's share of the gradient of maximum(a, b): 1 where a is larger, 1/2 where they are equal, 0
/// elsewhere. NaN counts as larger than every number. Floating; the gradient treats the result as a
/// constant. Exact.
WICK_API Tensor maximum_share(Tensor a, const Tensor& b);

/// The smaller of a and b; NaN if either is NaN; bool is a and b. Exact.
WICK_API Tensor minimum(Tensor a, const Tensor& b);
/// a^b, following C99's pow: 0^0 is 1, and a negative base with an odd integer exponent gives a
/// negative result. Max error: 2 ulp. Integers compute modulo 2^bits; a negative exponent gives 0
/// unless the base is 1 or -1.
WICK_API Tensor pow(Tensor a, const Tensor& b);
/// a - b floor(a / b), with the sign of the divisor. Integer division by 0 gives 0. Max error: 1
/// ulp.
WICK_API Tensor remainder(Tensor a, const Tensor& b);
/// a - b trunc(a / b), with the sign of the dividend. Integer division by 0 gives 0. Exact.
WICK_API Tensor fmod(Tensor a, const Tensor& b);
/// floor(a / b), in the operands' dtype. Integer division by 0 gives 0. Max error: 1 ulp. The
/// gradient is 0.
WICK_API Tensor floor_divide(Tensor a, const Tensor& b);
/// The angle of the point (x, y) = (b, a), in radians. Max error: 2 ulp. The gradients at (0, 0)
/// and where an operand is infinite are 0.
WICK_API Tensor atan2(Tensor a, const Tensor& b);

/// @name Bitwise ops
/// Integers and bool. Errors: kDTypeMismatch for floats.
/// @{

/// Bitwise AND.
WICK_API Tensor bitwise_and(Tensor a, const Tensor& b);
/// Bitwise OR.
WICK_API Tensor bitwise_or(Tensor a, const Tensor& b);
/// Bitwise XOR.
WICK_API Tensor bitwise_xor(Tensor a, const Tensor& b);
/// a 2^b modulo 2^bits. A negative b, or one of at least the bit width, shifts out all bits.
WICK_API Tensor bitwise_left_shift(Tensor a, const Tensor& b);
/// floor(a / 2^b). A negative b, or one of at least the bit width, shifts out all bits.
WICK_API Tensor bitwise_right_shift(Tensor a, const Tensor& b);

/// @}

/// a + weight (b - a).
WICK_API Tensor lerp(const Tensor& a, const Tensor& b, const Tensor& weight);
WICK_API Tensor lerp(const Tensor& a, const Tensor& b, double weight);
/// x + value a b.
WICK_API Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, Number value = 1);
/// x + value a / b.
WICK_API Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, Number value = 1);
/// sqrt(a^2 + b^2), without overflow or underflow of the squares. The gradients at (0, 0) are 0.
WICK_API Tensor hypot(const Tensor& a, const Tensor& b);
/// log(e^a + e^b). The gradients of two -inf are 0.
WICK_API Tensor logaddexp(const Tensor& a, const Tensor& b);

/// silu(a) · b. Floating; computes in f32 (f64 for f64). Max error: 7 ulp where silu(a) is not
/// subnormal. Source: Shazeer 2020, arXiv:2002.05202.
WICK_API Tensor swiglu(Tensor a, const Tensor& b);

/// The gradient of silu at x, given the output gradient gy: gy s (1 + x (1 - s)), s = 1 / (1 +
/// e^-x). Floating. Error: |e| <= 14 u |gy| s (1 + |x| (1 - s)) + 1 ulp of the output dtype.
WICK_API Tensor silu_gradient(Tensor gy, const Tensor& x);

/// @name With a number
/// As with two tensors; core/number.h gives the rules for the dtype. An integer outside the range
/// of an integer dtype wraps in ops that compute modulo 2^bits (add, sub, mul, the bitwise ops, the
/// base of pow); to maximum and minimum it is the nearest number of the dtype; a shift by it shifts
/// out all bits. Errors: kInvalidArgument for such an integer in remainder, fmod and floor_divide,
/// and as the exponent of pow.
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
