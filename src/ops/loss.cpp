#include "wick/ops/loss.h"

#include "ops/dtypes.h"
#include "ops/fused.h"
#include "ops/tape.h"
#include "wick/abi/ops/loss.h"
#include "wick/abi/ops/softmax.h"
#include "wick/ops/elementwise.h"
#include "wick/ops/indexing.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

void check_floating(const char* op, const Tensor& x) {
  check_defined(op, x);
  check(is_floating(x.dtype()), ErrorCode::kDTypeMismatch, op, "expected a floating dtype, got ",
        dtype_name(x.dtype()));
}

/// x less its largest along dim. The largest is a constant to the gradient: it cancels.
Tensor shifted(const Tensor& x, int64_t dim) {
  return x - max(x.detach(), {.dims = {dim}, .keepdim = true});
}

Tensor softmax_composite(const Tensor& x, int64_t dim) {
  const Tensor e = exp(shifted(cast(x, computed_in(x.dtype())), dim));
  return cast(e / sum(e, {.dims = {dim}, .keepdim = true}), x.dtype());
}

/// Of the last dim. None if no kernel takes it.
Tensor softmax_by_kernel(const Tensor& x) {
  const Tensor y = Tensor::empty(x.shape(), {.dtype = x.dtype(), .device = x.device()});
  Tensor copies[2];
  const View in = rows_of(x, &copies[0]), out = rows_of(y, &copies[1]);
  if (!run_fused(x.device(), kSoftmax, {&in, 1}, {&out, 1}, {}, x.dtype())) return {};
  return record("softmax", y, {&x}, kKeepOutput,
                [](const RuleContext& c, std::span<Tensor> g) {  // y (gy - sum(gy y))
                  const Tensor weighted = c.gradient * c.output();
                  g[0] = weighted - c.output() * sum(weighted, {.dims = {-1}, .keepdim = true});
                });
}

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

Tensor log_softmax(const Tensor& x, int64_t dim) {
  check_floating("log_softmax", x);
  const Tensor s = shifted(cast(x, computed_in(x.dtype())), dim);
  return cast(s - log(sum(exp(s), {.dims = {dim}, .keepdim = true})), x.dtype());
}

Tensor softmax(const Tensor& x, int64_t dim) {
  check_floating("softmax", x);
  const int d = normalize_dim("softmax", dim, x.rank());
  if (x.numel() == 0)
    return record_constant(
        "softmax", Tensor::empty(x.shape(), {.dtype = x.dtype(), .device = x.device()}), {&x});
  if (wants_kernel()) {
    const bool last = d == x.rank() - 1;
    if (const Tensor y = softmax_by_kernel(last ? x : transpose(x, d, -1)))
      return last ? y : transpose(y, d, -1);
  }
  return softmax_composite(x, d);
}

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
