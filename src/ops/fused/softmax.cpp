#include "wick/ops/softmax.h"

#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/tape/tape.h"
#include "wick/abi/ops/softmax.h"
#include "wick/ops/elementwise.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

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

}  // namespace wick
