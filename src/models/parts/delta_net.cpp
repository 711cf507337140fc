#include "models/parts/delta_net.h"

#include "models/parts/mlp.h"
#include "wick/ops/arrange.h"
#include "wick/ops/cast.h"
#include "wick/ops/delta_rule.h"
#include "wick/ops/recurrence.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

/// Added to the squares of the lengths of queries and keys.
constexpr double kLengthEps = 1e-6;

DType state_dtype(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

int64_t value_size(const DeltaNetOptions& o) { return o.value_heads * o.value_head_dim; }
int64_t key_size(const DeltaNetOptions& o) { return o.key_heads * o.key_head_dim; }

}  // namespace

DeltaNet::DeltaNet(const DeltaNetOptions& o, Parameters& p, const std::string& name)
    : options_(o),
      in_proj_qkv_(p, name + "in_proj_qkv", o.hidden_size, 2 * key_size(o) + value_size(o),
                   {.deviation = o.deviation}),
      in_proj_z_(p, name + "in_proj_z", o.hidden_size, value_size(o), {.deviation = o.deviation}),
      in_proj_b_(p, name + "in_proj_b", o.hidden_size, o.value_heads, {.deviation = o.deviation}),
      in_proj_a_(p, name + "in_proj_a", o.hidden_size, o.value_heads, {.deviation = o.deviation}),
      out_proj_(p, name + "out_proj", value_size(o), o.hidden_size,
                {.deviation = o.output_deviation}),
      conv_weight_(p.take(name + "conv1d.weight", {channels(), 1, o.conv_width}, {0, o.deviation})),
      a_log_(p.take(name + "A_log", {o.value_heads}, {0, 0})),
      dt_bias_(p.take(name + "dt_bias", {o.value_heads}, {1, 0})),
      norm_(p, name + "norm", o.value_head_dim, {.eps = o.eps}),
      frozen_constants_(p.only_shapes() || p.options().trainable ? Tensor() : constants()) {}

int64_t DeltaNet::channels() const { return 2 * key_size(options_) + value_size(options_); }

Tensor DeltaNet::constants() const {
  const DType wide = state_dtype(a_log_.tensor().dtype());
  return stack({cast(a_log_.tensor(), wide), cast(dt_bias_.tensor(), wide)});
}

Tensor DeltaNet::operator()(const Normalized& input, const Step& step,
                            const Tensor& residual) const {
  const Tensor hidden = input.value();
  const DeltaNetOptions& o = options_;
  const int64_t b = hidden.size(0), t = hidden.size(1), keys = key_size(o), values = value_size(o);
  StateCache* const cache = step.cache_of<StateCache>(o.layer);
  const TensorAndState conv =
      causal_conv1d(in_proj_qkv_(hidden), select(conv_weight_.tensor(), 1, 0),
                    {.state = cache ? cache->state(0) : Tensor(),
                     .lengths = step.new_tokens,
                     .silu = true,
                     .overwrites_state = overwrites_state(cache)});
  const std::vector<Tensor> qkv = split(conv.y, {keys, keys, values}, 2);
  const auto heads = [&](const Tensor& x, int64_t count) {
    return reshape(x, {b, t, count, x.size(2) / count});
  };
  const Tensor of_heads = frozen_constants_ ? frozen_constants_ : constants();
  const TensorAndState rule =
      gated_delta_rule(heads(qkv[0], o.key_heads), heads(qkv[1], o.key_heads),
                       heads(qkv[2], o.value_heads), in_proj_a_(hidden), in_proj_b_(hidden),
                       {.state = cache ? cache->state(1) : Tensor(),
                        .lengths = step.new_tokens,
                        .a_log = select(of_heads, 0, 0),
                        .dt_bias = select(of_heads, 0, 1),
                        .qk_norm_eps = kLengthEps,
                        .sigmoid_beta = true,
                        .tiled_heads = o.tiled_key_heads,
                        .overwrites_state = overwrites_state(cache)});
  const Tensor normed = reshape(norm_(rule.y), {b, t, values});
  const Tensor y = held_outputs(Glu{}(in_proj_z_(hidden), normed), step.new_tokens, cache, 2);
  if (cache) {
    cache->set_state(0, conv.state);
    cache->set_state(1, rule.state);
  }
  return out_proj_(y, {.residual = residual});
}

std::vector<StateCache::Kind> DeltaNet::state_kinds(DType dtype) const {
  const DeltaNetOptions& o = options_;
  return {{{o.conv_width - 1, channels()}, dtype},
          {{o.value_heads, o.key_head_dim, o.value_head_dim}, state_dtype(dtype)},
          {{1, value_size(o)}, dtype}};
}

void DeltaNet::add_work(double, const TensorOptions& options, TokenWork* work) const {
  const DeltaNetOptions& o = options_;
  const double inputs = double(o.conv_width - 1) * double(channels()),
               states = double(value_size(o)) * double(o.key_head_dim);
  work->cache_bytes += 2 * (states * double(dtype_size(state_dtype(options.dtype))) +
                            inputs * double(dtype_size(options.dtype)));  // read and written
  // Per element of the state: a product for the decay, two operations each to read it by k, to add
  // to it, and to read it by q.
  work->cache_flop += 2 * inputs + 7 * states;
}

}  // namespace wick
