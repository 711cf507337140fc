#include "ops/elementwise/elementwise.h"

#include "base/calling.h"
#include "ops/reduce/reduce.h"
#include "ops/shape/filled.h"
#include "wick/ops/cast.h"
#include "wick/ops/composite.h"
#include "wick/ops/create.h"

namespace wick {

DType operand_dtype(const Op& op, DTypeRule rule, DType dtype) {
  const bool of_bits = rule == DTypeRule::kBits || rule == DTypeRule::kIntegers;
  check(!of_bits || !is_floating(dtype), ErrorCode::kDTypeMismatch, op.name,
        "expected integers, got ", dtype_name(dtype));
  if (rule == DTypeRule::kFloats) return floating(dtype);
  return dtype == DType::kBool && rule != DTypeRule::kBits ? DType::kI64 : dtype;
}

Tensor output_for(const Tensor& x, const Shape& shape, DType dtype, bool may_reuse, const Op& op,
                  int num_in) {
  if (may_reuse && x.uniquely_owned() && x.dtype() == dtype && x.shape() == shape &&
      x.is_contiguous()) {
    const bool in_place = num_in == 1 ? may_run_in_place(x.device(), op, {dtype, dtype}, 1)
                                      : may_run_in_place(x.device(), op, {dtype, dtype, dtype}, 2);
    if (in_place) return x;
  }
  return Tensor::empty(shape, {.dtype = dtype, .device = x.device()});
}

Tensor scalar_like(const Tensor& x, Number value, DType dtype) {
  return filled({}, value, {.dtype = dtype, .device = x.device()});
}

Tensor widened(const Tensor& x) { return cast(x, computed_in(x.dtype())); }

Tensor run_unary(const UnarySemantics& m, Tensor x) {
  check_defined(m.op.name, x);
  const DType dtype = operand_dtype(m.op, m.rule, x.dtype());
  if (x.dtype() != dtype) x = cast(x, dtype);
  const CompositeMode mode = composite_mode();
  const auto composite = [&m](const auto&... in) {
    const Calling calling(m.op.name);
    return m.composite(in...);
  };
  if (m.composite && mode == CompositeMode::kAlways) return composite(x);
  const bool on_tape = recording({&x});
  const Tensor y = output_for(x, x.shape(), x.dtype(), !on_tape, m.op, 1);
  const Operand in = operand(x), out = operand(y);
  Declined declined;
  if (!try_elementwise(x.device(), m.op, x.shape(), {&in, 1}, {&out, 1}, {}, &declined)) {
    if (m.composite && mode == CompositeMode::kAuto) return composite(x);
    fail_unsupported(x.device(), m.op, x.dtype(), declined,
                     m.composite ? kCompositeOff : kNoComposite);
  }
  if (!on_tape) return y;
  return record(m.op.name, y, {&x}, m.keep, [&m](const RuleContext& c, std::span<Tensor> g) {
    g[0] = m.gradient(c.gradient, c);
  });
}

Tensor run_binary(const BinarySemantics& m, Tensor a, const Tensor& b, DType dtype) {
  check_same_device(m.op.name, a, b);
  dtype = operand_dtype(m.op, m.rule, dtype);
  if (a.dtype() != dtype) a = cast(a, dtype);
  const Tensor other = b.dtype() != dtype ? cast(b, dtype) : b;
  const CompositeMode mode = composite_mode();
  const auto composite = [&m](const auto&... in) {
    const Calling calling(m.op.name);
    return m.composite(in...);
  };
  if (m.composite && mode == CompositeMode::kAlways) return composite(a, other);
  const Shape shape = broadcast_shapes(m.op.name, a.shape(), other.shape());
  const bool on_tape = m.gradient && recording({&a, &other});
  const Tensor y = output_for(a, shape, dtype, !on_tape && !a.same(other), m.op, 2);
  const Operand in[] = {operand(a, shape), operand(other, shape)};
  const Operand out = operand(y);
  Declined declined;
  if (!try_elementwise(a.device(), m.op, shape, in, {&out, 1}, {}, &declined)) {
    if (m.composite && mode == CompositeMode::kAuto) return composite(a, other);
    fail_unsupported(a.device(), m.op, dtype, declined, m.composite ? kCompositeOff : kNoComposite);
  }
  if (!on_tape) return y;
  return record(
      m.op.name, y, {&a, &other}, m.keep, [&m](const RuleContext& c, std::span<Tensor> g) {
        for (int side = 0; side < 2; side++)
          if (c.wants(side))
            g[size_t(side)] = sum_to(m.gradient(c.gradient, c, side), c.input_shape(side));
      });
}

Tensor run_binary(const BinarySemantics& m, Tensor a, const Tensor& b) {
  check_defined(m.op.name, a);
  check_defined(m.op.name, b);
  const DType dtype = promote(a, b);
  return run_binary(m, std::move(a), b, dtype);
}

Tensor run_binary(const BinarySemantics& m, Tensor a, Number b) {
  check_defined(m.op.name, a);
  const DType dtype = promote(a.dtype(), b);
  const Tensor other = scalar_like(a, b, operand_dtype(m.op, m.rule, dtype));
  return run_binary(m, std::move(a), other, dtype);
}

}  // namespace wick
