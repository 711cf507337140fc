#include "models/parts/rg_lru.h"

#include "models/parts/mlp.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/compare.h"
#include "wick/ops/matmul.h"
#include "wick/ops/recurrence.h"
#include "wick/ops/shape.h"
#include "wick/ops/unary.h"
#include "wick/ops/where.h"

namespace wick {
namespace {

/// The exponent of the decay at a gate of 1 and a parameter whose softplus is 1.
constexpr double kDecayScale = -8;
/// The parameter of new models: a decay of 0.95^8 at a gate of 1.
constexpr double kInitialParam = -3;

DType state_dtype(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

LinearOptions with_bias(double deviation) { return {.bias = true, .deviation = deviation}; }

}  // namespace

BlockLinear::BlockLinear(Parameters& p, const std::string& name, const RgLruOptions& o)
    : weight(p.take(name + "_weight", {o.heads, o.width / o.heads, o.width / o.heads},
                    {0, o.deviation})),
      bias(p.take(name + "_bias", {o.heads, o.width / o.heads}, {0, 0})) {}

Tensor BlockLinear::operator()(const Tensor& x) const {
  const int64_t heads = weight.shape()[0], size = weight.shape()[1], rows = x.size(0) * x.size(1);
  const Tensor blocks = transpose(reshape(x, {rows, heads, size}), 0, 1);  // [H, B T, E / H]
  const Tensor y = transpose(matmul(blocks, weight.tensor()), 0, 1) + bias.tensor();
  return reshape(y, x.shape());
}

RgLru::RgLru(const RgLruOptions& o, Parameters& p, const std::string& name)
    : options_(o),
      linear_y_(p, name + "linear_y", o.hidden_size, o.width, with_bias(o.deviation)),
      linear_x_(p, name + "linear_x", o.hidden_size, o.width, with_bias(o.deviation)),
      linear_out_(p, name + "linear_out", o.width, o.hidden_size, with_bias(o.output_deviation)),
      conv_weight_(p.take(name + "conv_1d.weight", {o.width, 1, o.conv_width}, {0, o.deviation})),
      conv_bias_(p.take(name + "conv_1d.bias", {o.width}, {0, 0})),
      input_gate_(p, name + "rg_lru.input_gate", o),
      recurrent_gate_(p, name + "rg_lru.recurrent_gate", o),
      recurrent_param_(
          p.take(name + "rg_lru.recurrent_param", {o.width}, {kInitialParam, o.deviation})),
      frozen_exponents_(p.only_shapes() || p.options().trainable ? Tensor() : decay_exponents()) {}

Tensor RgLru::decay_exponents() const {
  const Tensor param = recurrent_param_.tensor();
  return softplus(cast(param, state_dtype(param.dtype()))) * kDecayScale;
}

Tensor RgLru::operator()(const Normalized& input, const Step& step, const Tensor& residual) const {
  const Tensor hidden = input.value();
  StateCache* const cache = step.cache_of<StateCache>(options_.layer);
  const TensorAndState conv = causal_conv1d(linear_x_(hidden), select(conv_weight_.tensor(), 1, 0),
                                            {.bias = conv_bias_,
                                             .state = cache ? cache->state(0) : Tensor(),
                                             .lengths = step.new_tokens,
                                             .overwrites_state = overwrites_state(cache)});
  const Tensor& x = conv.y;
  const DType wide = state_dtype(x.dtype());
  const Tensor log_decay = cast(sigmoid(recurrent_gate_(x)), wide) *
                           (frozen_exponents_ ? frozen_exponents_ : decay_exponents());
  // A text begins without a past, and its first input is not scaled.
  const Tensor begins = unsqueeze(step.positions == 0, 2);  // [B, T, 1]
  const Tensor decay = where(begins, 0, exp(log_decay));
  const Tensor scale = where(begins, 1, sqrt(1 - exp(log_decay * 2)));
  const TensorAndState scan = linear_scan(decay, cast(x * sigmoid(input_gate_(x)), wide) * scale,
                                          {.state = cache ? cache->state(1) : Tensor(),
                                           .lengths = step.new_tokens,
                                           .overwrites_state = overwrites_state(cache)});
  if (cache) {
    cache->set_state(0, conv.state);
    cache->set_state(1, scan.state);
  }
  const Tensor y = Glu{.act = options_.act}(linear_y_(hidden), cast(scan.y, x.dtype()));
  return linear_out_(held_outputs(y, step.new_tokens, cache, 2), {.residual = residual});
}

std::vector<StateCache::Kind> RgLru::state_kinds(DType dtype) const {
  return {{{options_.conv_width - 1, options_.width}, dtype},
          {{options_.width}, state_dtype(dtype)},
          {{1, options_.width}, dtype}};
}

void RgLru::add_work(double, const TensorOptions& options, TokenWork* work) const {
  const double states = double(options_.width);
  const double inputs = double(options_.conv_width - 1) * states;
  work->cache_bytes += 2 * (states * double(dtype_size(state_dtype(options.dtype))) +
                            inputs * double(dtype_size(options.dtype)));  // read and written
  work->cache_flop += 2 * states + 2 * (inputs + states);
}

}  // namespace wick
