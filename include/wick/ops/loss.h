// Loss functions.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

/// What becomes of the losses of the rows.
enum class Reduction {
  kMean,  // their sum, divided by the sum of the weights of their targets' classes
  kSum,
  kNone,  // a loss per row
};

struct NllLossOptions {
  Tensor weight = {};           // [C], floating: a factor for each class; empty: 1
  int64_t ignore_index = -100;  // rows with this target count as 0, and not in the mean
  Reduction reduction = Reduction::kMean;
};

struct CrossEntropyOptions {
  Tensor weight = {};           // as for nll_loss
  int64_t ignore_index = -100;  // as for nll_loss
  Reduction reduction = Reduction::kMean;
  double label_smoothing = 0;  // in [0, 1]: the part of each target that all classes share evenly
};

/// The loss -log softmax(logits)[target] of each row, times the class's weight. With label
/// smoothing e, 1 - e times that, plus e / C times the weighted sum of it over all classes. The mean
/// over no rows is NaN.
///
/// logits   [N, C]  floating
/// targets  [N]     integers in [0, C), or ignore_index
/// Returns a scalar, or [N] for Reduction::kNone, in f32 (f64 for f64). Errors: kShapeMismatch,
/// kDTypeMismatch, kDeviceMismatch, kOutOfRange; kInvalidArgument for label_smoothing outside
/// [0, 1].
WICK_API Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                              const CrossEntropyOptions& options = {});

/// The negative log-likelihood -log_probabilities[target] of each row, times the class's weight:
/// cross_entropy of what log_softmax returns. The mean over no rows is NaN.
///
/// log_probabilities  [N, C]  floating
/// targets            [N]     integers in [0, C), or ignore_index
/// Returns a scalar, or [N] for Reduction::kNone, in f32 (f64 for f64). Errors: kShapeMismatch,
/// kDTypeMismatch, kDeviceMismatch, kOutOfRange.
WICK_API Tensor nll_loss(const Tensor& log_probabilities, const Tensor& targets,
                         const NllLossOptions& options = {});

}  // namespace wick
