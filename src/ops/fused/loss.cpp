#include "wick/ops/loss.h"

#include <algorithm>
#include <string>

#include "base/calling.h"
#include "base/function_ref.h"
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
Tensor picked(const Tensor& log_probabilities, const Tensor& ids) {
  return -squeeze(gather(log_probabilities, 1, unsqueeze(ids, 1)), 1);
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

/// The shape of targets that are classes: x [N, C, ...] or [C] without its dim of classes.
Shape shape_of_targets(const Tensor& x) {
  Shape shape;
  for (int d = 0; d < x.rank(); d++)
    if (d != std::min(x.rank() - 1, 1)) shape.push_back(x.size(d));
  return shape;
}

/// x [N, C, ...] or [C] as [M, C], a row for each target.
Tensor rows_of_classes(const Tensor& x) {
  if (x.rank() == 2) return x;
  if (x.rank() == 1) return unsqueeze(x, 0);
  int64_t count = 1;
  for (const int64_t size : shape_of_targets(x)) count *= size;
  return reshape(movedim(x, 1, -1), {count, x.size(1)});
}

/// The classes that are targets of M rows, and how much each row counts.
struct Targets {
  Tensor ids;      // [M], i64; 0 in rows that do not count
  Tensor counted;  // [M], bool; empty: all rows count
  Tensor weight;   // [C] in the accumulator's dtype; empty: 1
  Tensor share;    // [M] in the accumulator's dtype: the weight of the row's class, or 0; empty: 1
};

/// The weight of each class of x in the accumulator's dtype, if there is one.
Tensor checked_weight(const char* op, const Tensor& x, const Tensor& weight) {
  if (!weight) return {};
  check_floating(op, weight);
  check_same_device(op, x, weight);
  const int64_t classes = x.size(x.rank() == 1 ? 0 : 1);
  check(weight.shape() == Shape{classes}, ErrorCode::kShapeMismatch, op,
        "expected a weight for each of ", classes, " classes, got shape ", weight.shape());
  return cast(weight, accumulator_of(x.dtype()));
}

/// Checks x, called `name`, and the targets, and reads the targets. Its ops run on M targets.
Targets targets_of(const char* op, const char* name, const Tensor& x, const Tensor& any_targets,
                   const Tensor& weight, std::optional<int64_t> ignore_index) {
  check_defined(op, any_targets);
  check_same_device(op, x, any_targets);
  const Tensor targets = ids_as_i64(op, "targets", any_targets);
  check(x.rank() > 0 && targets.shape() == shape_of_targets(x), ErrorCode::kShapeMismatch, op,
        "expected ", name,
        x.rank() > 2 ? " [N, C, ...] and targets [N, ...]" : " [N, C] and targets [N]", ", got ",
        x.shape(), " and ", targets.shape());
  Targets result{.ids = targets.rank() == 1 ? targets : reshape(targets, {targets.numel()}),
                 .counted = {},
                 .weight = checked_weight(op, x, weight),
                 .share = {}};
  if (ignore_index) {
    result.counted = ne(result.ids, *ignore_index);
    result.ids = where(result.counted, result.ids, 0);
  }
  if (result.weight) {
    result.share = gather(result.weight, 0, result.ids);
    if (result.counted) result.share = where(result.counted, result.share, 0);
  } else if (result.counted) {
    result.share = cast(result.counted, accumulator_of(x.dtype()));
  }
  return result;
}

Tensor weighted(const Tensor& losses, const Targets& targets) {
  return targets.weight ? losses * targets.share : losses;
}

/// The losses [M], reduced; `shape` is that of the targets.
Tensor reduced(const Tensor& all, const Targets& targets, Reduction reduction, const Shape& shape) {
  // By `where`: the loss of a row that does not count may be NaN.
  const Tensor losses = targets.counted ? where(targets.counted, all, 0) : all;
  if (reduction == Reduction::kNone) return reshape(losses, shape);
  if (reduction == Reduction::kSum) return sum(losses);
  return targets.share ? sum(losses) / sum(targets.share) : mean(losses);
}

Tensor of_probabilities(const Tensor& logits, const Tensor& targets,
                        const CrossEntropyOptions& options) {
  check(!options.ignore_index, ErrorCode::kInvalidArgument, "cross_entropy",
        "ignore_index needs targets of integers, got ", dtype_name(targets.dtype()));
  check_floating("cross_entropy", targets);
  check_same_device("cross_entropy", logits, targets);
  const Tensor weight = checked_weight("cross_entropy", logits, options.weight);
  const Tensor log_probabilities = logarithms(rows_of_classes(logits));  // [M, C]
  Tensor share = cast(rows_of_classes(targets), log_probabilities.dtype());
  if (const double e = options.label_smoothing; e > 0)
    share = share * (1 - e) + e / double(share.size(1));
  if (weight) share = share * weight;
  return reduced(-sum(log_probabilities * share, {.dims = {1}}), {}, options.reduction,
                 shape_of_targets(logits));
}

Tensor of_classes(const Tensor& logits, const Tensor& any_targets,
                  const CrossEntropyOptions& options) {
  const Targets targets = targets_of("cross_entropy", "logits", logits, any_targets, options.weight,
                                     options.ignore_index);
  const Tensor x = rows_of_classes(logits);
  const Shape shape = shape_of_targets(logits);
  const double smoothing = options.label_smoothing;
  if (smoothing == 0)
    return reduced(weighted(cross_entropy_rows(x, targets.ids), targets), targets,
                   options.reduction, shape);
  const Tensor log_probabilities = logarithms(x);  // [M, C]
  const Tensor of_target = weighted(picked(log_probabilities, targets.ids), targets),
               of_all =
                   -sum(targets.weight ? log_probabilities * targets.weight : log_probabilities,
                        {.dims = {1}});
  // Reduced apart, as in PyTorch: the mean is NaN if all targets' classes have the weight 0.
  return reduced(of_target, targets, options.reduction, shape) * (1 - smoothing) +
         reduced(of_all, targets, options.reduction, shape) * (smoothing / double(x.size(1)));
}

/// loss(); the error of a target that is no class also names the option for such targets. On a GPU
/// it is the kernel that finds such a target, and a later call raises the error.
Tensor naming_ignore_index(std::optional<int64_t> given, FunctionRef<Tensor()> loss) {
  try {
    return loss();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kOutOfRange || given) throw;
    throw Error(error.code(), std::string(error.what()) + "; ignore_index leaves targets out");
  }
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                     const CrossEntropyOptions& options) {
  const Calling calling("cross_entropy");
  check(0 <= options.label_smoothing && options.label_smoothing <= 1, ErrorCode::kInvalidArgument,
        "cross_entropy", "label_smoothing: expected a number in [0, 1], got ",
        options.label_smoothing);
  check_floating("cross_entropy", logits);
  if (targets && is_floating(targets.dtype()) && logits.rank() > 0 &&
      targets.shape() == logits.shape())
    return of_probabilities(logits, targets, options);
  return naming_ignore_index(options.ignore_index,
                             [&] { return of_classes(logits, targets, options); });
}

Tensor nll_loss(const Tensor& log_probabilities, const Tensor& any_targets,
                const NllLossOptions& options) {
  const Calling calling("nll_loss");
  check_floating("nll_loss", log_probabilities);
  return naming_ignore_index(options.ignore_index, [&] {
    const Targets targets = targets_of("nll_loss", "log_probabilities", log_probabilities,
                                       any_targets, options.weight, options.ignore_index);
    const Tensor losses = cast(picked(rows_of_classes(log_probabilities), targets.ids),
                               accumulator_of(log_probabilities.dtype()));
    return reduced(weighted(losses, targets), targets, options.reduction,
                   shape_of_targets(log_probabilities));
  });
}

}  // namespace wick
