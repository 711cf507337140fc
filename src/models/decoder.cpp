#include "wick/models/decoder.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <variant>

#include "models/caches/layer_cache.h"
#include "ops/fused/rope_frequencies.h"
#include "wick/abi/backend.h"
#include "wick/nn/layers.h"
#include "wick/ops/arrange.h"
#include "wick/ops/attention.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/matmul.h"
#include "wick/ops/reduce.h"
#include "wick/ops/rope.h"
#include "wick/ops/shape.h"
#include "wick/ops/softmax.h"
#include "wick/ops/sort.h"
#include "wick/ops/unary.h"
#include "wick/ops/where.h"

// Shapes: B sequences, T tokens each, D head size, H query heads, G key-value heads.
namespace wick {
namespace {

/// Tables of rope and the row that each token has in them.
struct Rotation {
  RopeTables tables;
  Tensor rows;  // [B, T]
};

/// Inputs of a block other than the hidden states.
struct Step {
  const Tensor& positions;    // [B, T]
  const Tensor& visible;      // [B, T]: the last positions that the tokens attend to
  Rotation rope, local_rope;  // of full and of sliding layers
  ModelCache* cache;          // may be nullptr
};

/// Initial standard deviation of layers that add to the residual stream, scaled down by their
/// number so that the stream does not grow with depth. Source: Radford et al. 2019, "Language
/// models are unsupervised multitask learners", 2.3.
double residual_deviation(const DecoderConfig& c) {
  return c.initializer_range / std::sqrt(2 * double(c.num_hidden_layers));
}

/// A norm of the model's type, which some models lack: without a name, the identity.
struct Norm {
  std::optional<RmsNorm> rms;
  std::optional<LayerNorm> layer;

  Norm(const DecoderConfig& c, Parameters& p, const std::string& name, int64_t dim) {
    if (name.empty()) return;
    if (c.norm_type == NormType::kRms)
      rms.emplace(p, name, dim, NormOptions{.eps = c.rms_norm_eps, .adds_one = c.norm_adds_one});
    else
      layer.emplace(
          p, name, dim,
          LayerNormOptions{.eps = c.rms_norm_eps, .affine = c.norm_type == NormType::kLayer});
  }
  bool is_identity() const { return !rms && !layer; }
  Tensor operator()(const Tensor& x) const {
    if (rms) return (*rms)(x);
    return layer ? (*layer)(x) : x;
  }
};

/// A projection to the heads' queries, keys or values, clipped and normalized as the model asks.
struct HeadsProjection {
  const int64_t heads, head_dim;
  const double clip;
  const Linear projection;
  const Norm all_norm, head_norm;          // of all heads together, of each by itself
  std::optional<LayerNorm> per_head_norm;  // multiplied by head_weights
  Parameter head_weights;                  // [heads, D]

  /// norm: the name of the norm; "" for values, which have none.
  HeadsProjection(const DecoderConfig& c, Parameters& p, const std::string& name, int64_t heads,
                  const std::string& norm)
      : heads(heads),
        head_dim(c.head_dim),
        clip(c.clip_qkv),
        projection(p, name, c.hidden_size, heads * c.head_dim,
                   {.bias = c.attention_bias, .deviation = c.initializer_range}),
        all_norm(c, p, c.qk_norm == QkNorm::kProjection ? norm : "", heads * c.head_dim),
        head_norm(c, p, c.qk_norm == QkNorm::kHead ? norm : "", c.head_dim) {
    if (c.qk_norm != QkNorm::kEachHead || norm.empty()) return;
    per_head_norm.emplace(p, norm, head_dim,
                          LayerNormOptions{.eps = c.rms_norm_eps, .affine = false});
    head_weights = p.take(norm + ".weight", {heads, head_dim}, {1, 0});
  }

