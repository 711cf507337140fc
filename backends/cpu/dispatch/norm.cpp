#include "dispatch/norm.h"

#include "dispatch/rows.h"

namespace wick::cpu {

Status RmsNorm::run(const Kernel* kernel, const Call* call) {
  const auto& op = *static_cast<const RmsNorm*>(kernel->data);
  const View &x = call->in[0], &weight = call->in[1], &y = call->out[0], &r = call->out[1];
  const double eps = static_cast<const RmsNormAttributes*>(call->attributes)->eps;
  for_rows(x, kProductGrain, [&](int64 i) {
    op.row(row_of(x, i), weight.data, eps, row_of(y, i), row_of(r, i), x.shape[1]);
  });
  return {};
}

Status RmsNormGradient::run(const Kernel* kernel, const Call* call) {
  const auto& op = *static_cast<const RmsNormGradient*>(kernel->data);
  const View &gy = call->in[0], &x = call->in[1], &weight = call->in[2], &r = call->in[3],
             &gx = call->out[0];
  for_rows(x, kProductGrain, [&](int64 i) {
    op.row(row_of(gy, i), row_of(x, i), weight.data, row_of(r, i), row_of(gx, i), x.shape[1]);
  });
  return {};
}

Status LayerNorm::run(const Kernel* kernel, const Call* call) {
  const auto& op = *static_cast<const LayerNorm*>(kernel->data);
  const auto& attributes = *static_cast<const LayerNormAttributes*>(call->attributes);
  const View &x = call->in[0], &weight = call->in[1], &y = call->out[0], &mean = call->out[1],
             &r = call->out[2];
  const void* const bias = attributes.has_bias ? call->in[2].data : nullptr;
  for_rows(x, kProductGrain, [&](int64 i) {
    op.row(row_of(x, i), weight.data, bias, attributes.eps, row_of(y, i), row_of(mean, i),
           row_of(r, i), x.shape[1]);
  });
  return {};
}

Status LayerNormGradient::run(const Kernel* kernel, const Call* call) {
  const auto& op = *static_cast<const LayerNormGradient*>(kernel->data);
  const View &gy = call->in[0], &x = call->in[1], &weight = call->in[2], &mean = call->in[3],
             &r = call->in[4], &gx = call->out[0];
  for_rows(x, kProductGrain, [&](int64 i) {
    op.row(row_of(gy, i), row_of(x, i), weight.data, row_of(mean, i), row_of(r, i), row_of(gx, i),
           x.shape[1]);
  });
  return {};
}

}  // namespace wick::cpu
