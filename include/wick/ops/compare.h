// Questions with yes and no for an answer, element by element.
// See elementwise.h for what these share.
#pragma once
#include "wick/core/number.h"
#include "wick/core/tensor.h"

namespace wick {

/// Comparisons of a with b give bool; with NaN all are false but ne.
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
/// Whether elements are NaN, infinite, finite: bool; of integers false, false, true.
WICK_API Tensor isnan(const Tensor& x);
WICK_API Tensor isinf(const Tensor& x);
WICK_API Tensor isfinite(const Tensor& x);
// Logic on operands as bool: whether they are not 0.
WICK_API Tensor logical_and(const Tensor& a, const Tensor& b);
WICK_API Tensor logical_or(const Tensor& a, const Tensor& b);
WICK_API Tensor logical_xor(const Tensor& a, const Tensor& b);
WICK_API Tensor logical_not(const Tensor& x);

}  // namespace wick
