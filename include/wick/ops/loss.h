// Loss functions.
#pragma once
#include <optional>

#include "wick/core/tensor.h"

namespace wick {

/// How the losses of all targets become the result.
enum class Reduction {
  kMean,  // their sum, divided by the sum of the weights of the targets' classes
  kSum,
  kNone,  // one loss per target, in the shape of the targets
};

struct NllLossOptions {
  Tensor weight = {};                        // [C], floating: a factor per class; empty: 1
  std::optional<int64_t> ignore_index = {};  // targets equal to it have the loss 0 and no weight
  Reduction reduction = Reduction::kMean;
};

struct CrossEntropyOptions {
  Tensor weight = {};                        // as for nll_loss
  std::optional<int64_t> ignore_index = {};  // as for nll_loss; for classes only
  Reduction reduction = Reduction::kMean;
  double label_smoothing = 0;  // in [0, 1]: the part of each target that all classes share evenly
};

/// The mean over all targets of -log softmax(logits)[target] · weight[target]: their sum, divided
/// by the sum of weight[target]; NaN if no target counts. With label smoothing e, each loss is 1 -
/// e times that, plus e / C times the sum over classes c of -log softmax(logits)[c] · weight[c].
/// Targets may instead be the probabilities of all classes: a loss is then the sum over c of
/// -log softmax(logits)[c] · weight[c] · target[c], and the mean divides by the number of losses.
///
/// logits   [N, C, ...] or [C]  floating
/// targets  [N, ...] or []      integers in [0, C) or equal to ignore_index
///          or like logits      floating
/// Returns a scalar, or a loss per target for Reduction::kNone, in f32 (f64 for f64). Errors:
/// kShapeMismatch, kDTypeMismatch, kDeviceMismatch; kOutOfRange for other targets, also -100 unless
/// ignore_index says so; kInvalidArgument for label_smoothing outside [0, 1], or for ignore_index
/// beside probabilities.
WICK_API Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                              const CrossEntropyOptions& options = {});

/// The negative log-likelihood -log_probabilities[target]: cross_entropy of the logits that
/// log_softmax has made log_probabilities of.
///
/// log_probabilities  [N, C, ...] or [C]  floating
/// targets            [N, ...] or []      integers in [0, C) or equal to ignore_index
/// Returns and errors as for cross_entropy.
WICK_API Tensor nll_loss(const Tensor& log_probabilities, const Tensor& targets,
                         const NllLossOptions& options = {});

}  // namespace wick
