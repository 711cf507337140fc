#include "dispatch/optimizer.h"

#include "base/parallel.h"

namespace wick::cpu {

Status run_adamw(const Kernel* kernel, const Call* call) {
  constexpr int64 kGrain = 16384;  // elements a thread takes at least: it moves seven times as many
  const auto& op = *static_cast<const AdamW*>(kernel->data);
  const auto& attributes = *static_cast<const AdamWAttributes*>(call->attributes);
  parallel_for(call->in[0].shape[0], kGrain, [&](int64 begin, int64 end) {
    const auto at = [&](const View& x) { return x.as<char>() + begin * op.size; };
    op.step(attributes, at(call->in[0]), at(call->out[0]), at(call->out[1]), at(call->out[2]),
            end - begin);
  });
  return {};
}

}  // namespace wick::cpu
