#include "models/parts/short_conv.h"

#include "wick/ops/binary.h"
#include "wick/ops/recurrence.h"
#include "wick/ops/shape.h"

namespace wick {

ShortConv::ShortConv(const ShortConvOptions& o, Parameters& p, const std::string& name)
    : options_(o),
      in_proj_(p, name + "in_proj", o.hidden_size, 3 * o.hidden_size,
               {.bias = o.bias, .deviation = o.deviation}),
      out_proj_(p, name + "out_proj", o.hidden_size, o.hidden_size,
                {.bias = o.bias, .deviation = o.output_deviation}),
      conv_weight_(
          p.take(name + "conv.weight", {o.hidden_size, 1, o.conv_width}, {0, o.deviation})),
      conv_bias_(o.bias ? p.take(name + "conv.bias", {o.hidden_size}, {0, 0}) : Parameter()) {}

Tensor ShortConv::operator()(const Normalized& input, const Step& step,
                             const Tensor& residual) const {
  const Tensor hidden = input.value();
  StateCache* const cache = step.cache_of<StateCache>(options_.layer);
  const std::vector<Tensor> parts = chunk(in_proj_(hidden), 3, 2);  // b, c, x: [B, T, E]
  const TensorAndState conv =
      causal_conv1d(parts[0] * parts[2], select(conv_weight_.tensor(), 1, 0),
                    {.bias = conv_bias_,
                     .state = cache ? cache->state(0) : Tensor(),
                     .lengths = step.new_tokens,
                     .overwrites_state = overwrites_state(cache)});
  const Tensor y = held_outputs(parts[1] * conv.y, step.new_tokens, cache, 1);
  if (cache) {
    cache->set_state(0, conv.state);
  }
  return out_proj_(y, {.residual = residual});
}

std::vector<StateCache::Kind> ShortConv::state_kinds(DType dtype) const {
  return {{{options_.conv_width - 1, options_.hidden_size}, dtype},
          {{1, options_.hidden_size}, dtype}};
}

void ShortConv::add_work(double, const TensorOptions& options, TokenWork* work) const {
  const double inputs = double(options_.conv_width - 1) * double(options_.hidden_size);
  work->cache_bytes += 2 * inputs * double(dtype_size(options.dtype));  // read and written
  work->cache_flop += 2 * inputs;
}

}  // namespace wick
