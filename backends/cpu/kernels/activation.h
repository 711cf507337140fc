// The activations of linear_epilogue, on f32 sums.
#pragma once
#include "kernels/elementwise.h"
#include "scalar/unary.h"
#include "wick/abi/ops/linear_epilogue.h"

namespace wick::cpu::WICK_ISA {

/// LinearData::activate.
inline void activate(EpilogueActivation activation, float* y, int64 n) {
  switch (activation) {
    case EpilogueActivation::kNone:
      return;
    case EpilogueActivation::kRelu:
      return apply_lanes<Relu, float, 1>(y, nullptr, y, n);
    case EpilogueActivation::kSilu:
      return apply_lanes<Silu, float, 1>(y, nullptr, y, n);
    case EpilogueActivation::kGelu:
      return apply_lanes<Gelu, float, 1>(y, nullptr, y, n);
    case EpilogueActivation::kGeluTanh:
      return apply_lanes<GeluTanh, float, 1>(y, nullptr, y, n);
  }
}

}  // namespace wick::cpu::WICK_ISA
