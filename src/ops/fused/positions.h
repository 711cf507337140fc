// What ops over tokens at positions share.
#pragma once
#include "ops/elementwise/dtypes.h"
#include "wick/ops/create.h"
#include "wick/ops/shape.h"

namespace wick {

/// Errors: kDTypeMismatch if positions are not i64, kShapeMismatch if not [batch, length].
inline void check_positions(const char* op, const Tensor& positions, int64_t batch,
                            int64_t length) {
  check_defined(op, positions);
  check(positions.dtype() == DType::kI64, ErrorCode::kDTypeMismatch, op,
        "expected positions of i64, got ", dtype_name(positions.dtype()));
  check(positions.shape() == Shape({batch, length}), ErrorCode::kShapeMismatch, op,
        "expected positions ", Shape({batch, length}), ", got ", positions.shape());
}

/// Positions 0 to length - 1 of each sequence: [batch, length], of one row in memory.
inline Tensor first_positions(int64_t batch, int64_t length, const Device& device) {
  return broadcast_to(arange(length, {.dtype = DType::kI64, .device = device}), {batch, length});
}

}  // namespace wick