  Tensor operator()(const Tensor& x) const {  // [B, T, hidden] -> [B, T, heads, D]
    Tensor y = projection(x);
    if (clip > 0) y = clamp(y, {.min = -clip, .max = clip});
    y = reshape(all_norm(y), {x.size(0), x.size(1), heads, head_dim});
    return per_head_norm ? (*per_head_norm)(y)*head_weights.tensor() : head_norm(y);
  }
};

/// Biases of scores that grow with the key's position, at a slope of each head. Source: Press et al.
/// 2022, arXiv:2108.12409. As in Falcon, slopes and products are rounded to bf16, and scaled as scores.
struct Alibi {
  Tensor slopes;  // [1, H, 1, 1] bf16
  DType dtype;    // of the biases
  double scale;

  Alibi(const DecoderConfig& c, const TensorOptions& options)
      : slopes(cast(Tensor::from(slopes_of(c.num_attention_heads), {1, c.num_attention_heads, 1, 1},
                                 options.device),
                    DType::kBf16)),
        dtype(options.dtype == DType::kF64 ? DType::kF64 : DType::kF32),
        scale(1 / std::sqrt(double(c.head_dim))) {}

  /// Powers of 2^(-8 / n) for n heads, a power of two; heads beyond it have odd powers of 2^(-4 / n).
  static std::vector<float> slopes_of(int64_t heads) {
    int64_t n = 1;
    while (2 * n <= heads) n *= 2;
    std::vector<float> slopes;
    for (int64_t i = 1; i <= n; i++)
      slopes.push_back(float(std::exp2(-8.0 * double(i) / double(n))));
    for (int64_t i = 1; n + (i + 1) / 2 <= heads; i += 2)
      slopes.push_back(float(std::exp2(-4.0 * double(i) / double(n))));
    return slopes;
  }
  Tensor operator()(int64_t keys) const {  // [1, H, 1, keys]
    const Tensor at = arange(keys, {.dtype = DType::kI64, .device = slopes.device()});
    return cast(slopes * cast(at, DType::kBf16), dtype) * scale;
  }
};

struct Attention {
  const int64_t layer, query_heads, head_dim, rotary_dim;
  const bool slides, rotates;
  const RopePairs pairs;
  const SdpaOptions sdpa_options;
  const std::optional<Alibi> alibi;
  const HeadsProjection q_proj, k_proj, v_proj;
  const Linear o_proj;

  Attention(const DecoderConfig& c, Parameters& p, const std::string& name, int64_t layer)
      : layer(layer),
        query_heads(c.num_attention_heads),
        head_dim(c.head_dim),
        rotary_dim(c.rotary_dim > 0 ? c.rotary_dim : c.head_dim),
        slides(!c.layer_types.empty() && c.layer_types[size_t(layer)] == LayerType::kSliding),
        rotates(!c.learned_positions && !c.alibi &&
                (c.rope_layers.empty() || c.rope_layers[size_t(layer)])),
        pairs(c.rope_pairs),
        sdpa_options{.is_causal = c.is_causal,
                     .scale = scale(c),
                     .window = slides ? c.sliding_window : 0,
                     .soft_cap = c.attn_logit_softcapping},
        alibi(c.alibi && !p.only_shapes()
                  ? std::optional<Alibi>(
                        std::in_place, c,
                        TensorOptions{.dtype = p.options().dtype, .device = p.options().device})
                  : std::nullopt),
        q_proj(c, p, name + "q_proj", query_heads, name + "q_norm"),
        k_proj(c, p, name + "k_proj", c.num_key_value_heads, name + "k_norm"),
        v_proj(c, p, name + "v_proj", c.num_key_value_heads, ""),
        o_proj(p, name + "o_proj", query_heads * head_dim, c.hidden_size,
               {.bias = c.attention_output_bias, .deviation = residual_deviation(c)}) {}

  static double scale(const DecoderConfig& c) {
    if (c.attention_multiplier > 0) return c.attention_multiplier;
    return c.query_pre_attn_scalar > 0 ? 1 / std::sqrt(c.query_pre_attn_scalar) : 0;
  }

