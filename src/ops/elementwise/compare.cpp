// Elementwise comparisons, tests for NaN and infinities, and logic.
#include "wick/ops/compare.h"

#include "base/calling.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/range.h"
#include "scalar/compare.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"

namespace wick {
namespace {

Tensor compare_in(const Op& op, const Tensor& a, const Tensor& b, DType dtype) {
  check_same_device(op.name, a, b);
  if (dtype == DType::kBool && op != Eq::op && op != Ne::op) dtype = DType::kU8;
  const Tensor lhs = cast(a.detach(), dtype), rhs = cast(b.detach(), dtype);
  const Shape shape = broadcast_shapes(op.name, a.shape(), b.shape());
  const Tensor y = Tensor::empty(shape, {.dtype = DType::kBool, .device = a.device()});
  const Operand in[] = {operand(lhs, shape), operand(rhs, shape)};
  const Operand out = operand(y);
  elementwise(a.device(), op, shape, in, {&out, 1});
  return y;
}

Tensor compare(const Op& op, const Tensor& a, const Tensor& b) {
  check_defined(op.name, a);
  check_defined(op.name, b);
  return compare_in(op, a, b, promote(a, b));
}

Tensor compare(const Op& op, const Tensor& a, Number b) {
  check_defined(op.name, a);
  const DType dtype = promote(a.dtype(), b);
  // A number that the dtype cannot hold lies above or below all of its finite values.
  if (!holds(is_floating(dtype) ? dtype : a.dtype(), b)) {
    const bool above = b.real() > 0, less = op == Lt::op || op == Le::op;
    if (is_floating(dtype) && op != Eq::op && op != Ne::op) {  // a may have infinities and NaN
      const Number end = above ? highest(dtype) : lowest(dtype);
      const Op& past_end = above ? (less ? Le::op : Gt::op) : (less ? Lt::op : Ge::op);
      return compare_in(past_end, a, scalar_like(a, end, dtype), dtype);
    }
    const bool is_true = op == Ne::op || (op != Eq::op && less == above);
    return full(a.shape(), is_true, {.dtype = DType::kBool, .device = a.device()});
  }
  return compare_in(op, a, scalar_like(a, b, dtype), dtype);
}

/// A predicate whose answer for integers is `of_integers`.
Tensor ask(const Op& op, const Tensor& x, bool of_integers) {
  check_defined(op.name, x);
  const TensorOptions options{.dtype = DType::kBool, .device = x.device()};
  if (!is_floating(x.dtype())) return full(x.shape(), int(of_integers), options);
  const Tensor y = Tensor::empty(x.shape(), options);
  const Operand in = operand(x), out = operand(y);
  elementwise(x.device(), op, x.shape(), {&in, 1}, {&out, 1});
  return y;
}

Tensor as_bool(const char* op, const Tensor& x) {
  check_defined(op, x);
  return cast(x.detach(), DType::kBool);
}

}  // namespace

Tensor eq(const Tensor& a, const Tensor& b) { return compare(Eq::op, a, b); }
Tensor ne(const Tensor& a, const Tensor& b) { return compare(Ne::op, a, b); }
Tensor lt(const Tensor& a, const Tensor& b) { return compare(Lt::op, a, b); }
Tensor le(const Tensor& a, const Tensor& b) { return compare(Le::op, a, b); }
Tensor gt(const Tensor& a, const Tensor& b) { return compare(Gt::op, a, b); }
Tensor ge(const Tensor& a, const Tensor& b) { return compare(Ge::op, a, b); }
Tensor eq(const Tensor& a, Number b) { return compare(Eq::op, a, b); }
Tensor ne(const Tensor& a, Number b) { return compare(Ne::op, a, b); }
Tensor lt(const Tensor& a, Number b) { return compare(Lt::op, a, b); }
Tensor le(const Tensor& a, Number b) { return compare(Le::op, a, b); }
Tensor gt(const Tensor& a, Number b) { return compare(Gt::op, a, b); }
Tensor ge(const Tensor& a, Number b) { return compare(Ge::op, a, b); }

Comparison::operator bool() const {
  check(numel() == 1, ErrorCode::kShapeMismatch, "comparison",
        "expected one element for a truth value, got shape ", shape(), ": use any or all");
  return item<bool>();
}

Comparison operator<(Number a, const Tensor& b) { return b > a; }
Comparison operator<=(Number a, const Tensor& b) { return b >= a; }
Comparison operator>(Number a, const Tensor& b) { return b < a; }
Comparison operator>=(Number a, const Tensor& b) { return b <= a; }

Tensor isnan(const Tensor& x) { return ask(IsNan::op, x, false); }
Tensor isinf(const Tensor& x) { return ask(IsInf::op, x, false); }
Tensor isfinite(const Tensor& x) { return ask(IsFinite::op, x, true); }

Tensor logical_and(const Tensor& a, const Tensor& b) {
  const Calling calling("logical_and");
  return bitwise_and(as_bool("logical_and", a), as_bool("logical_and", b));
}
Tensor logical_or(const Tensor& a, const Tensor& b) {
  const Calling calling("logical_or");
  return bitwise_or(as_bool("logical_or", a), as_bool("logical_or", b));
}
Tensor logical_xor(const Tensor& a, const Tensor& b) {
  const Calling calling("logical_xor");
  return bitwise_xor(as_bool("logical_xor", a), as_bool("logical_xor", b));
}
Tensor logical_not(const Tensor& x) {
  const Calling calling("logical_not");
  return eq(as_bool("logical_not", x), full({}, 0, {.dtype = DType::kBool, .device = x.device()}));
}

}  // namespace wick
