// Embeddings that are no numbers.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

/// Checks that embeddings [N, D] f32, scaled to length 1, are finite.
///
/// op, item  name the caller and a row in the error's text
/// dtype     of the computation
/// Errors: kFormat.
void require_finite_rows(const char* op, const char* item, const Tensor& rows, DType dtype);

}  // namespace wick
