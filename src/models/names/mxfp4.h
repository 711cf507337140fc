// Weights in OCP's MX format of 4 bits, as folders have them.
#pragma once
#include "models/names/tensor_plan.h"

namespace wick {

/// Makes a tensor NAME.weight [..., in] of dtype mxfp4 of each pair NAME_blocks [..., in / 32, 16]
/// and NAME_scales [..., in / 32] of u8. A block's bytes are reordered, not expanded: byte i of a
/// block in folders has the elements 2i and 2i + 1, in the dtype i and i + 16.
/// Errors: kFormat if their shapes or dtypes do not fit.
void pack_mxfp4(TensorPlan& plan);

}  // namespace wick
