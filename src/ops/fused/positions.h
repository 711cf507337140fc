// Token positions, for the ops that take them.
#pragma once
#include "ops/elementwise/dtypes.h"
#include "ops/shape/gather.h"
#include "wick/ops/create.h"
#include "wick/ops/shape.h"

namespace wick {

/// positions as i64, which the kernels read. Errors: kDTypeMismatch if they are not integers;
/// kShapeMismatch if they are not [batch, length].
inline Tensor checked_positions(const char* op, const Tensor& positions, int64_t batch,
                                int64_t length) {
  check_defined(op, positions);
  check(positions.shape() == Shape({batch, length}), ErrorCode::kShapeMismatch, op,
        "expected positions ", Shape({batch, length}), ", got ", positions.shape());
  return ids_as_i64(op, "positions", positions);
}

/// Positions 0 to length - 1 of each sequence: [batch, length] i64, a view of memory that calls share and
/// nobody may write.
Tensor first_positions(int64_t batch, int64_t length, const Device& device);

}  // namespace wick
