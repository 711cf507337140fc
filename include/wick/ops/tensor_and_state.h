// The result of an op that keeps a state along a sequence.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

struct TensorAndState {
  Tensor y;      // of every token
  Tensor state;  // after the last token; pass it on to continue the sequence
};

}  // namespace wick
