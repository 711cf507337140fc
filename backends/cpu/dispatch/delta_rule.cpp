#include "dispatch/delta_rule.h"

#include "base/parallel.h"
#include "runtime/table.h"
#include "scalar/round_up.h"

namespace wick::cpu {

const char* DeltaRule::accepts(const Kernel*, const Call* call, const DeviceInfo*) {
  return call->in[0].shape[3] <= kMaxKeySize ? nullptr : "keys are too wide";
}

Status DeltaRule::run(const Kernel* kernel, const Call* call) {
  constexpr int64 kGrain = 1 << 15;  // elements of the state, times tokens, that a thread takes
  const auto& op = *static_cast<const DeltaRule*>(kernel->data);
  const auto& attributes = *static_cast<const DeltaRuleAttributes*>(call->attributes);
  const View &q = call->in[0], &k = call->in[1], &v = call->in[2], &decay = call->in[3],
             &beta = call->in[4], &constants = call->in[5], &before = call->in[6],
             &lengths = call->in[7], &y = call->out[0], &state = call->out[1];
  const int64 tokens = q.shape[1], heads = v.shape[2], keys = q.shape[3], values = v.shape[3];
  const int64 key_heads = q.shape[2];
  const int64 blocks = ceil_div(values, op.width);
  const auto element = [](const View& of, int64 i) {
    return of.as<char>() + bytes_of(of.dtype, i);
  };
  const int64 work = std::max<int64>(1, op.width * keys * tokens);
  parallel_for(
      q.shape[0] * heads * blocks, std::max<int64>(1, kGrain / work), [&](int64 begin, int64 end) {
        for (int64 i = begin; i < end; i++) {
          const int64 first = i % blocks * op.width, h = i / blocks % heads, b = i / blocks / heads;
          const int64 at = (b * heads + h) * keys * values + first;
          const int64 g = attributes.is_tiled ? h % key_heads : h / (heads / key_heads);
          op.columns({.q = TokenRows::of(q, b, g),
                      .k = TokenRows::of(k, b, g),
                      .v = TokenRows::of(v, b, h, first),
                      .y = TokenRows::of(y, b, h, first),
                      .decay = TokenRows::of_elements(decay, b, h),
                      .beta = TokenRows::of_elements(beta, b, h),
                      .is_wide = decay.dtype == state.dtype,
                      .a_log = attributes.has_gate ? element(constants, h) : nullptr,
                      .dt_bias = attributes.has_gate ? element(constants, constants.strides[0] + h)
                                                     : nullptr,
                      .before = attributes.has_state ? element(before, at) : nullptr,
                      .state = element(state, at),
                      .row = values,
                      .read = tokens_of(lengths, attributes.has_lengths, b, tokens),
                      .tokens = tokens,
                      .keys = keys,
                      .columns = std::min(op.width, values - first),
                      .scale = attributes.scale,
                      .eps = attributes.qk_norm_eps,
                      .has_sigmoid = attributes.has_sigmoid != 0});
        }
      });
  return {};
}

}  // namespace wick::cpu
