// Shared by linear, expert_linear and linear_groups.
#pragma once
#include "wick/abi/ops/linear_epilogue.h"
#include "wick/core/tensor.h"
#include "wick/ops/matmul.h"

namespace wick {

/// The dtype that holds the elements of both exactly and that sums are kept in.
inline DType wide_dtype_of(const Tensor& x, const Tensor& weight) {
  return x.dtype() == DType::kF64 || weight.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
}

struct ActivationFacts {
  EpilogueActivation in_kernels;
  Tensor (*op)(Tensor x);
};
const ActivationFacts& facts_of(Activation activation);

}  // namespace wick
