#include "models/parts/mamba2.h"

#include "wick/ops/arrange.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/norm.h"
#include "wick/ops/recurrence.h"
#include "wick/ops/shape.h"
#include "wick/ops/ssd.h"
#include "wick/ops/unary.h"

namespace wick {
namespace {

DType state_dtype(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

}  // namespace

Mamba2::Mamba2(const Mamba2Options& o, Parameters& p, const std::string& name)
    : options_(o),
      in_proj_(p, name + "in_proj", o.hidden_size, o.inner() + o.channels() + o.heads,
               {.bias = o.bias, .deviation = o.deviation}),
      out_proj_(p, name + "out_proj", o.inner(), o.hidden_size,
                {.bias = o.bias, .deviation = o.output_deviation}),
      conv_weight_(
          p.take(name + "conv1d.weight", {o.channels(), 1, o.conv_width}, {0, o.deviation})),
      conv_bias_(o.conv_bias ? p.take(name + "conv1d.bias", {o.channels()}, {0, 0}) : Parameter()),
      dt_bias_(p.take(name + "dt_bias", {o.heads}, {1, 0})),
      a_log_(p.take(name + "A_log", {o.heads}, {0, 0})),
      d_(p.take(name + "D", {o.heads}, {1, 0})),
      norm_weight_(o.norm == GateNorm::kNone
                       ? Parameter()
                       : p.take(name + "gate_norm.weight", {o.inner()}, {1, 0})),
      frozen_constants_(p.only_shapes() || p.options().trainable ? Tensor() : constants()),
      ones_(p.only_shapes() || o.groups == 1
                ? Tensor()
                : full({o.inner() / o.groups}, 1,
                       {.dtype = p.options().dtype, .device = p.options().device})) {}

Tensor Mamba2::constants() const {
  const DType wide = state_dtype(a_log_.tensor().dtype());
  return stack(
      {-exp(cast(a_log_.tensor(), wide)), cast(d_.tensor(), wide), cast(dt_bias_.tensor(), wide)});
}

Tensor Mamba2::normalized(const Tensor& y) const {
  const Tensor weight = norm_weight_.tensor();
  if (options_.groups == 1) return rms_norm(y, weight, options_.eps);
  const int64_t size = options_.inner() / options_.groups;
  const Tensor groups = reshape(y, {y.size(0), y.size(1), options_.groups, size});
  return reshape(rms_norm(groups, ones_, options_.eps), y.shape()) * weight;
}

Tensor Mamba2::gated_norm(const Tensor& y, const Tensor& z) const {
  switch (options_.norm) {
    case GateNorm::kNone:
      return swiglu(z, y);
    case GateNorm::kBeforeGate:
      return swiglu(z, normalized(y));
    case GateNorm::kAfterGate:
      return normalized(swiglu(z, y));
  }
  return {};
}

Tensor Mamba2::operator()(const Normalized& input, const Step& step, const Tensor& residual) const {
  const Tensor hidden = input.value();
  const Mamba2Options& o = options_;
  const int64_t batch = hidden.size(0), tokens = hidden.size(1), written = o.groups * o.states;
  StateCache* const cache = step.cache_of<StateCache>(o.layer);
  const Tensor all = in_proj_(hidden);  // [B, T, E + C + H]
  const TensorAndState conv =
      causal_conv1d(narrow(all, 2, o.inner(), o.channels()), select(conv_weight_.tensor(), 1, 0),
                    {.bias = conv_bias_.defined() ? conv_bias_.tensor() : Tensor(),
                     .state = cache ? cache->state(0) : Tensor(),
                     .lengths = step.new_tokens,
                     .silu = true,
                     .overwrites_state = overwrites_state(cache)});
  const auto part = [&](int64_t first, int64_t count, int64_t heads) {
    return reshape(narrow(conv.y, 2, first, count), {batch, tokens, heads, count / heads});
  };
  const Tensor of_heads = frozen_constants_ ? frozen_constants_ : constants();
  const TensorAndState scan =
      ssd(part(0, o.inner(), o.heads), narrow(all, 2, o.inner() + o.channels(), o.heads),
          select(of_heads, 0, 0), part(o.inner(), written, o.groups),
          part(o.inner() + written, written, o.groups),
          {.d = select(of_heads, 0, 1),
           .state = cache ? cache->state(1) : Tensor(),
           .lengths = step.new_tokens,
           .dt_bias = select(of_heads, 0, 2),
           .step_limit = o.time_step_limit,
           .overwrites_state = overwrites_state(cache)});
  if (cache) {
    cache->set_state(0, conv.state);
    cache->set_state(1, scan.state);
  }
  const Tensor y =
      gated_norm(reshape(scan.y, {batch, tokens, o.inner()}), narrow(all, 2, 0, o.inner()));
  return out_proj_(held_outputs(y, step.new_tokens, cache, 2), {.residual = residual});
}

std::vector<StateCache::Kind> Mamba2::state_kinds(DType dtype) const {
  return {{{options_.conv_width - 1, options_.channels()}, dtype},
          {{options_.heads, options_.head_dim, options_.states}, state_dtype(dtype)},
          {{1, options_.inner()}, dtype}};
}

void Mamba2::add_work(double, const TensorOptions& options, TokenWork* work) const {
  const double states = double(options_.inner() * options_.states);
  const double inputs = double((options_.conv_width - 1) * options_.channels());
  work->cache_bytes += 2 * (states * double(dtype_size(state_dtype(options.dtype))) +
                            inputs * double(dtype_size(options.dtype)));  // read and written
  work->cache_flop += 5 * states + 2 * (inputs + double(options_.channels()));
}

}  // namespace wick
