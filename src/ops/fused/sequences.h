// Shared by the ops that carry a state from token to token: [B, T, ...] and the rows' lengths.
#pragma once
#include "ops/fused/fused.h"
#include "wick/ops/recurrence.h"

namespace wick {

/// The lengths as i64, which the kernels read; empty stays empty. Errors: kShapeMismatch if they
/// are not [batch]; kDTypeMismatch if they are not integers; kDeviceMismatch.
Tensor checked_lengths(const char* op, const Tensor& lengths, int64_t batch, const Tensor& x);

/// Checks an operand of a shape and dtype that x determines.
void check_operand(const char* op, const char* name, const Tensor& operand, const Shape& shape,
                   DType dtype, const Tensor& x);

/// Whether a token [B, T] is one of its row's, by the lengths [B].
Tensor is_token(const Tensor& lengths, int64_t tokens);

/// The lengths, those outside of [0, tokens] moved to the nearer end.
Tensor within(const Tensor& lengths, int64_t tokens);

/// What stands in for lengths that the kernel does not read.
Tensor any_lengths(const Device& device);

/// y without elements and the state after no token: the given one, or zeros of the shape.
TensorAndState without_tokens(const char* op, Tensor y, const Tensor& state, const Shape& shape,
                              DType dtype, std::initializer_list<const Tensor*> inputs);

}  // namespace wick
