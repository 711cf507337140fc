#include "wick/ops/loss.h"

#include "base/calling.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/shape/gather.h"
#include "ops/tape/tape.h"
#include "wick/abi/ops/loss.h"
#include "wick/ops/elementwise.h"
#include "wick/ops/gather.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"
#include "wick/ops/softmax.h"

namespace wick {
namespace {

/// -log_probabilities[target] for each row: [N].
Tensor picked(const Tensor& log_probabilities, const Tensor& targets) {
  return -squeeze(gather(log_probabilities, 1, unsqueeze(targets, 1)), 1);
}

/// log softmax(logits) in the dtype of the accumulator.
Tensor logarithms(const Tensor& logits) {
  return log_softmax(cast(logits, accumulator_of(logits.dtype())), 1);
}

/// -log softmax(logits)[target] for each row: [N].
Tensor cross_entropy_rows(const Tensor& logits, const Tensor& ids) {
  const Tensor targets = make_contiguous(ids);
  if (logits.numel() == 0) return picked(logarithms(logits), targets);
  const TensorOptions statistics{.dtype = accumulator_of(logits.dtype()),
                                 .device = logits.device()};
  const Tensor loss = Tensor::empty({logits.size(0)}, statistics),
               l = Tensor::empty({logits.size(0)}, statistics);
  return fused({.op = kCrossEntropy,
                .inputs = {&logits, &targets},
                .in = {rows(logits), as_is(targets)},
                .out = {as_is(loss), as_is(l)},
                .composite = [](const auto& in) { return picked(logarithms(in[0]), in[1]); },
                .gradient =
                    [l](const RuleContext& c, std::span<Tensor> g) {
                      g[0] = empty_gradient(c, 0);
                      return run_fused(
                          kCrossEntropyGradient,
                          {rows(c.input(0)), as_is(c.input(1)), as_is(l), contiguous(c.gradient)},
                          {rows(g[0])});
                    }});
}

/// The targets of rows, and how much each row counts.
struct Targets {
  Tensor ids;      // [N] in i64; 0 in rows that do not count
  Tensor counted;  // [N], bool
  Tensor weight;   // [C] in the accumulator's dtype; empty: 1
  Tensor share;    // [N] in the accumulator's dtype: the weight of the row's class, or 0
};

/// Checks the operands of a loss and reads its targets.
Targets targets_of(const char* op, const char* name, const Tensor& x, const Tensor& any_targets,
                   const Tensor& weight, int64_t ignore_index) {
  check_floating(op, x);
  check_defined(op, any_targets);
  check_same_device(op, x, any_targets);
  const Tensor targets = ids_as_i64(op, "targets", any_targets);
  check(x.rank() == 2 && targets.rank() == 1 && targets.size(0) == x.size(0),
        ErrorCode::kShapeMismatch, op, "expected ", name, " [N, C] and targets [N], got ",
        x.shape(), " and ", targets.shape());
  if (weight) {
    check_floating(op, weight);
    check_same_device(op, x, weight);
    check(weight.shape() == Shape{x.size(1)}, ErrorCode::kShapeMismatch, op,
          "expected a weight for each of ", x.size(1), " classes, got shape ", weight.shape());
  }
  const DType dtype = accumulator_of(x.dtype());
  Targets result;
  result.counted = ne(targets, ignore_index);
  result.ids = where(result.counted, targets, 0);
  if (!weight) {
    result.share = cast(result.counted, dtype);
    return result;
  }
  result.weight = cast(weight, dtype);
  result.share = where(result.counted, gather(result.weight, 0, result.ids), 0);
  return result;
}

/// The losses [N] of rows that count, reduced.
Tensor reduced(const Tensor& losses, const Targets& targets, Reduction reduction) {
  // By `where`: a row that does not count may have a loss that is no number.
  const Tensor counted = where(targets.counted, losses, 0);
  if (reduction == Reduction::kNone) return counted;
  const Tensor total = sum(counted);
  return reduction == Reduction::kSum ? total : total / sum(targets.share);
}

Tensor weighted(const Tensor& losses, const Targets& targets) {
  return targets.weight ? losses * targets.share : losses;
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& any_targets,
                     const CrossEntropyOptions& options) {
  const Calling calling("cross_entropy");
  const double smoothing = options.label_smoothing;
  check(0 <= smoothing && smoothing <= 1, ErrorCode::kInvalidArgument, "cross_entropy",
        "label_smoothing: expected a number in [0, 1], got ", smoothing);
  const Targets targets = targets_of("cross_entropy", "logits", logits, any_targets, options.weight,
                                     options.ignore_index);
  if (smoothing == 0)
    return reduced(weighted(cross_entropy_rows(logits, targets.ids), targets), targets,
                   options.reduction);
  const Tensor log_probabilities = logarithms(logits);  // [N, C]
  const Tensor of_target = weighted(picked(log_probabilities, targets.ids), targets),
               of_all =
                   -sum(targets.weight ? log_probabilities * targets.weight : log_probabilities,
                        {.dims = {1}});
  return reduced(of_target * (1 - smoothing) + of_all * (smoothing / double(logits.size(1))),
                 targets, options.reduction);
}

Tensor nll_loss(const Tensor& log_probabilities, const Tensor& any_targets,
                const NllLossOptions& options) {
  const Calling calling("nll_loss");
  const Targets targets = targets_of("nll_loss", "log_probabilities", log_probabilities,
                                     any_targets, options.weight, options.ignore_index);
  const Tensor losses =
      cast(picked(log_probabilities, targets.ids), accumulator_of(log_probabilities.dtype()));
  return reduced(weighted(losses, targets), targets, options.reduction);
}

}  // namespace wick
