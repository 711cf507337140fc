// Questions with yes and no for an answer, and choices by them.
#include <limits>

#include "ops/elementwise.h"
#include "scalar/compare.h"
#include "wick/abi/ops/elementwise.h"
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

/// Whether an integer dtype, or bool as 0 and 1, has the number.
bool holds(DType dtype, int64_t number) {
  if (dtype == DType::kBool) return number == 0 || number == 1;
  const int bits = 8 * dtype_size(dtype);
  if (!is_signed(dtype)) return number >= 0 && (bits == 64 || number < int64_t(1) << bits);
  return bits == 64 || (number >= -(int64_t(1) << (bits - 1)) && number < int64_t(1) << (bits - 1));
}

Tensor compare(const Op& op, const Tensor& a, Number b) {
  check_defined(op.name, a);
  DType dtype = promote(a.dtype(), b);
  // A number that the dtype does not have is still larger or smaller than all that it has.
  if (!is_floating(dtype) && !holds(a.dtype(), b.integer()))
    dtype = a.dtype() == DType::kU64 ? DType::kF64 : DType::kI64;
  return compare_in(op, a, scalar_like(a, b, dtype), dtype);
}

/// A predicate that integers answer with `of_integers`.
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

Tensor isnan(const Tensor& x) { return ask(IsNan::op, x, false); }
Tensor isinf(const Tensor& x) { return ask(IsInf::op, x, false); }
Tensor isfinite(const Tensor& x) { return ask(IsFinite::op, x, true); }

Tensor logical_and(const Tensor& a, const Tensor& b) {
  return bitwise_and(as_bool("logical_and", a), as_bool("logical_and", b));
}
Tensor logical_or(const Tensor& a, const Tensor& b) {
  return bitwise_or(as_bool("logical_or", a), as_bool("logical_or", b));
}
Tensor logical_xor(const Tensor& a, const Tensor& b) {
  return bitwise_xor(as_bool("logical_xor", a), as_bool("logical_xor", b));
}
Tensor logical_not(const Tensor& x) {
  return eq(as_bool("logical_not", x), full({}, 0, {.dtype = DType::kBool, .device = x.device()}));
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  check_defined("where", condition);
  check_defined("where", a);
  check_defined("where", b);
  check_same_device("where", condition, a);
  check_same_device("where", a, b);
  const DType dtype = promote(a, b);
  const Tensor mask = cast(condition, DType::kBool), yes = cast(a, dtype), no = cast(b, dtype);
  const Shape shape =
      broadcast_shapes("where", condition.shape(), broadcast_shapes("where", a.shape(), b.shape()));
  const Tensor y = Tensor::empty(shape, {.dtype = dtype, .device = a.device()});
  const Operand in[] = {operand(mask, shape), operand(yes, shape), operand(no, shape)};
  const Operand out = operand(y);
  elementwise(a.device(), kWhere, shape, in, {&out, 1});
  return record("where", y, {&yes, &no, &mask}, kKeepInput2,
                [](const RuleContext& c, std::span<Tensor> g) {
                  const Tensor zero = scalar_like(c.gradient, 0, c.gradient.dtype());
                  if (c.wants(0))
                    g[0] = sum_to(where(c.input(2), c.gradient, zero), c.input_shape(0));
                  if (c.wants(1))
                    g[1] = sum_to(where(c.input(2), zero, c.gradient), c.input_shape(1));
                });
}
Tensor where(const Tensor& condition, const Tensor& a, Number b) {
  check_defined("where", a);
  return where(condition, a, scalar_like(a, b, promote(a.dtype(), b)));
}
Tensor where(const Tensor& condition, Number a, const Tensor& b) {
  check_defined("where", b);
  return where(condition, scalar_like(b, a, promote(b.dtype(), a)), b);
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, Number value) {
  check_defined("masked_fill", x);
  check_defined("masked_fill", mask);
  check(mask.dtype() == DType::kBool, ErrorCode::kDTypeMismatch, "masked_fill",
        "expected a mask of bool, got ", dtype_name(mask.dtype()));
  check(broadcast_shapes("masked_fill", x.shape(), mask.shape()) == x.shape(),
        ErrorCode::kShapeMismatch, "masked_fill", "a mask ", mask.shape(),
        " does not broadcast to ", x.shape());
  return where(mask, scalar_like(x, value, x.dtype()), x);
}

Tensor clamp(const Tensor& x, const ClampOptions& options) {
  check_defined("clamp", x);
  DType dtype = x.dtype();
  if (options.min) dtype = promote(dtype, *options.min);
  if (options.max) dtype = promote(dtype, *options.max);
  const Tensor wide = cast(x, dtype);
  Tensor y = wide.detach(), inside;
  if (options.min) {
    y = maximum(y, scalar_like(x, *options.min, dtype));
    inside = gt(wide, *options.min);
  }
  if (options.max) {
    y = minimum(y, scalar_like(x, *options.max, dtype));
    const Tensor below = lt(wide, *options.max);
    inside = inside ? logical_and(inside, below) : below;
  }
  if (!inside) return wide;
  return record(
      "clamp", y, {&wide}, kKeepNothing,
      [inside](const RuleContext& c, std::span<Tensor> g) { g[0] = where(inside, c.gradient, 0); });
}

}  // namespace wick
