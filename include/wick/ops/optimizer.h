// Optimizer steps, which update the parameters in place.
#pragma once
#include "wick/core/var.h"

namespace wick {

struct AdamWOptions {
  double rate = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.01;
};

/// One step of AdamW. With g the gradient and `step` counted from 1:
///   mean = beta1 mean + (1 - beta1) g,  square = beta2 square + (1 - beta2) g²,
///   parameter = parameter (1 - rate weight_decay) -
///               rate (mean / (1 - beta1^step)) / (sqrt(square / (1 - beta2^step)) + eps).
/// All tensors share one shape, one floating dtype and one device.
/// Errors: kShapeMismatch, kDTypeMismatch; kInvalidArgument if step < 1.
/// Source: Loshchilov & Hutter 2017, arXiv:1711.05101, algorithm 2.
WICK_API void adamw_(Var& parameter, const Tensor& gradient, Var& mean, Var& square, int64_t step,
                     const AdamWOptions& options = {});

}  // namespace wick
