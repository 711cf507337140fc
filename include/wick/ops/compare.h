// Elementwise comparisons, tests and logic.
// See elementwise.h for the rules they share.
#pragma once
#include "wick/core/number.h"
#include "wick/core/tensor.h"

namespace wick {

/// @name Comparisons
/// Return bool. With NaN every comparison is false but ne. A number that the tensor's dtype cannot
/// represent is compared by its exact value.
/// @{

/// Whether a == b.
WICK_API Tensor eq(const Tensor& a, const Tensor& b);
/// Whether a != b.
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

/// The bool tensor that the operators ==, !=, <, <=, > and >= return, as eq, ne, lt, le, gt and ge
/// do. Converted to a C++ bool, as in `if (loss < 0.1)`, it gives its only element's value, not
/// whether the tensor is defined.
class WICK_API Comparison : public Tensor {
 public:
  explicit Comparison(Tensor answers) : Tensor(std::move(answers)) {}
  /// The only element. Waits for the device. Errors: kShapeMismatch unless there is exactly one
  /// element.
  explicit operator bool() const;
};

inline Comparison operator==(const Tensor& a, const Tensor& b) { return Comparison(eq(a, b)); }
inline Comparison operator!=(const Tensor& a, const Tensor& b) { return Comparison(ne(a, b)); }
inline Comparison operator<(const Tensor& a, const Tensor& b) { return Comparison(lt(a, b)); }
inline Comparison operator<=(const Tensor& a, const Tensor& b) { return Comparison(le(a, b)); }
inline Comparison operator>(const Tensor& a, const Tensor& b) { return Comparison(gt(a, b)); }
inline Comparison operator>=(const Tensor& a, const Tensor& b) { return Comparison(ge(a, b)); }
inline Comparison operator==(const Tensor& a, Number b) { return Comparison(eq(a, b)); }
inline Comparison operator!=(const Tensor& a, Number b) { return Comparison(ne(a, b)); }
inline Comparison operator<(const Tensor& a, Number b) { return Comparison(lt(a, b)); }
inline Comparison operator<=(const Tensor& a, Number b) { return Comparison(le(a, b)); }
inline Comparison operator>(const Tensor& a, Number b) { return Comparison(gt(a, b)); }
inline Comparison operator>=(const Tensor& a, Number b) { return Comparison(ge(a, b)); }
// Both operand orders are declared: C++20 reverses == by itself only if it returns bool.
inline Comparison operator==(Number a, const Tensor& b) { return Comparison(eq(b, a)); }
inline Comparison operator!=(Number a, const Tensor& b) { return Comparison(ne(b, a)); }
WICK_API Comparison operator<(Number a, const Tensor& b);
WICK_API Comparison operator<=(Number a, const Tensor& b);
WICK_API Comparison operator>(Number a, const Tensor& b);
WICK_API Comparison operator>=(Number a, const Tensor& b);

/// Whether each element is NaN: bool; false for integers.
WICK_API Tensor isnan(const Tensor& x);
/// Whether each element is inf or -inf: bool; false for integers.
WICK_API Tensor isinf(const Tensor& x);
/// Whether each element is neither NaN nor infinite: bool; true for integers.
WICK_API Tensor isfinite(const Tensor& x);

/// @name Logic
/// Operands count as true where they are not 0. Return bool.
/// @{

/// Whether both are true.
WICK_API Tensor logical_and(const Tensor& a, const Tensor& b);
/// Whether at least one is true.
WICK_API Tensor logical_or(const Tensor& a, const Tensor& b);
/// Whether exactly one is true.
WICK_API Tensor logical_xor(const Tensor& a, const Tensor& b);
/// Whether x is false.
WICK_API Tensor logical_not(const Tensor& x);

/// @}

}  // namespace wick
