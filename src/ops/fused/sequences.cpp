#include "ops/fused/sequences.h"

#include "ops/elementwise/dtypes.h"
#include "ops/fused/positions.h"
#include "wick/ops/compare.h"
#include "wick/ops/elementwise.h"
#include "wick/ops/where.h"

namespace wick {

Tensor checked_lengths(const char* op, const Tensor& lengths, int64_t batch, const Tensor& x) {
  if (!lengths) return lengths;
  check_same_device(op, x, lengths);
  check(lengths.shape() == Shape({batch}), ErrorCode::kShapeMismatch, op, "expected lengths ",
        Shape({batch}), ", got ", lengths.shape());
  return ids_as_i64(op, "lengths", lengths);
}

void check_operand(const char* op, const char* name, const Tensor& operand, const Shape& shape,
                   DType dtype, const Tensor& x) {
  check_defined(op, operand);
  check_same_device(op, x, operand);
  check(operand.dtype() == dtype, ErrorCode::kDTypeMismatch, op, "expected ", name, " of ",
        dtype_name(dtype), ", got ", dtype_name(operand.dtype()));
  check(operand.shape() == shape, ErrorCode::kShapeMismatch, op, "expected ", name, " ", shape,
        ", got ", operand.shape());
}

Tensor is_token(const Tensor& lengths, int64_t tokens) {
  return lt(arange(tokens, {.dtype = DType::kI64, .device = lengths.device()}),
            unsqueeze(lengths, 1));
}

Tensor within(const Tensor& lengths, int64_t tokens) {
  return clamp(lengths, {.min = 0, .max = tokens});
}

Tensor any_lengths(const Device& device) { return first_positions(1, 1, device); }

TensorAndState without_tokens(const char* op, Tensor y, const Tensor& state, const Shape& shape,
                              DType dtype, std::initializer_list<const Tensor*> inputs) {
  const Tensor last = state ? state : zeros(shape, {.dtype = dtype, .device = y.device()});
  return {record_constant(op, std::move(y), inputs),
          state ? last : record_constant(op, last, inputs)};
}

}  // namespace wick