  /// x [B, T, hidden]; adds the residual of that shape, unless it is empty.
  Tensor operator()(const Tensor& x, const Step& step, const Tensor& residual = {}) const {
    const int64_t b = x.size(0), t = x.size(1);
    const Tensor q = transpose(rotated(q_proj(x), step), 1, 2);  // [B, H, T, D]
    Tensor k = transpose(rotated(k_proj(x), step), 1, 2);        // [B, G, T, D]
    Tensor v = transpose(v_proj(x), 1, 2);
    SdpaOptions options = sdpa_options;
    if (options.is_causal) options.positions = step.visible;
    if (step.cache) {
      AttentionCache& cache = static_cast<AttentionCache&>(step.cache->layer(layer));
      AttentionCache::KeysValues all = cache.write(k, v, step.positions, step.visible);
      k = all.keys;
      v = all.values;
      options.positions = all.positions;
    }
    if (alibi) options.mask = (*alibi)(k.size(2));
    const Tensor y = sdpa(q, k, v, options);  // [B, H, T, D]
    return o_proj(reshape(transpose(y, 1, 2), {b, t, query_heads * head_dim}),
                  {.residual = residual});
  }

  Tensor rotated(const Tensor& x, const Step& step) const {  // x: [B, T, H or G, D]
    if (!rotates) return x;
    const auto& [tables, rows] = slides ? step.local_rope : step.rope;
    const RopeOptions options{
        .pairs = pairs, .layout = RopeLayout::kTokensFirst, .positions = rows};
    if (rotary_dim == head_dim) return rope(x, tables, options);
    return cat({rope(narrow(x, 3, 0, rotary_dim), tables, options),
                narrow(x, 3, rotary_dim, head_dim - rotary_dim)},
               3);
  }
};

Activation activation_of(HiddenAct act) {
  switch (act) {
    case HiddenAct::kSilu:
      return Activation::kSilu;
    case HiddenAct::kGelu:
      return Activation::kGelu;
    case HiddenAct::kGeluTanh:
      return Activation::kGeluTanh;
  }
  return Activation::kNone;
}
Tensor gated(HiddenAct act, const Tensor& gate, const Tensor& up) {
  switch (act) {
    case HiddenAct::kSilu:
      return swiglu(gate, up);
    case HiddenAct::kGelu:
      return gelu(gate) * up;
    case HiddenAct::kGeluTanh:
      return gelu_tanh(gate) * up;
  }
  return {};
}

struct Mlp {
  const HiddenAct hidden_act;
  const std::optional<Linear> gate_proj;
  const Linear up_proj, down_proj;

  Mlp(const DecoderConfig& c, Parameters& p, const std::string& name, int64_t intermediate_size)
      : hidden_act(c.hidden_act),
        gate_proj(c.gated_mlp
                      ? std::optional<Linear>(std::in_place, p, name + "gate_proj", c.hidden_size,
                                              intermediate_size, in_options(c))
                      : std::nullopt),
        up_proj(p, name + "up_proj", c.hidden_size, intermediate_size, in_options(c)),
        down_proj(p, name + "down_proj", intermediate_size, c.hidden_size,
                  {.bias = c.mlp_bias, .deviation = residual_deviation(c)}) {}

  /// Adds the residual of x's shape, unless it is empty.
  Tensor operator()(const Tensor& x, const Tensor& residual = {}) const {
    const Tensor inner = gate_proj ? gated(hidden_act, (*gate_proj)(x), up_proj(x))
                                   : up_proj(x, {.activation = activation_of(hidden_act)});
    return down_proj(inner, {.residual = residual});
  }

  static LinearOptions in_options(const DecoderConfig& c) {
    return {.bias = c.mlp_bias, .deviation = c.initializer_range};
  }
};

/// An MLP beside the experts for every token, scaled by the sigmoid of a gate's score.
struct SharedExpert {
  const Mlp mlp;
  const Linear gate;  // to 1 score

