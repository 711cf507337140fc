// The sum, mean, maximum or minimum of the ranks' tensors, by wick's ops.
#pragma once
#include <vector>

#include "wick/core/tensor.h"
#include "wick/dist/process_group.h"

namespace wick::dist {

/// "sum".
const char* name_of(ReduceOp reduction);

/// Combines tensors in their order, in f32 for narrower floats, and rounds once.
Tensor combine(const std::vector<Tensor>& parts, ReduceOp reduction);

}  // namespace wick::dist
