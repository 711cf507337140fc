// Shared by linear and expert_linear.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

/// The dtype that holds the elements of both exactly and that sums are kept in.
inline DType wide_dtype_of(const Tensor& x, const Tensor& weight) {
  return x.dtype() == DType::kF64 || weight.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
}

}  // namespace wick
