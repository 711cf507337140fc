#include "wick/ops/softmax.h"

#include "base/calling.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/shape/one_dim.h"
#include "ops/tape/tape.h"
#include "wick/abi/ops/softmax.h"
#include "wick/ops/elementwise.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

/// x minus its maximum along dim. The maximum cancels, so the gradient treats it as a constant.
Tensor shifted(const Tensor& x, int64_t dim) {
  return x - max(x.detach(), {.dims = {dim}, .keepdim = true});
}

Tensor softmax_composite(const Tensor& x, int64_t dim) {
  const Tensor e = exp(shifted(cast(x, computed_in(x.dtype())), dim));
  return cast(e / sum(e, {.dims = {dim}, .keepdim = true}), x.dtype());
}

}  // namespace

Tensor log_softmax(const Tensor& x, int64_t dim) {
  const Calling calling("log_softmax");
  check_floating("log_softmax", x);
  const Tensor s = shifted(cast(x, computed_in(x.dtype())), dim);
  return cast(s - log(sum(exp(s), {.dims = {dim}, .keepdim = true})), x.dtype());
}

Tensor softmax(const Tensor& x, int64_t dim) {
  check_floating("softmax", x);
  if (x.rank() == 0) return without_dims(softmax(as_one_dim(x), dim));
  const int d = normalize_dim("softmax", dim, x.rank());
  const auto swapped = [d](const Tensor& of) {  // exchanges d and the last dim
    return d == of.rank() - 1 ? of : transpose(of, d, -1);
  };
  const Tensor from = swapped(x);
  const Tensor y = Tensor::empty(from.shape(), {.dtype = x.dtype(), .device = x.device()});
  return swapped(fused(
      {.op = kSoftmax,
       .inputs = {&from},
       .in = {rows(from)},
       .out = {rows(y)},
       .composite = [=](const auto& in) { return swapped(softmax_composite(swapped(in[0]), d)); },
       .keep = kKeepOutput,
       .rule = [](const RuleContext& c, std::span<Tensor> g) {  // y (gy - sum(gy y))
         const Tensor weighted = c.gradient * c.output();
         g[0] = weighted - c.output() * sum(weighted, {.dims = {-1}, .keepdim = true});
       }}));
}

}  // namespace wick
