#include "wick/models/decoder.h"

#include <cmath>

#include "wick/abi/backend.h"
#include "wick/nn/layers.h"
#include "wick/ops/attention.h"
#include "wick/ops/binary.h"
#include "wick/ops/create.h"
#include "wick/ops/matmul.h"
#include "wick/ops/rope.h"
#include "wick/ops/shape.h"

// Shapes: B sequences, T tokens each, D head size, H query heads, G key-value heads.
namespace wick {
namespace {

/// Inputs of a block other than the hidden states.
struct Step {
  const Tensor& positions;  // [B, T]
  const RopeTables& rope;
  KvCache* cache;  // may be nullptr
};

/// Initial standard deviation of layers that add to the residual stream, scaled down by their
/// number so that the stream does not grow with depth. Source: Radford et al. 2019, "Language
/// models are unsupervised multitask learners", 2.3.
double residual_deviation(const DecoderConfig& c) {
  return c.initializer_range / std::sqrt(2 * double(c.num_hidden_layers));
}

struct Attention {
  const int64_t layer, query_heads, key_heads, head_dim;
  const Linear q_proj, k_proj, v_proj, o_proj;

  Attention(const DecoderConfig& c, Parameters& p, const std::string& name, int64_t layer)
      : layer(layer),
        query_heads(c.num_attention_heads),
        key_heads(c.num_key_value_heads),
        head_dim(c.head_dim),
        q_proj(p, name + "q_proj", c.hidden_size, query_heads * head_dim, in_options(c)),
        k_proj(p, name + "k_proj", c.hidden_size, key_heads * head_dim, in_options(c)),
        v_proj(p, name + "v_proj", c.hidden_size, key_heads * head_dim, in_options(c)),
        o_proj(p, name + "o_proj", query_heads * head_dim, c.hidden_size,
               {.bias = c.attention_bias, .deviation = residual_deviation(c)}) {}

  Tensor operator()(const Tensor& x, const Step& step) const {  // x: [B, T, hidden]
    const int64_t b = x.size(0), t = x.size(1);
    Tensor q = reshape(q_proj(x), {b, t, query_heads, head_dim});
    Tensor k = reshape(k_proj(x), {b, t, key_heads, head_dim});
    Tensor v = reshape(v_proj(x), {b, t, key_heads, head_dim});
    q = transpose(rope_thd(q, step.rope.cos, step.rope.sin, step.positions), 1, 2);  // [B, H, T, D]
    k = transpose(rope_thd(k, step.rope.cos, step.rope.sin, step.positions), 1, 2);  // [B, G, T, D]
    v = transpose(v, 1, 2);
    if (step.cache) {
      KvCache::KeysValues all = step.cache->write(layer, k, v, step.positions);
      k = all.keys;
      v = all.values;
    }
    const Tensor y =
        sdpa(q, k, v, {.is_causal = true, .positions = step.positions});  // [B, H, T, D]
    return o_proj(reshape(transpose(y, 1, 2), {b, t, query_heads * head_dim}));
  }

  static LinearOptions in_options(const DecoderConfig& c) {
    return {.bias = c.attention_bias, .deviation = c.initializer_range};
  }
};

struct Mlp {
  const Linear gate_proj, up_proj, down_proj;

  Mlp(const DecoderConfig& c, Parameters& p, const std::string& name)
      : gate_proj(p, name + "gate_proj", c.hidden_size, c.intermediate_size, in_options(c)),
        up_proj(p, name + "up_proj", c.hidden_size, c.intermediate_size, in_options(c)),
        down_proj(p, name + "down_proj", c.intermediate_size, c.hidden_size,
                  {.bias = c.mlp_bias, .deviation = residual_deviation(c)}) {}

  Tensor operator()(const Tensor& x) const { return down_proj(swiglu(gate_proj(x), up_proj(x))); }

  static LinearOptions in_options(const DecoderConfig& c) {
    return {.bias = c.mlp_bias, .deviation = c.initializer_range};
  }
};

struct Block {
  const RmsNorm input_layernorm;
  const Attention self_attn;
  const RmsNorm post_attention_layernorm;
  const Mlp mlp;

  Block(const DecoderConfig& c, Parameters& p, const std::string& name, int64_t layer)
      : input_layernorm(p, name + "input_layernorm", c.hidden_size, c.rms_norm_eps),
        self_attn(c, p, name + "self_attn.", layer),
        post_attention_layernorm(p, name + "post_attention_layernorm", c.hidden_size,
                                 c.rms_norm_eps),
        mlp(c, p, name + "mlp.") {}

