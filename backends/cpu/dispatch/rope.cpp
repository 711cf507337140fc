#include "dispatch/rope.h"

#include <algorithm>

#include "base/parallel.h"
#include "dispatch/gather.h"

namespace wick::cpu {
namespace {

constexpr int64 kGrain = 32768;  // elements a thread takes at least

}  // namespace

Status Rope::run(const Kernel* kernel, const Call* call) {
  const auto& op = *static_cast<const Rope*>(kernel->data);
  const auto& attributes = *static_cast<const RopeAttributes*>(call->attributes);
  const View &x = call->in[0], &cos = call->in[1], &sin = call->in[2], &positions = call->in[3],
             &y = call->out[0];
  const int64 T = x.shape[1], H = x.shape[2], D = x.shape[3];
  if (x.numel() == 0) return {};
  if (const Status status = check_ids(positions, cos.shape[0], kernel->name); !status.ok())
    return status;
  const auto rotate = attributes.interleaved ? op.interleaved : op.apart;
  const int sign = attributes.inverse ? -1 : 1, size = dtype_size(x.dtype),
            table_size = dtype_size(cos.dtype);
  parallel_for(x.shape[0] * T, std::max<int64>(1, kGrain / (H * D)), [&](int64 begin, int64 end) {
    for (int64 i = begin; i < end; i++) {
      const int64 b = i / T, t = i % T;
      const int64 p = positions.as<int64>()[b * positions.strides[0] + t * positions.strides[1]];
      const char* const from = x.as<char>() + (b * x.strides[0] + t * x.strides[1]) * size;
      char* const to = y.as<char>() + (b * y.strides[0] + t * y.strides[1]) * size;
      for (int64 h = 0; h < H; h++)
        rotate(from + h * x.strides[2] * size, cos.as<char>() + p * cos.strides[0] * table_size,
               sin.as<char>() + p * sin.strides[0] * table_size, sign, to + h * y.strides[2] * size,
               D / 2);
    }
  });
  return {};
}

}  // namespace wick::cpu
