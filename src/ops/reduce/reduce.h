// What reductions share.
#pragma once
#include "wick/ops/reduce.h"

namespace wick {

/// Which dims are reduced, as a mark per dim; all if none is given. Errors: kOutOfRange,
/// kInvalidArgument if one comes twice.
Dims reduced_dims(const char* op, const Tensor& x, const Dims& dims);
/// The number of elements that become one.
int64_t reduced_count(const Tensor& x, const Dims& marks);
/// The marked dims.
Dims marked(const Dims& marks);
/// Something of the reduced shape as one of the input's: repeated along the reduced dims.
Tensor spread(const Tensor& reduced, const Shape& shape, const Dims& marks);

/// Sums over the dims along which x was broadcast to y: gradient [y's shape] -> [shape].
Tensor sum_to(const Tensor& gradient, const Shape& shape);

}  // namespace wick
