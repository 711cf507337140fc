// Questions with yes and no for an answer, element by element.
// See elementwise.h for what these share.
#pragma once
#include "wick/core/number.h"
#include "wick/core/tensor.h"

namespace wick {

/// @name Comparisons
/// Give bool; with NaN all are false but ne. A number that the tensor's dtype does not hold is
/// compared as what it is.
/// @{

/// Whether a = b.
WICK_API Tensor eq(const Tensor& a, const Tensor& b);
/// Whether a and b differ.
WICK_API Tensor ne(const Tensor& a, const Tensor& b);
/// Whether a < b.
WICK_API Tensor lt(const Tensor& a, const Tensor& b);
/// Whether a <= b.
WICK_API Tensor le(const Tensor& a, const Tensor& b);
/// Whether a > b.
WICK_API Tensor gt(const Tensor& a, const Tensor& b);
/// Whether a >= b.
WICK_API Tensor ge(const Tensor& a, const Tensor& b);

WICK_API Tensor eq(const Tensor& a, Number b);
WICK_API Tensor ne(const Tensor& a, Number b);
WICK_API Tensor lt(const Tensor& a, Number b);
WICK_API Tensor le(const Tensor& a, Number b);
WICK_API Tensor gt(const Tensor& a, Number b);
WICK_API Tensor ge(const Tensor& a, Number b);

/// @}

/// Whether elements are NaN: bool; of integers false.
WICK_API Tensor isnan(const Tensor& x);
/// Whether elements are inf or -inf: bool; of integers false.
WICK_API Tensor isinf(const Tensor& x);
/// Whether elements are neither NaN nor infinite: bool; of integers true.
WICK_API Tensor isfinite(const Tensor& x);

/// @name Logic
/// Of operands as bool: whether they are not 0. Gives bool.
/// @{

/// Whether both are true.
WICK_API Tensor logical_and(const Tensor& a, const Tensor& b);
/// Whether one of both is true, or both.
WICK_API Tensor logical_or(const Tensor& a, const Tensor& b);
/// Whether one of both is true alone.
WICK_API Tensor logical_xor(const Tensor& a, const Tensor& b);
/// Whether x is false.
WICK_API Tensor logical_not(const Tensor& x);

/// @}

}  // namespace wick
