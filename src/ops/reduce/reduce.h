// What reductions share.
#pragma once
#include "wick/ops/reduce.h"

namespace wick {

/// Which dims go, as a mark per dim. None given: all. Errors: kOutOfRange, kInvalidArgument if one
/// comes twice.
Dims reduced_dims(const char* op, const Tensor& x, const Dims& dims);
/// How many elements become one.
int64_t reduced_count(const Tensor& x, const Dims& marks);
/// The marked dims.
Dims marked(const Dims& marks);
/// Something of the reduced shape as one of the input's: repeated along the reduced dims.
Tensor spread(const Tensor& reduced, const Shape& shape, const Dims& marks);

/// Sums over the dims along which x was broadcast to y: gradient [y's shape] -> [shape].
Tensor sum_to(const Tensor& gradient, const Shape& shape);

}  // namespace wick
