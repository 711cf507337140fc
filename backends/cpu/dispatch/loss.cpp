#include "dispatch/loss.h"

#include "dispatch/gather.h"
#include "dispatch/rows.h"

namespace wick::cpu {

Status CrossEntropy::run(const Kernel* kernel, const Call* call) {
  const auto& op = *static_cast<const CrossEntropy*>(kernel->data);
  const View &logits = call->in[0], &targets = call->in[1], &loss = call->out[0], &l = call->out[1];
  if (const Status status = check_ids(targets, logits.shape[1], kernel->name); !status.ok())
    return status;
  for_rows(logits, kExpGrain, [&](int64 i) {
    op.row(row_of(logits, i), targets.as<int64>()[i * targets.strides[0]], row_of(loss, i),
           row_of(l, i), logits.shape[1]);
  });
  return {};
}

Status CrossEntropyGradient::run(const Kernel* kernel, const Call* call) {
  const auto& op = *static_cast<const CrossEntropyGradient*>(kernel->data);
  const View &logits = call->in[0], &targets = call->in[1], &l = call->in[2], &gloss = call->in[3],
             &g = call->out[0];
  if (const Status status = check_ids(targets, logits.shape[1], kernel->name); !status.ok())
    return status;
  for_rows(logits, kExpGrain, [&](int64 i) {
    op.row(row_of(logits, i), targets.as<int64>()[i * targets.strides[0]], row_of(l, i),
           row_of(gloss, i), row_of(g, i), logits.shape[1]);
  });
  return {};
}

}  // namespace wick::cpu
