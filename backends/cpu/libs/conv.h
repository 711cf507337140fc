// Convolution and its gradients by oneDNN, for f32 and bf16. Other dtypes use the composite.
#pragma once
#include "wick/abi/backend.h"
#include "wick/abi/ops/conv.h"

namespace wick::cpu {

class Table;

/// Adds kernels of kConv, kConvInputGradient and kConvWeightGradient; none under WICK_CPU_LIBS=off.
void add_convolutions(Table& table);

}  // namespace wick::cpu
