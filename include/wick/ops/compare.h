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

/// What the operators ==, !=, <, <=, > and >= give: the tensor of bool of eq, ne, lt, le, gt and
/// ge. Where C++ asks it for a truth value, as in `if (loss < 0.1)`, that is its only element's,
/// not whether there is a tensor.
class WICK_API Comparison : public Tensor {
 public:
  explicit Comparison(Tensor answers) : Tensor(std::move(answers)) {}
  /// The only element. Waits for the device. Errors: kShapeMismatch if there are more, or none.
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
// Both orders stand here, though C++20 would turn == round: it takes a turned one only if that
// gives bool.
inline Comparison operator==(Number a, const Tensor& b) { return Comparison(eq(b, a)); }
inline Comparison operator!=(Number a, const Tensor& b) { return Comparison(ne(b, a)); }
WICK_API Comparison operator<(Number a, const Tensor& b);
WICK_API Comparison operator<=(Number a, const Tensor& b);
WICK_API Comparison operator>(Number a, const Tensor& b);
WICK_API Comparison operator>=(Number a, const Tensor& b);

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
