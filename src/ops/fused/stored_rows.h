// Rows of keys or values in the dtype of a cache.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

struct StoredRows {
  Tensor rows;    // [..., D]
  Tensor scales;  // [..., D / 32] of rows in i8; else empty
};
/// x as a cache of `dtype` holds it: by quantize_i8, or cast; numbers beyond the largest of f8e4m3
/// become that. Errors: as of quantize_i8 and cast.
WICK_API StoredRows stored_rows(const Tensor& x, DType dtype);

}  // namespace wick
