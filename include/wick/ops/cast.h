// Conversion from one dtype to another.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

/// x converted to another dtype; x itself if it has that dtype. Float to integer truncates and
/// saturates, and NaN becomes 0. Conversion to bool gives true for everything but 0.
///
/// A block dtype (q8_0 and the like) decodes to the values that ggml gives, bit for bit in f32; a
/// narrower float is rounded from that. q4_0, q4_1, q5_0, q5_1, q8_0, mxfp4, tq1_0 and tq2_0 can be
/// the target: ggml's reference rounding, in f32. The last dim must be whole blocks. No gradient
/// passes.
/// Errors: kUnsupported for another block dtype as the target; kInvalidArgument for a part of a
/// block.
WICK_API Tensor cast(const Tensor& x, DType dtype);

}  // namespace wick