  SharedExpert(const DecoderConfig& c, Parameters& p, const std::string& name)
      : mlp(c, p, name + "shared_expert.", c.shared_expert_intermediate_size),
        gate(p, name + "shared_expert_gate", c.hidden_size, 1, {.deviation = c.initializer_range}) {
  }
  Tensor operator()(const Tensor& x) const { return mlp(x) * sigmoid(gate(x)); }
};

/// A mixture of experts: gated MLPs, some of which a router selects for each token. Their outputs are
/// added with its weights. Source: Shazeer et al. 2017, arXiv:1701.06538, eq. 1.
struct MoeMlp {
  const HiddenAct hidden_act;
  const int64_t selected;
  const bool renormalizes;
  const Linear gate;
  const ExpertLinear gate_proj, up_proj, down_proj;
  std::optional<SharedExpert> shared_expert;

  MoeMlp(const DecoderConfig& c, Parameters& p, const std::string& name)
      : hidden_act(c.hidden_act),
        selected(c.num_experts_per_tok),
        renormalizes(c.norm_topk_prob),
        gate(p, name + "gate", c.hidden_size, c.num_experts, {.deviation = c.initializer_range}),
        gate_proj(p, name + "experts.gate_proj", c.num_experts, c.hidden_size,
                  c.moe_intermediate_size, c.initializer_range),
        up_proj(p, name + "experts.up_proj", c.num_experts, c.hidden_size, c.moe_intermediate_size,
                c.initializer_range),
        down_proj(p, name + "experts.down_proj", c.num_experts, c.moe_intermediate_size,
                  c.hidden_size, residual_deviation(c)) {
    if (c.shared_expert_intermediate_size > 0) shared_expert.emplace(c, p, name);
  }

  Tensor operator()(const Tensor& x, const Tensor& residual = {}) const {  // [B, T, hidden]
    const Tensor rows = reshape(x, {x.size(0) * x.size(1), x.size(2)});
    const auto [weights, ids] = route(rows);  // [B T, selected]
    const Tensor y = down_proj(gated(hidden_act, gate_proj(rows, ids), up_proj(rows, ids)), ids);
    const Tensor sum = reshape(matmul(unsqueeze(cast(weights, x.dtype()), 1), y), x.shape());
    const Tensor all = shared_expert ? sum + (*shared_expert)(x) : sum;
    return residual ? residual + all : all;
  }

  /// The softmax of the selected experts' scores is that of all scores, scaled to a sum of 1.
  ValuesIndices route(const Tensor& rows) const {
    const Tensor raw = gate(rows);
    const Tensor scores = raw.dtype() == DType::kF64 ? raw : cast(raw, DType::kF32);
    if (!renormalizes) return topk(softmax(scores, -1), selected);
    ValuesIndices most = topk(scores, selected);
    return {softmax(most.values, -1), most.indices};
  }
};

bool has_experts(const DecoderConfig& c, int64_t layer) {
  return c.num_experts > 0 && (c.sparse_layers.empty() || c.sparse_layers[size_t(layer)]);
}

/// A layer's MLP, which may be a mixture of experts.
struct FeedForward {
  const std::variant<Mlp, MoeMlp> mlp;

  FeedForward(const DecoderConfig& c, Parameters& p, const std::string& name, int64_t layer)
      : mlp(has_experts(c, layer)
                ? std::variant<Mlp, MoeMlp>(std::in_place_type<MoeMlp>, c, p, name)
                : std::variant<Mlp, MoeMlp>(std::in_place_type<Mlp>, c, p, name,
                                            c.intermediate_size)) {}
  Tensor operator()(const Tensor& x, const Tensor& residual = {}) const {
    return std::visit([&](const auto& kind) { return kind(x, residual); }, mlp);
  }
};

/// The names of a block's norms; "" for those that a model lacks.
struct NormNames {
  const char *attention_input, *attention_output, *mlp_input, *mlp_output;
};
NormNames norm_names(const DecoderConfig& c) {
  if (c.parallel_residual && c.parallel_mlp_norm)
    return {"pre_attention_layernorm", "", "pre_feedforward_layernorm", ""};
  if (c.parallel_residual) return {"input_layernorm", "", "", ""};
  switch (c.norm_places) {
    case NormPlaces::kInputs:
      return {"input_layernorm", "", "post_attention_layernorm", ""};
    case NormPlaces::kOutputs:
      return {"", "post_attention_layernorm", "", "post_feedforward_layernorm"};
    case NormPlaces::kBoth:
      return {"input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
              "post_feedforward_layernorm"};
  }
  return {};
}

struct Block {
  const bool parallel_residual;
  const double residual_multiplier;
  const Norm attention_input_norm;
  const Attention self_attn;
  const Norm attention_output_norm, mlp_input_norm;
  const FeedForward mlp;
  const Norm mlp_output_norm;

