#include "wick/ops/loss.h"

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

/// -log softmax(logits)[target] for each row: [N].
Tensor cross_entropy_composite(const Tensor& logits, const Tensor& targets) {
  return -squeeze(gather(log_softmax(cast(logits, accumulator_of(logits.dtype())), 1), 1,
                         unsqueeze(targets, 1)),
                  1);
}

Tensor cross_entropy_rows(const Tensor& logits, const Tensor& ids) {
  const Tensor targets = make_contiguous(ids);
  if (logits.numel() == 0) return cross_entropy_composite(logits, targets);
  const TensorOptions statistics{.dtype = accumulator_of(logits.dtype()),
                                 .device = logits.device()};
  const Tensor loss = Tensor::empty({logits.size(0)}, statistics),
               l = Tensor::empty({logits.size(0)}, statistics);
  return fused({.op = kCrossEntropy,
                .inputs = {&logits, &targets},
                .in = {rows(logits), as_is(targets)},
                .out = {as_is(loss), as_is(l)},
                .composite = [](const auto& in) { return cross_entropy_composite(in[0], in[1]); },
                .gradient =
                    [l](const RuleContext& c, std::span<Tensor> g) {
                      g[0] = empty_gradient(c, 0);
                      return run_fused(
                          kCrossEntropyGradient,
                          {rows(c.input(0)), as_is(c.input(1)), as_is(l), contiguous(c.gradient)},
                          {rows(g[0])});
                    }});
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& any_targets) {
  check_floating("cross_entropy", logits);
  check_defined("cross_entropy", any_targets);
  check_same_device("cross_entropy", logits, any_targets);
  const Tensor targets = ids_as_i64("cross_entropy", "targets", any_targets);
  check(logits.rank() == 2 && targets.rank() == 1 && targets.size(0) == logits.size(0),
        ErrorCode::kShapeMismatch, "cross_entropy", "expected logits [N, C] and targets [N], got ",
        logits.shape(), " and ", targets.shape());
  return mean(cross_entropy_rows(logits, targets));
}

}  // namespace wick
