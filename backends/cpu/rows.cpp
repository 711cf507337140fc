#include "rows.h"

#include <algorithm>

#include "base/parallel.h"
#include "indexing.h"

namespace wick::cpu {
namespace {

// Elements that a thread takes at least: some 5 us of work, of exponentials or of a few products.
constexpr int64 kExpGrain = 8192, kGrain = 32768;

int64 rows_of(const View& matrix, int64 elements) {
  return std::max<int64>(1, elements / std::max<int64>(1, matrix.shape[1]));
}

char* row_of(const View& x, int64 i) {
  return x.as<char>() + i * x.strides[0] * dtype_size(x.dtype);
}

}  // namespace

Status run_softmax(const Kernel* kernel, const Call* call) {
  const auto& op = *static_cast<const Softmax*>(kernel->data);
  const View &x = call->in[0], &y = call->out[0];
  parallel_for(x.shape[0], rows_of(x, kExpGrain), [&](int64 begin, int64 end) {
    for (int64 i = begin; i < end; i++) op.row(row_of(x, i), row_of(y, i), x.shape[1]);
  });
  return {};
}

Status run_rms_norm(const Kernel* kernel, const Call* call) {
  const auto& op = *static_cast<const RmsNorm*>(kernel->data);
  const View &x = call->in[0], &weight = call->in[1], &y = call->out[0], &r = call->out[1];
  const double eps = static_cast<const RmsNormAttributes*>(call->attributes)->eps;
  parallel_for(x.shape[0], rows_of(x, kGrain), [&](int64 begin, int64 end) {
    for (int64 i = begin; i < end; i++)
      op.row(row_of(x, i), weight.data, eps, row_of(y, i), row_of(r, i), x.shape[1]);
  });
  return {};
}

Status run_rms_norm_gradient(const Kernel* kernel, const Call* call) {
  const auto& op = *static_cast<const RmsNormGradient*>(kernel->data);
  const View &gy = call->in[0], &x = call->in[1], &weight = call->in[2], &r = call->in[3],
             &gx = call->out[0];
  parallel_for(x.shape[0], rows_of(x, kGrain), [&](int64 begin, int64 end) {
    for (int64 i = begin; i < end; i++)
      op.row(row_of(gy, i), row_of(x, i), weight.data, row_of(r, i), row_of(gx, i), x.shape[1]);
  });
  return {};
}

Status run_cross_entropy(const Kernel* kernel, const Call* call) {
  const auto& op = *static_cast<const CrossEntropy*>(kernel->data);
  const View &logits = call->in[0], &targets = call->in[1], &loss = call->out[0], &l = call->out[1];
  if (const Status status = check_ids(targets, logits.shape[1], kernel->name); !status.ok())
    return status;
  parallel_for(logits.shape[0], rows_of(logits, kExpGrain), [&](int64 begin, int64 end) {
    for (int64 i = begin; i < end; i++)
      op.row(row_of(logits, i), targets.as<int64>()[i * targets.strides[0]], row_of(loss, i),
             row_of(l, i), logits.shape[1]);
  });
  return {};
}

Status run_cross_entropy_gradient(const Kernel* kernel, const Call* call) {
  const auto& op = *static_cast<const CrossEntropyGradient*>(kernel->data);
  const View &logits = call->in[0], &targets = call->in[1], &l = call->in[2], &gloss = call->in[3],
             &g = call->out[0];
  if (const Status status = check_ids(targets, logits.shape[1], kernel->name); !status.ok())
    return status;
  parallel_for(logits.shape[0], rows_of(logits, kExpGrain), [&](int64 begin, int64 end) {
    for (int64 i = begin; i < end; i++)
      op.row(row_of(logits, i), targets.as<int64>()[i * targets.strides[0]], row_of(l, i),
             row_of(gloss, i), row_of(g, i), logits.shape[1]);
  });
  return {};
}

}  // namespace wick::cpu
