// full without its check, for numbers that ops choose.
#pragma once
#include "wick/core/number.h"
#include "wick/core/tensor.h"

namespace wick {

/// A tensor filled with the number, converted as cast does: integers wrap, floats overflow.
Tensor filled(const Shape& shape, Number value, const TensorOptions& options);

}  // namespace wick
