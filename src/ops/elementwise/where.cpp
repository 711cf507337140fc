#include "wick/ops/where.h"

#include "base/calling.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/range.h"
#include "ops/reduce/reduce.h"
#include "wick/abi/ops/where.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/compare.h"

namespace wick {
namespace {

/// The number as a tensor without dims. Errors: kInvalidArgument unless the dtype holds it.
Tensor held_scalar(const char* op, const Tensor& x, Number value, DType dtype) {
  check_holds(op, dtype, value);
  return scalar_like(x, value, dtype);
}

}  // namespace

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
  return where(condition, a, held_scalar("where", a, b, promote(a.dtype(), b)));
}
Tensor where(const Tensor& condition, Number a, const Tensor& b) {
  check_defined("where", b);
  return where(condition, held_scalar("where", b, a, promote(b.dtype(), a)), b);
}
Tensor where(const Tensor& condition, Number a, Number b) {
  check_defined("where", condition);
  const DType dtype = a.is_bool() && b.is_bool()         ? DType::kBool
                      : a.is_integer() && b.is_integer() ? DType::kI64
                                                         : DType::kF32;
  return where(condition, held_scalar("where", condition, a, dtype),
               held_scalar("where", condition, b, dtype));
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, Number value) {
  check_defined("masked_fill", x);
  check_defined("masked_fill", mask);
  check(mask.dtype() == DType::kBool, ErrorCode::kDTypeMismatch, "masked_fill",
        "expected a mask of bool, got ", dtype_name(mask.dtype()));
  check(broadcast_shapes("masked_fill", x.shape(), mask.shape()) == x.shape(),
        ErrorCode::kShapeMismatch, "masked_fill", "a mask ", mask.shape(),
        " does not broadcast to ", x.shape());
  return where(mask, held_scalar("masked_fill", x, value, x.dtype()), x);
}

Tensor clamp(const Tensor& x, const ClampOptions& options) {
  const Calling calling("clamp");
  check_defined("clamp", x);
  DType dtype = x.dtype();
  if (options.min) dtype = promote(dtype, *options.min);
  if (options.max) dtype = promote(dtype, *options.max);
  const Tensor wide = cast(x, dtype);
  Tensor y = wide.detach(), inside;
  if (options.min) {
    y = maximum(y, scalar_like(x, into_range(dtype, *options.min), dtype));
    inside = gt(wide, *options.min);
  }
  if (options.max) {
    y = minimum(y, scalar_like(x, into_range(dtype, *options.max), dtype));
    const Tensor below = lt(wide, *options.max);
    inside = inside ? logical_and(inside, below) : below;
  }
  if (!inside) return wide;
  return record(
      "clamp", y, {&wide}, kKeepNothing,
      [inside](const RuleContext& c, std::span<Tensor> g) { g[0] = where(inside, c.gradient, 0); });
}

}  // namespace wick