  Block(const DecoderConfig& c, Parameters& p, const std::string& name, int64_t layer)
      : parallel_residual(c.parallel_residual),
        residual_multiplier(c.residual_multiplier),
        attention_input_norm(norm(c, p, name, &NormNames::attention_input)),
        self_attn(c, p, name + "self_attn.", layer),
        attention_output_norm(norm(c, p, name, &NormNames::attention_output)),
        mlp_input_norm(norm(c, p, name, &NormNames::mlp_input)),
        mlp(c, p, name + "mlp.", layer),
        mlp_output_norm(norm(c, p, name, &NormNames::mlp_output)) {}

  static Norm norm(const DecoderConfig& c, Parameters& p, const std::string& name,
                   const char* NormNames::*place) {
    const std::string of_place = norm_names(c).*place;
    return {c, p, of_place.empty() ? "" : name + of_place, c.hidden_size};
  }

  Tensor operator()(Tensor x, const Step& step) const {
    const Tensor y = attention_input_norm(x);
    if (parallel_residual)
      return x +
             scaled(mlp(mlp_input_norm.is_identity() ? y : mlp_input_norm(x), self_attn(y, step)));
    x = adds_directly(attention_output_norm)
            ? self_attn(y, step, x)
            : x + scaled(attention_output_norm(self_attn(y, step)));
    const Tensor z = mlp_input_norm(x);
    return adds_directly(mlp_output_norm) ? mlp(z, x) : x + scaled(mlp_output_norm(mlp(z)));
  }
  /// Whether nothing is done to a part's output before it is added to the hidden states.
  bool adds_directly(const Norm& output_norm) const {
    return residual_multiplier == 1 && output_norm.is_identity();
  }
  Tensor scaled(const Tensor& x) const {
    return residual_multiplier != 1 ? x * residual_multiplier : x;
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
  const ModelFacts facts;
  const TensorOptions options;
  const int64_t positions;            // the most that a text may have
  const RopeTables rope, local_rope;  // local_rope: of sliding layers
  const Embedding embed_tokens;
  const Tensor embedding_scale;  // []; empty for a scale of 1
  const std::optional<Embedding> embed_positions;
  std::vector<Block> blocks;
  const Norm norm;
  const Parameter output_weight;  // [vocab_size, hidden_size]
  const Parameter output_bias;    // [vocab_size]; most models have none

  Layers(const DecoderConfig& c, Parameters& p, int64_t positions)
      : config(c),
        facts(facts_of(c)),
        options{.dtype = p.options().dtype, .device = p.options().device},
        positions(c.learned_positions ? c.max_position_embeddings : positions),
        rope(p.only_shapes() ? RopeTables() : tables(c, positions, c.rope_theta, c.rope_scaling)),
        local_rope(has_local_rope(c) && !p.only_shapes()
                       ? tables(c, positions, c.rope_local_base_freq, {})
                       : rope),
        embed_tokens(p, "model.embed_tokens", c.vocab_size, c.hidden_size, c.initializer_range),
        embedding_scale(c.embedding_scale != 1 ? full({}, c.embedding_scale, options) : Tensor()),
        embed_positions(c.learned_positions
                            ? std::optional<Embedding>(std::in_place, p, "model.embed_positions",
                                                       c.max_position_embeddings, c.hidden_size,
                                                       c.initializer_range)
                            : std::nullopt),
        blocks(make_blocks(c, p)),
        norm(c, p, "model.norm", c.hidden_size),
        output_weight(c.tie_word_embeddings ? embed_tokens.weight
                                            : Linear(p, "lm_head", c.hidden_size, c.vocab_size,
                                                     {.deviation = c.initializer_range})
                                                  .weight),
        output_bias(c.lm_head_bias ? p.take("lm_head.bias", {c.vocab_size}, {0, 0}) : Parameter()) {
  }

  RopeTables tables(const DecoderConfig& c, int64_t positions, double theta,
                    const RopeScaling& scaling) const {
    // Those of kDynamic serve texts within the trained context; rope_of makes the others.
    const bool is_dynamic = scaling.type == RopeScalingType::kDynamic;
    const int64_t most =
        is_dynamic ? std::min(positions, scaling.original_max_position_embeddings) : positions;
    return rope_tables(c.learned_positions || c.alibi ? 0 : most, rotated_elements(), theta,
                       {.dtype = rope_dtype(), .device = options.device}, scaling);
  }
  int64_t rotated_elements() const {  // of a head
    return config.rotary_dim > 0 ? config.rotary_dim : config.head_dim;
  }
  DType rope_dtype() const { return options.dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

  /// The rotation of tokens at positions [B, T] in texts of so many tokens, one number per row.
  Rotation rope_of(const Tensor& at, const std::vector<int64_t>& lengths) const {
    const RopeScaling& scaling = config.rope_scaling;
    const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
    if (scaling.type != RopeScalingType::kDynamic ||
        longest <= scaling.original_max_position_embeddings)
      return {rope, at};
    const int64_t batch = at.size(0), tokens = at.size(1), pairs = rotated_elements() / 2;
    std::vector<double> frequencies;
    for (const int64_t length : lengths)
      for (const double frequency : rope_frequencies(length, 2 * pairs, config.rope_theta,
                                                     rope_dtype() == DType::kF32, scaling))
        frequencies.push_back(frequency);
    const Tensor per_row = cast(Tensor::from(frequencies, {batch, 1, pairs}), rope_dtype());
    const Tensor angles = reshape(unsqueeze(cast(at, rope_dtype()), 2) * per_row.to(at.device()),
                                  {batch * tokens, pairs});
    const Tensor rows = arange(batch * tokens, {.dtype = DType::kI64, .device = at.device()});
    return {{cos(angles), sin(angles)}, reshape(rows, {batch, tokens})};
  }

  void require_room_for(const std::vector<int64_t>& lengths) const {
    for (const int64_t length : lengths)
      check(length <= positions, ErrorCode::kOutOfRange, "decoder", "a text of ", length,
            " tokens exceeds the ", positions, " positions of the model",
            positions == config.max_position_embeddings ? " (\"max_position_embeddings\")" : "",
            config.learned_positions
                ? ", which has an embedding for each"
                : "; load it for more with LoadOptions::positions (positions= in Python)");
  }
  static bool has_local_rope(const DecoderConfig& c) {
    return !c.layer_types.empty() && c.rope_local_base_freq > 0;
  }

  static std::vector<Block> make_blocks(const DecoderConfig& c, Parameters& p) {
    check(c.num_hidden_layers <= DecoderConfig::kMostLayers, ErrorCode::kInvalidArgument, "config",
          "\"num_hidden_layers\": expected at most ", DecoderConfig::kMostLayers, ", got ",
          c.num_hidden_layers);
    check(c.layer_types.empty() || int64_t(c.layer_types.size()) == c.num_hidden_layers,
          ErrorCode::kInvalidArgument, "config", "\"layer_types\": expected ", c.num_hidden_layers,
          ", got ", c.layer_types.size());
    check(c.rope_layers.empty() || int64_t(c.rope_layers.size()) == c.num_hidden_layers,
          ErrorCode::kInvalidArgument, "config", "rope_layers: expected ", c.num_hidden_layers,
          ", got ", c.rope_layers.size());
    check(c.sparse_layers.empty() || int64_t(c.sparse_layers.size()) == c.num_hidden_layers,
          ErrorCode::kInvalidArgument, "config", "sparse_layers: expected ", c.num_hidden_layers,
          ", got ", c.sparse_layers.size());
    std::vector<Block> blocks;
    blocks.reserve(size_t(c.num_hidden_layers));
    for (int64_t i = 0; i < c.num_hidden_layers; i++)
      blocks.emplace_back(c, p, "model.layers." + std::to_string(i) + ".", i);
    return blocks;
  }

  Tensor embed(const TokenGrid& grid) const {  // [B, T, hidden]
    Tensor x = grid.embeddings ? grid.embeddings : embed_tokens(grid.ids);
    if (embedding_scale && !grid.embeddings) x = x * embedding_scale;
    return embed_positions ? x + (*embed_positions)(grid.positions) : x;
  }
};

ModelFacts facts_of(const DecoderConfig& c) {
  return {.model_type = c.model_type,
          .vocab_size = c.vocab_size,
          .hidden_size = c.hidden_size,
          .max_position_embeddings = c.max_position_embeddings,
          .is_causal = c.is_causal};
}

Decoder::Decoder(const DecoderConfig& config, Parameters& parameters, int64_t positions) {
  if (parameters.draws()) require_room(config, parameters.options());
  layers_ = std::make_shared<Layers>(config, parameters,
                                     positions > 0 ? positions : config.max_position_embeddings);
}

int64_t num_parameters(const DecoderConfig& config) {
  check(config.num_hidden_layers <= DecoderConfig::kMostLayers, ErrorCode::kInvalidArgument,
        "config", "\"num_hidden_layers\": expected at most ", DecoderConfig::kMostLayers, ", got ",
        config.num_hidden_layers);
  __extension__ using Wide = __int128;  // int64_t overflows for large sizes
  // Layers of a kind have the same shapes, so models of one and of two tell what a layer adds.
  const auto count_of = [&](int64_t layers, bool sparse) {
    DecoderConfig c = config;
    c.num_hidden_layers = layers;
    c.layer_types.clear();
    c.rope_layers.clear();
    c.sparse_layers.clear();
    if (!sparse) c.num_experts = 0;
    Parameters parameters = Parameters::of_shapes();
    const Decoder decoder(c, parameters, 1);
    Wide count = 0;
    for (const auto& [name, info] : parameters.taken()) {
      Wide weights = 1;
      for (const int64_t size : info.shape) weights *= size;
      count += weights;
    }
    return count;
  };
  int64_t sparse_layers = 0;
  for (int64_t i = 0; i < config.num_hidden_layers; i++) sparse_layers += has_experts(config, i);
  Wide count = count_of(0, false);
  for (const bool sparse : {false, true})
    if (const int64_t layers = sparse ? sparse_layers : config.num_hidden_layers - sparse_layers;
        layers > 0)
      count += layers * (count_of(2, sparse) - count_of(1, sparse));
  check(count <= int64_t{1} << 60, ErrorCode::kInvalidArgument, "config",
        "the sizes give more than 2^60 weights");
  return int64_t(count);
}

const DecoderConfig& Decoder::config() const { return layers_->config; }
TensorOptions Decoder::options() const { return layers_->options; }

std::shared_ptr<const CausalModel> Decoder::shared() const {
  return std::make_shared<Decoder>(*this);
}
const ModelFacts& Decoder::facts() const { return layers_->facts; }
int64_t Decoder::positions() const { return layers_->positions; }

Tensor Decoder::hidden_of(const TokenGrid& grid, ModelCache* cache,
                          std::vector<Tensor>* all) const {
  std::vector<int64_t> lengths = grid.lengths;
  const bool is_dynamic = config().rope_scaling.type == RopeScalingType::kDynamic;
  const bool is_empty = grid.positions.numel() == 0;
  if (lengths.empty() && is_dynamic && !is_empty)
    lengths = (amax(grid.positions, {.dims = {1}}) + 1).to_vector<int64_t>();
  layers_->require_room_for(lengths);
  const Rotation rope = lengths.empty() || is_empty ? Rotation{layers_->rope, grid.positions}
                                                    : layers_->rope_of(grid.positions, lengths);
  const bool is_local = Layers::has_local_rope(config());
  const Step step{grid.positions, grid.visible, rope,
                  is_local ? Rotation{layers_->local_rope, grid.positions} : rope, cache};
  Tensor x = layers_->embed(grid);
  for (const Block& block : layers_->blocks) {
    if (all) all->push_back(x);
    x = block(x, step);
  }
  x = layers_->norm(x);
  if (all) all->push_back(x);  // as transformers has it: after the norm
  return x;
}

Tensor Decoder::logits(const Tensor& hidden) const {
  const double cap = config().final_logit_softcapping, divisor = config().logits_scaling;
  Tensor y = linear(hidden, layers_->output_weight, layers_->output_bias);
  if (divisor != 1) y = y / divisor;
  return cap > 0 ? tanh(y / cap) * cap : y;
}

std::unique_ptr<ModelCache> Decoder::make_cache(const CacheOptions& o) const {
  const DecoderConfig& c = config();
  std::vector<std::unique_ptr<LayerCache>> layers;
  std::shared_ptr<BlockTable> table;
  if (o.block > 0) {
    const int64_t needed = o.sequences * ((o.capacity + o.block - 1) / o.block);
    table = std::make_shared<BlockTable>(o.sequences, o.capacity, o.block,
                                         o.blocks > 0 ? o.blocks : needed, options().device);
  }
  for (int64_t i = 0; i < c.num_hidden_layers; i++) {
    const int64_t room = WindowCache::room(c.sliding_window, o.chunk);
    const bool slides = !c.layer_types.empty() && c.layer_types[size_t(i)] == LayerType::kSliding;
    KeysValuesSizes sizes{o.sequences, c.num_key_value_heads, o.capacity, c.head_dim};
    if (slides && room < o.capacity) {
      sizes.capacity = room;
      layers.push_back(std::make_unique<WindowCache>(sizes, c.sliding_window, options()));
    } else if (table) {
      layers.push_back(std::make_unique<BlocksCache>(sizes, table, options()));
    } else {
      layers.push_back(std::make_unique<RowsCache>(sizes, options()));
    }
  }
  return std::make_unique<ModelCache>(o, std::move(layers), table);
}

TokenWork Decoder::work(const std::map<std::string, TensorInfo>& weights, double before) const {
  const DecoderConfig& c = config();
  TokenWork work;
  for (const auto& [name, info] : weights) {
    // Of the embedding a token reads a row, of the experts those that it selects. A batch reads the
    // least if all its tokens select the same ones.
    const bool is_expert = name.find(".mlp.experts.") != name.npos;
    const double share = is_expert ? double(c.num_experts_per_tok) / double(c.num_experts) : 1;
    const double elements = share * double(numel(info.shape));
    const bool is_embedding = name.starts_with("model.embed_");
    const bool is_output =
        name == (c.tie_word_embeddings ? "model.embed_tokens.weight" : "lm_head.weight");
    if (is_embedding && !is_output) continue;
    work.bytes += share * double(bytes_of(info.dtype, numel(info.shape)));
    (is_output ? work.output_elements : work.elements) += elements;
  }
  double attended = 0;  // positions, of all layers together
  for (int64_t i = 0; i < c.num_hidden_layers; i++) {
    const bool slides = !c.layer_types.empty() && c.layer_types[size_t(i)] == LayerType::kSliding;
    attended += slides ? std::min(before + 1, double(c.sliding_window)) : before + 1;
  }
  const int64_t keys = c.num_key_value_heads * c.head_dim;
  work.cache_bytes = attended * double(bytes_of(options().dtype, 2 * keys));
  work.cache_flop = 4 * attended * double(c.num_attention_heads * c.head_dim);
  return work;
}

}  // namespace wick
