#include "dispatch/quantize.h"

#include "dispatch/rows.h"

namespace wick::cpu {

Status QuantizeI8::run(const Kernel* kernel, const Call* call) {
  const auto& op = *static_cast<const QuantizeI8*>(kernel->data);
  const View &x = call->in[0], &codes = call->out[0], &scales = call->out[1];
  for_rows(x, kProductGrain, [&](int64 i) {
    op.row(row_of(x, i), reinterpret_cast<int8*>(row_of(codes, i)), row_of(scales, i), x.shape[1]);
  });
  return {};
}

}  // namespace wick::cpu
