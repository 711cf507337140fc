// Helpers that the reductions share.
#pragma once
#include "wick/ops/reduce.h"

namespace wick {

/// The mask of the dims to reduce, one entry per dim; all dims if `dims` is empty. Errors: kOutOfRange;
/// kInvalidArgument if a dim is given twice.
Dims reduced_dims(const char* op, const Tensor& x, const Dims& dims);
/// The shape with the dims of the mask set to 1, or removed.
Shape reduced_shape(const Shape& shape, const Dims& mask, bool keepdim);
/// x with the reduced dims last, merged into one: [K..., R].
Tensor reduced_last(const Tensor& x, const Dims& mask);
/// The number of elements reduced to one.
int64_t reduced_count(const Tensor& x, const Dims& mask);
/// The indices of the dims in the mask.
Dims dims_of(const Dims& mask);
/// Broadcasts a tensor of the reduced shape back to the input's shape.
Tensor spread(const Tensor& reduced, const Shape& shape, const Dims& mask);

/// The sum of the squares of x, f32 or f64, for the op of this name.
Tensor squares_summed(const char* name, const Tensor& x, const ReduceOptions& options);

/// Sums over the dims along which an operand was broadcast: gradient [result's shape] -> [shape].
Tensor sum_to(const Tensor& gradient, const Shape& shape);

}  // namespace wick
