#include "dispatch/softmax.h"

#include "dispatch/rows.h"
#include "runtime/table.h"

namespace wick::cpu {

Status Softmax::run(const Kernel* kernel, const Call* call) {
  const auto& op = *static_cast<const Softmax*>(kernel->data);
  const View &x = call->in[0], &y = call->out[0];
  for_rows(x, kExpGrain, [&](int64 i) { op.row(row_of(x, i), row_of(y, i), x.shape[1]); });
  return {};
}

const char* LogSumExp::accepts(const Kernel* kernel, const Call* call, const DeviceInfo* device) {
  if (is_few_long_rows(call->in[0])) return "a few long rows, which the composite cuts";
  return accepts_unit_strides(kernel, call, device);
}
Status LogSumExp::run(const Kernel* kernel, const Call* call) {
  const auto& op = *static_cast<const LogSumExp*>(kernel->data);
  const View &x = call->in[0], &y = call->out[0];
  for_rows(x, kExpGrain,
           [&](int64 i) { op.row(row_of(x, i), y.as<char>() + bytes_of(y.dtype, i), x.shape[1]); });
  return {};
}

}  // namespace wick::cpu
