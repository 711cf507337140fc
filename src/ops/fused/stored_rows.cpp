#include "ops/fused/stored_rows.h"

#include "wick/abi/ops/quantize.h"
#include "wick/ops/cast.h"
#include "wick/ops/elementwise.h"
#include "wick/ops/quantize.h"

namespace wick {

StoredRows stored_rows(const Tensor& x, DType dtype) {
  if (dtype == DType::kI8) {
    const RowsInI8 y = quantize_i8(x);
    return {y.codes, y.scales};
  }
  constexpr double kMax = kMaxF8E4M3;
  if (dtype == DType::kF8E4M3 && x.dtype() != dtype)
    return {cast(clamp(x, {.min = -kMax, .max = kMax}), dtype), {}};
  return {cast(x, dtype), {}};
}

}  // namespace wick
