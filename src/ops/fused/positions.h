// What ops over tokens at positions share.
#pragma once
#include "ops/elementwise/dtypes.h"

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

}  // namespace wick