  Tensor operator()(Tensor x, const Step& step) const {
    x = x + self_attn(input_layernorm(x), step);
    return x + mlp(post_attention_layernorm(x));
  }
};

}  // namespace

/// Checks that initial weights fit the device, before any are allocated.
void require_room(const DecoderConfig& c, const ParameterOptions& options) {
  const int64_t weights = num_parameters(c), room = options.device.info().total_bytes;
  const bool fits = room <= 0 || weights <= room / bytes_of(options.dtype, 1);  // 0: unknown
  check(fits, ErrorCode::kOutOfMemory, "decoder", weights, " weights of ",
        dtype_name(options.dtype), " exceed the ", room >> 20, " MiB of ", options.device);
}

struct Decoder::Layers {
  const DecoderConfig config;
  const TensorOptions options;
  const RopeTables rope;
  const Embedding embed_tokens;
  std::vector<Block> blocks;
  const RmsNorm norm;
  const Parameter output_weight;  // [vocab_size, hidden_size]

  Layers(const DecoderConfig& c, Parameters& p, int64_t positions)
      : config(c),
        options{.dtype = p.options().dtype, .device = p.options().device},
        rope(rope_tables(positions, c.head_dim, c.rope_theta,
                         {.dtype = options.dtype == DType::kF64 ? DType::kF64 : DType::kF32,
                          .device = options.device})),
        embed_tokens(p, "model.embed_tokens", c.vocab_size, c.hidden_size, c.initializer_range),
        blocks(make_blocks(c, p)),
        norm(p, "model.norm", c.hidden_size, c.rms_norm_eps),
        output_weight(c.tie_word_embeddings ? embed_tokens.weight
                                            : Linear(p, "lm_head", c.hidden_size, c.vocab_size,
                                                     {.deviation = c.initializer_range})
                                                  .weight) {}

  static std::vector<Block> make_blocks(const DecoderConfig& c, Parameters& p) {
    check(c.num_hidden_layers <= DecoderConfig::kMostLayers, ErrorCode::kInvalidArgument, "config",
          "\"num_hidden_layers\": expected at most ", DecoderConfig::kMostLayers, ", got ",
          c.num_hidden_layers);
    std::vector<Block> blocks;
    blocks.reserve(size_t(c.num_hidden_layers));
    for (int64_t i = 0; i < c.num_hidden_layers; i++)
      blocks.emplace_back(c, p, "model.layers." + std::to_string(i) + ".", i);
    return blocks;
  }
};

Decoder::Decoder(const DecoderConfig& config, Parameters& parameters, int64_t positions) {
  if (parameters.draws()) require_room(config, parameters.options());
  layers_ = std::make_shared<Layers>(config, parameters,
                                     positions > 0 ? positions : config.max_position_embeddings);
}

int64_t num_parameters(const DecoderConfig& config) {
  Parameters parameters = Parameters::of_shapes();
  const Decoder decoder(config, parameters, 1);
  double count = 0;  // in double, because integers overflow for large sizes
  for (const auto& [name, shape] : parameters.shapes()) {
    double weights = 1;
    for (const int64_t size : shape) weights *= double(size);
    count += weights;
  }
  check(count <= 0x1p60, ErrorCode::kInvalidArgument, "config",
        "the sizes give more than 2^60 weights");
  int64_t exact = 0;
  for (const auto& [name, shape] : parameters.shapes()) exact += numel(shape);
  return exact;
}

const DecoderConfig& Decoder::config() const { return layers_->config; }
TensorOptions Decoder::options() const { return layers_->options; }

Tensor Decoder::hidden(const Tensor& ids, const Tensor& positions, KvCache* cache) const {
  check(bool(ids) && ids.rank() == 2 && bool(positions) && positions.shape() == ids.shape(),
        ErrorCode::kShapeMismatch, "decoder", "expected ids and positions [B, T], got ",
        ids ? to_string(ids.shape()) : "nothing", " and ",
        positions ? to_string(positions.shape()) : "nothing");
  const Step step{positions, layers_->rope, cache};
  Tensor x = layers_->embed_tokens(ids);  // [B, T, hidden]
  for (const Block& block : layers_->blocks) x = block(x, step);
  return layers_->norm(x);
}

Tensor Decoder::logits(const Tensor& hidden) const {
  return linear(hidden, layers_->output_weight);
}

std::unique_ptr<KvCache> Decoder::make_cache(int64_t batch, int64_t capacity) const {
  const DecoderConfig& c = config();
  const KvCacheSizes sizes{.layers = c.num_hidden_layers,
                           .batch = batch,
                           .heads = c.num_key_value_heads,
                           .capacity = capacity,
                           .head_dim = c.head_dim};
  return std::make_unique<FixedKvCache>(sizes, options());
}

Tensor positions_from_0(int64_t batch, int64_t length, const Device& device) {
  const Tensor one = arange(length, {.dtype = DType::kI64, .device = device});
  return broadcast_to(one, {batch, length}).contiguous();
}

}  // namespace wick
