#include "dispatch/ssd.h"

#include "base/parallel.h"
#include "runtime/table.h"
#include "scalar/round_up.h"

namespace wick::cpu {

const char* Ssd::accepts(const Kernel*, const Call* call, const DeviceInfo*) {
  return call->in[2].shape[3] <= kMaxStateSize ? nullptr : "the state is too wide";
}

Status Ssd::run(const Kernel* kernel, const Call* call) {
  constexpr int64 kRows = 16;        // of a block: as many as leave the state in the L1 cache
  constexpr int64 kGrain = 1 << 15;  // elements of the state, times tokens, that a thread takes
  const auto& op = *static_cast<const Ssd*>(kernel->data);
  const auto& attributes = *static_cast<const SsdAttributes*>(call->attributes);
  const View &x = call->in[0], &dt = call->in[1], &b = call->in[2], &c = call->in[3],
             &constants = call->in[4], &before = call->in[5], &lengths = call->in[6],
             &y = call->out[0], &state = call->out[1];
  const int64 tokens = x.shape[1], heads = x.shape[2], p = x.shape[3], n = b.shape[3];
  const int64 per_group = heads / b.shape[2], blocks = ceil_div(p, kRows);
  const auto element = [](const View& of, int64 i) {
    return of.as<char>() + bytes_of(of.dtype, i);
  };
  const auto constant = [&](int64 row, int64 h) {
    return element(constants, row * constants.strides[0] + h);
  };
  const int64 work = std::max<int64>(1, std::min(p, kRows) * n * tokens);
  parallel_for(
      x.shape[0] * heads * blocks, std::max<int64>(1, kGrain / work), [&](int64 begin, int64 end) {
        for (int64 i = begin; i < end; i++) {
          const int64 first = i % blocks * kRows, h = i / blocks % heads,
                      batch = i / blocks / heads;
          const int64 at = ((batch * heads + h) * p + first) * n;
          op.rows({.x = TokenRows::of(x, batch, h, first),
                   .b = TokenRows::of(b, batch, h / per_group),
                   .c = TokenRows::of(c, batch, h / per_group),
                   .y = TokenRows::of(y, batch, h, first),
                   .dt = TokenRows::of_elements(dt, batch, h),
                   .is_wide = dt.dtype == state.dtype,
                   .a = constant(0, h),
                   .d = attributes.has_d ? constant(1, h) : nullptr,
                   .dt_bias = attributes.has_dt_bias ? constant(1 + attributes.has_d, h) : nullptr,
                   .before = attributes.has_state ? element(before, at) : nullptr,
                   .state = element(state, at),
                   .read = tokens_of(lengths, attributes.has_lengths, batch, tokens),
                   .tokens = tokens,
                   .rows = std::min(kRows, p - first),
                   .n = n,
                   .least_step = attributes.least_step,
                   .greatest_step = attributes.greatest_step});
        }
      });
  return {};
}

}  // namespace wick::cpu
