// Losses. Inner strides are 1.
#pragma once
#include "wick/abi/op.h"

namespace wick {

/// in logits [N, C], targets [N]; out loss [N], l [N]: log of the sum of exp.
inline constexpr Op kCrossEntropy{"cross_entropy", "TI:RR"};
/// in logits [N, C], targets [N], l [N], gloss [N]; out [N, C]: gloss (softmax - onehot).
inline constexpr Op kCrossEntropyGradient{"cross_entropy_gradient", "TIRR:T"};

}  // namespace wick
