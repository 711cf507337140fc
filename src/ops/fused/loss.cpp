#include "wick/ops/loss.h"

#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/tape/tape.h"
#include "wick/abi/ops/loss.h"
#include "wick/ops/elementwise.h"
#include "wick/ops/gather.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"
#include "wick/ops/softmax.h"

namespace wick {
namespace {

/// -log softmax(logits)[target] of each row, [N].
Tensor cross_entropy_composite(const Tensor& logits, const Tensor& targets) {
  return -squeeze(gather(log_softmax(cast(logits, accumulator_of(logits.dtype())), 1), 1,
                         unsqueeze(targets, 1)),
                  1);
}

/// The gradient of logits by its kernel; none if there is none.
Tensor cross_entropy_gradient(const Tensor& logits, const Tensor& targets, const Tensor& l,
                              const Tensor& gradient) {
  const Tensor g =
      Tensor::empty(logits.shape(), {.dtype = logits.dtype(), .device = logits.device()});
  Tensor copy, unused;
  const Tensor upstream = make_contiguous(gradient);
  const View in[] = {rows_of(logits, &copy), make_view(targets), make_view(l), make_view(upstream)};
  const View out = rows_of(g, &unused);
  return run_fused(logits.device(), kCrossEntropyGradient, in, {&out, 1}, {}, logits.dtype())
             ? g
             : Tensor();
}

Tensor cross_entropy_rows(const Tensor& logits, const Tensor& ids) {
  const int64_t n = logits.size(0);
  const TensorOptions statistics{.dtype = accumulator_of(logits.dtype()),
                                 .device = logits.device()};
  const Tensor loss = Tensor::empty({n}, statistics), l = Tensor::empty({n}, statistics),
               targets = make_contiguous(ids);
  Tensor copy;
  const View in[] = {rows_of(logits, &copy), make_view(targets)};
  const View out[] = {make_view(loss), make_view(l)};
  if (logits.numel() == 0 ||
      !run_fused(logits.device(), kCrossEntropy, in, out, {}, logits.dtype()))
    return cross_entropy_composite(logits, targets);
  return record("cross_entropy", loss, {&logits, &targets}, kKeepInputs,
                [l](const RuleContext& c, std::span<Tensor> g) {
                  if (!grad_enabled())
                    g[0] = cross_entropy_gradient(c.input(0), c.input(1), l, c.gradient);
                  if (!g[0])
                    differentiate(c, g, [&](const std::vector<Tensor>& x) {
                      return cross_entropy_composite(x[0], x[1]);
                    });
                });
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& targets) {
  check_floating("cross_entropy", logits);
  check_defined("cross_entropy", targets);
  check_same_device("cross_entropy", logits, targets);
  check(targets.dtype() == DType::kI64, ErrorCode::kDTypeMismatch, "cross_entropy",
        "expected targets of i64, got ", dtype_name(targets.dtype()));
  check(logits.rank() == 2 && targets.rank() == 1 && targets.size(0) == logits.size(0),
        ErrorCode::kShapeMismatch, "cross_entropy", "expected logits [N, C] and targets [N], got ",
        logits.shape(), " and ", targets.shape());
  return mean(cross_entropy_rows(logits, targets));
}

}  // namespace wick
