#include "dispatch/linear_attention.h"

#include <algorithm>

#include "base/parallel.h"
#include "runtime/table.h"

namespace wick::cpu {
namespace {

constexpr int64 kGrain = 32768;  // elements of states a thread takes at least

char* element(const View& x, int64 at) { return x.as<char>() + bytes_of(x.dtype, at); }

}  // namespace

const char* LinearAttention::accepts(const Kernel* kernel, const Call* call,
                                     const DeviceInfo* device) {
  const View& state = call->out[1];
  if (state.shape[2] > kMaxFeatures) return "there are more than 2048 features";
  if (state.shape[3] > kMaxValues) return "values have more than 511 elements";
  return accepts_unit_strides(kernel, call, device);
}

Status LinearAttention::run(const Kernel* kernel, const Call* call) {
  const auto& op = *static_cast<const LinearAttention*>(kernel->data);
  const auto& a = *static_cast<const LinearAttentionAttributes*>(call->attributes);
  const View &q = call->in[0], &k = call->in[1], &v = call->in[2], &state = call->in[3],
             &lengths = call->in[4], &y = call->out[0], &new_state = call->out[1];
  const int64 tokens = q.shape[1], groups = k.shape[2], heads = q.shape[2] / groups;
  const int64 states = new_state.shape[2] * new_state.shape[3];
  const int64 work = std::max<int64>(1, states * tokens * heads);
  parallel_for(q.shape[0] * groups, std::max<int64>(1, kGrain / work), [&](int64 begin, int64 end) {
    for (int64 i = begin; i < end; i++) {
      const int64 row = i / groups, group = i % groups, head = group * heads;
      LinearAttentionGroup g{};
      g.q = element(q, row * q.strides[0] + head * q.strides[2]);
      g.k = element(k, row * k.strides[0] + group * k.strides[2]);
      g.v = element(v, row * v.strides[0] + group * v.strides[2]);
      g.state = a.has_state ? element(state, i * states) : nullptr;
      g.y = element(y, row * y.strides[0] + head * y.strides[2]);
      g.new_state = element(new_state, i * states);
      g.q_token = q.strides[1], g.q_head = q.strides[2];
      g.k_token = k.strides[1], g.v_token = v.strides[1];
      g.y_token = y.strides[1], g.y_head = y.strides[2];
      g.tokens = tokens;
      g.length = a.has_lengths ? std::clamp<int64>(lengths.as<int64>()[row], 0, tokens) : tokens;
      g.heads = heads;
      g.elements = q.shape[3];
      g.features = new_state.shape[2];
      g.values = v.shape[3];
      g.eps = a.eps;
      g.map = a.map;
      g.normalize = a.normalize != 0;
      op.group(g);
    }
  });
  return {};
}

}  // namespace wick::cpu
