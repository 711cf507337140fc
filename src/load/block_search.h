// Quantization to the block formats that rounding alone does not define: their scales are searched.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

/// Whether quantize_by_search writes the dtype: q2_k to q6_k, iq4_nl, iq4_xs.
bool is_searched(DType dtype);

/// Quantizes x to a searched dtype: for each block, the scales, offsets and quants of a small sum
/// of squared differences, of all elements alike.
///
/// x       [..., K]  f32, finite, contiguous, on the CPU; K: whole blocks
/// Returns [..., K]  dtype
/// Source: the candidates of a group's scale are ggml's (MIT); then scales and factors are
/// fitted by turns to the quants that they give.
Tensor quantize_by_search(const Tensor& x, DType dtype);

}  // namespace wick
