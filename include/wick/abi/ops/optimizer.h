// Steps of optimizers, in place.
#pragma once
#include "wick/abi/op.h"

namespace wick {

/// mean = beta1 mean + (1 - beta1) g
/// square = beta2 square + (1 - beta2) g^2
/// parameter = parameter (1 - rate weight_decay) -
///             rate (mean mean_scale) / (sqrt(square square_scale) + eps)
struct AdamWAttributes {
  static constexpr const char* kLayout =
      "f64 rate, beta1, beta2, eps, weight_decay, mean_scale, square_scale";
  double rate, beta1, beta2, eps, weight_decay;
  double mean_scale, square_scale;  // 1 / (1 - beta^step)
};
/// in gradient [N]; out parameter, mean, square [N], updated.
inline constexpr Op kAdamW{"adamw", "T:TTT", attributes<AdamWAttributes>};

}  // namespace wick
