// Writing into a tensor's memory, which every holder of the tensor sees.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

/// Writes x, cast and broadcast, into the memory of `to`. Errors, in the name of `op`:
/// kShapeMismatch, kDeviceMismatch.
void write_into(const char* op, const Tensor& to, const Tensor& x);

}  // namespace wick
