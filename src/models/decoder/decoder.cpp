#include "wick/models/decoder.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <variant>

#include "core/transfer.h"
#include "models/decoder/layer_sizes.h"
#include "models/parts/attention.h"
#include "models/parts/delta_net.h"
#include "models/parts/experts.h"
#include "models/parts/latent_attention.h"
#include "models/parts/mamba2.h"
#include "models/parts/mlp.h"
#include "models/parts/norm.h"
#include "models/parts/partition.h"
#include "models/parts/per_layer_inputs.h"
#include "models/parts/rg_lru.h"
#include "models/parts/short_conv.h"
#include "scalar/round_up.h"
#include "wick/abi/backend.h"
#include "wick/nn/layers.h"
#include "wick/ops/arrange.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/compare.h"
#include "wick/ops/create.h"
#include "wick/ops/matmul.h"
#include "wick/ops/norm.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"
#include "wick/ops/unary.h"
#include "wick/ops/where.h"

// Shapes: B sequences, T tokens each.
namespace wick {
namespace {

// ---- a config's parts

/// Initial standard deviation of layers that add to the residual stream, scaled down by their
/// number so that the stream does not grow with depth. Source: Radford et al. 2019, "Language
/// models are unsupervised multitask learners", 2.3.
double residual_deviation(const DecoderConfig& c) {
  return c.initializer_range / std::sqrt(2 * double(c.num_hidden_layers));
}

NormKind norm_kind(const DecoderConfig& c) {
  return {.type = c.norm_type, .eps = c.rms_norm_eps, .adds_one = c.norm_adds_one};
}

bool slides(const DecoderConfig& c, int64_t layer) {
  return type_of(c, layer) == LayerType::kSliding;
}
bool attends(LayerType type) { return type == LayerType::kFull || type == LayerType::kSliding; }
bool has_positions_of_rope(const DecoderConfig& c) {
  if (c.learned_positions || c.alibi) return false;
  for (int64_t i = 0; i < c.num_hidden_layers; i++)
    if (attends(type_of(c, i)) && (c.rope_layers.empty() || c.rope_layers[size_t(i)])) return true;
  return false;
}
bool rotates(const DecoderConfig& c, int64_t layer) {
  return has_positions_of_rope(c) && (c.rope_layers.empty() || c.rope_layers[size_t(layer)]);
}
bool is_latent(const DecoderConfig& c) { return c.kv_lora_rank > 0; }
/// Of a head in layers of the type.
int64_t rotated_elements(const DecoderConfig& c, LayerType type) {
  if (is_latent(c)) return c.qk_rope_head_dim;
  return c.rotary_dim > 0 ? c.rotary_dim : head_dim_of(c, type);
}
bool has_local_rope(const DecoderConfig& c) {
  return !c.layer_types.empty() && c.rope_local_base_freq > 0;
}

/// YaRN's factor of attention belongs to rope, which latent attention applies to a part of each
/// head; DeepSeek multiplies all scores by its square.
double latent_score_scale(const DecoderConfig& c) {
  const double scale = 1 / std::sqrt(double(c.qk_nope_head_dim + c.qk_rope_head_dim));
  const RopeScaling& s = c.rope_scaling;
  if (s.type == RopeScalingType::kNone || s.factor <= 1) return scale;
  const double factor = 0.1 * c.rope_mscale_all_dim * std::log(s.factor) + 1;
  return scale * factor * factor;
}

double score_scale(const DecoderConfig& c) {
  if (c.attention_multiplier > 0) return c.attention_multiplier;
  return c.query_pre_attn_scalar > 0 ? 1 / std::sqrt(c.query_pre_attn_scalar) : 0;
}

/// Whether a later layer reads the layer's keys and values.
bool keeps_keys(const DecoderConfig& c, int64_t layer) {
  for (int64_t i = c.num_hidden_layers - c.num_kv_shared_layers; i < c.num_hidden_layers; i++)
    if (type_of(c, i) == type_of(c, layer)) return source_of_keys(c, i) == layer;
  return false;
}

AttentionOptions attention_options(const DecoderConfig& c, int64_t layer) {
  const LayerType type = type_of(c, layer);
  return {.layer = layer,
          .hidden_size = c.hidden_size,
          .heads = c.num_attention_heads,
          .key_value_heads = key_value_heads_of(c, type),
          .head_dim = head_dim_of(c, type),
          .rotary_dim = rotates(c, layer) ? rotated_elements(c, type) : 0,
          .pairs = c.rope_pairs,
          .slides = slides(c, layer),
          .chunked = c.chunked_windows && slides(c, layer),
          .alibi = c.alibi,
          .bias = c.attention_bias,
          .output_bias = c.attention_output_bias,
          .gate = c.attention_gate,
          .values_of_keys = c.attention_k_eq_v && type == LayerType::kFull,
          .value_norm = c.value_norm,
          .keys_of = shares_keys(c, layer) ? source_of_keys(c, layer) : -1,
          .keeps_keys = keeps_keys(c, layer),
          .clip = c.clip_qkv,
          .qk_norm = c.qk_norm,
          .norm_after_rope = c.qk_norm_after_rope,
          .sinks = c.attention_sinks,
          .temperature = {.scale = rotates(c, layer) ? 0 : c.attn_scale,
                          .length = c.floor_scale,
                          .offset = 1},
          .norm = norm_kind(c),
          .deviation = c.initializer_range,
          .output_deviation = residual_deviation(c),
          .sdpa = {.is_causal = c.is_causal,
                   .scale = score_scale(c),
                   .window = slides(c, layer) ? c.sliding_window : 0,
                   .soft_cap = c.attn_logit_softcapping}};
}

RgLruOptions rg_lru_options(const DecoderConfig& c, int64_t layer) {
  return {.layer = layer,
          .hidden_size = c.hidden_size,
          .width = c.lru_width > 0 ? c.lru_width : c.hidden_size,
          .heads = c.num_attention_heads,
          .conv_width = c.conv1d_width,
          .act = c.hidden_act,
          .deviation = c.initializer_range,
          .output_deviation = residual_deviation(c)};
}

Mamba2Options mamba_options(const DecoderConfig& c, int64_t layer) {
  return {.layer = layer,
          .hidden_size = c.hidden_size,
          .heads = c.mamba_num_heads,
          .head_dim = c.mamba_head_dim,
          .groups = c.mamba_num_groups,
          .states = c.mamba_state_size,
          .conv_width = c.conv1d_width,
          .bias = c.mamba_bias,
          .conv_bias = c.mamba_conv_bias,
          .norm = c.mamba_norm,
          .eps = c.rms_norm_eps,
          .time_step_limit = c.time_step_limit,
          .deviation = c.initializer_range,
          .output_deviation = residual_deviation(c)};
}

ShortConvOptions short_conv_options(const DecoderConfig& c, int64_t layer) {
  return {.layer = layer,
          .hidden_size = c.hidden_size,
          .conv_width = c.conv1d_width,
          .bias = c.conv_bias,
          .deviation = c.initializer_range,
          .output_deviation = residual_deviation(c)};
}

DeltaNetOptions delta_net_options(const DecoderConfig& c, int64_t layer) {
  return {.layer = layer,
          .hidden_size = c.hidden_size,
          .conv_width = c.conv1d_width,
          .key_heads = c.linear_num_key_heads,
          .key_head_dim = c.linear_key_head_dim,
          .value_heads = c.linear_num_value_heads,
          .value_head_dim = c.linear_value_head_dim,
          .tiled_key_heads = c.linear_heads_tiled,
          .eps = c.rms_norm_eps,
          .deviation = c.initializer_range,
          .output_deviation = residual_deviation(c)};
}

LatentAttentionOptions latent_options(const DecoderConfig& c, int64_t layer) {
  return {.layer = layer,
          .hidden_size = c.hidden_size,
          .heads = c.num_attention_heads,
          .query_rank = c.q_lora_rank,
          .rank = c.kv_lora_rank,
          .plain_dim = c.qk_nope_head_dim,
          .rope_dim = c.qk_rope_head_dim,
          .value_dim = c.v_head_dim,
          .pairs = c.rope_pairs,
          .bias = c.attention_bias,
          .output_bias = c.attention_output_bias,
          .temperature = {.scale = c.rope_scaling.original_max_position_embeddings > 0
                                       ? c.llama_4_scaling_beta
                                       : 0,
                          .length = c.rope_scaling.original_max_position_embeddings},
          .deviation = c.initializer_range,
          .output_deviation = residual_deviation(c),
          .sdpa = {.is_causal = c.is_causal, .scale = latent_score_scale(c)}};
}

MlpOptions mlp_options(const DecoderConfig& c, int64_t intermediate_size) {
  return {.hidden_size = c.hidden_size,
          .intermediate_size = intermediate_size,
          .glu = {.act = c.hidden_act, .limit = c.swiglu_limit, .alpha = c.swiglu_alpha},
          .gated = c.gated_mlp,
          .bias = c.mlp_bias,
          .deviation = c.initializer_range,
          .output_deviation = residual_deviation(c)};
}
ExpertsOptions experts_options(const DecoderConfig& c, const Parameters& p, int64_t layer) {
  ExpertsOptions options{.expert = mlp_options(c, c.moe_intermediate_size),
                         .router = {.hidden_size = c.hidden_size,
                                    .experts = c.num_experts,
                                    .selected = c.num_experts_per_tok,
                                    .normalizes_input = c.router_input_norm,
                                    .eps = c.rms_norm_eps,
                                    .scores = c.router_scores,
                                    .bias = c.router_bias,
                                    .correction = c.router_correction,
                                    .groups = c.n_group,
                                    .selected_groups = c.topk_group,
                                    .group_score = c.group_score,
                                    .renormalizes = c.norm_topk_prob,
                                    .least_sum = c.norm_topk_min,
                                    .scale = c.routed_scaling_factor,
                                    .deviation = c.initializer_range},
                         .scales_inputs = c.scales_expert_inputs,
                         .output_scale = c.expert_output_scale,
                         .shared = mlp_options(c, c.shared_expert_intermediate_size),
                         .shared_gate = c.shared_expert_gate,
                         .on_cpu = layer < p.options().cpu_experts};
  options.expert.bias = c.expert_bias;
  return options;
}
PerLayerOptions per_layer_options(const DecoderConfig& c) {
  return {.layers = c.num_hidden_layers,
          .hidden_size = c.hidden_size,
          .size = c.hidden_size_per_layer_input,
          .vocab_size = c.vocab_size_per_layer_input,
          .act = c.hidden_act,
          .norm = norm_kind(c),
          .deviation = c.initializer_range,
          .output_deviation = residual_deviation(c)};
}
bool has_experts(const DecoderConfig& c, int64_t layer) {
  return c.num_experts > 0 && (c.sparse_layers.empty() || c.sparse_layers[size_t(layer)]);
}

/// Checks the sizes that blocks are made by.
void require_sizes(const DecoderConfig& c) {
  check(c.num_hidden_layers <= DecoderConfig::kMaxLayers, ErrorCode::kInvalidArgument, "config",
        "\"num_hidden_layers\": expected at most ", DecoderConfig::kMaxLayers, ", got ",
        c.num_hidden_layers);
  for (const auto& [key, size] : {std::pair("hidden_size", c.hidden_size),
                                  {"num_attention_heads", c.num_attention_heads},
                                  {"num_key_value_heads", c.num_key_value_heads},
                                  {"head_dim", c.head_dim}})
    check(size > 0, ErrorCode::kInvalidArgument, "config", "\"", key,
          "\": expected at least 1, got ", size);
  const bool has_delta = std::count(c.layer_types.begin(), c.layer_types.end(), LayerType::kDelta);
  for (const auto& [key, size] : {std::pair("linear_num_key_heads", c.linear_num_key_heads),
                                  {"linear_num_value_heads", c.linear_num_value_heads},
                                  {"linear_key_head_dim", c.linear_key_head_dim},
                                  {"linear_value_head_dim", c.linear_value_head_dim}})
    check(!has_delta || size > 0, ErrorCode::kInvalidArgument, "config", "\"", key,
          "\": expected at least 1, got ", size);
  check(!has_delta || c.linear_num_value_heads % c.linear_num_key_heads == 0,
        ErrorCode::kInvalidArgument, "config",
        "\"linear_num_value_heads\": expected a multiple of linear_num_key_heads ",
        c.linear_num_key_heads, ", got ", c.linear_num_value_heads);
  check(c.layer_types.empty() || int64_t(c.layer_types.size()) == c.num_hidden_layers,
        ErrorCode::kInvalidArgument, "config", "\"layer_types\": expected ", c.num_hidden_layers,
        ", got ", c.layer_types.size());
  check(c.rope_layers.empty() || int64_t(c.rope_layers.size()) == c.num_hidden_layers,
        ErrorCode::kInvalidArgument, "config", "rope_layers: expected ", c.num_hidden_layers,
        ", got ", c.rope_layers.size());
  check(c.sparse_layers.empty() || int64_t(c.sparse_layers.size()) == c.num_hidden_layers,
        ErrorCode::kInvalidArgument, "config", "sparse_layers: expected ", c.num_hidden_layers,
        ", got ", c.sparse_layers.size());
  check(c.num_kv_shared_layers >= 0 && c.num_kv_shared_layers <= c.num_hidden_layers,
        ErrorCode::kInvalidArgument, "config", "\"num_kv_shared_layers\": expected 0 to ",
        c.num_hidden_layers, ", got ", c.num_kv_shared_layers);
  for (int64_t i = c.num_hidden_layers - c.num_kv_shared_layers; i < c.num_hidden_layers; i++)
    check(attends(type_of(c, i)) && source_of_keys(c, i) >= 0, ErrorCode::kInvalidArgument,
          "config", "\"num_kv_shared_layers\": expected a layer of layer ", i,
          "'s type before those that share keys and values");
}

// ---- blocks

std::shared_ptr<const Mixer> make_mixer(const DecoderConfig& c, Parameters& p,
                                        const std::string& name, int64_t layer) {
  switch (type_of(c, layer)) {
    case LayerType::kFull:
    case LayerType::kSliding:
      if (is_latent(c))
        return std::make_shared<LatentAttention>(latent_options(c, layer), p, name + "self_attn.");
      return std::make_shared<Attention>(attention_options(c, layer), p, name + "self_attn.");
    case LayerType::kRecurrent:
      return std::make_shared<RgLru>(rg_lru_options(c, layer), p, name + "recurrent.");
    case LayerType::kMamba:
      return std::make_shared<Mamba2>(mamba_options(c, layer), p, name + "mamba.");
    case LayerType::kConv:
      return std::make_shared<ShortConv>(short_conv_options(c, layer), p, name + "conv.");
    case LayerType::kDelta:
      return std::make_shared<DeltaNet>(delta_net_options(c, layer), p, name + "linear_attn.");
  }
  return nullptr;
}

/// A layer's MLP, which may be a mixture of experts.
struct FeedForward {
  const std::variant<Mlp, Experts> mlp;

  FeedForward(const DecoderConfig& c, Parameters& p, const std::string& name, int64_t layer)
      : mlp(has_experts(c, layer) && !c.experts_beside_mlp
                ? std::variant<Mlp, Experts>(std::in_place_type<Experts>,
                                             experts_options(c, p, layer), p, name)
                : std::variant<Mlp, Experts>(std::in_place_type<Mlp>,
                                             mlp_options(c, intermediate_size_of(c, layer)), p,
                                             name)) {}
  Tensor operator()(const Normalized& x, const Tensor& residual = {}) const {
    if (const Mlp* const dense = std::get_if<Mlp>(&mlp)) return (*dense)(x, residual);
    return std::get<Experts>(mlp)(x.value(), residual);
  }
};

/// The names of a block's norms; "" for those that a model lacks.
struct NormNames {
  const char *attention_input, *attention_output, *mlp_input, *mlp_output;
};
NormNames norm_names(const DecoderConfig& c) {
  if (!c.has_mlps) return {"input_layernorm", "", "", ""};
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

/// The hidden states between blocks.
struct HiddenStates {
  Tensor x;
  Tensor normalized;  // x after the next part's norm; empty if that is still to be done
};

struct Block {
  const DType dtype;  // of the computation; hidden states may have a wider one
  const bool parallel_residual;
  const double residual_multiplier;
  const Norm attention_input_norm;
  const std::shared_ptr<const Mixer> mixer;
  const Norm attention_output_norm, mlp_input_norm;
  const std::optional<FeedForward> mlp;
  const std::optional<ExpertsBesideMlp> experts;
  const Norm mlp_output_norm;
  const std::optional<PerLayerPart> per_layer;
  const Parameter scalar;  // [1]

  Block(const DecoderConfig& c, Parameters& p, const std::string& name, int64_t layer)
      : dtype(p.options().dtype),
        parallel_residual(c.parallel_residual),
        residual_multiplier(c.residual_multiplier),
        attention_input_norm(norm(c, p, name, &NormNames::attention_input)),
        mixer(make_mixer(c, p, name, layer)),
        attention_output_norm(norm(c, p, name, &NormNames::attention_output)),
        mlp_input_norm(norm(c, p, name, &NormNames::mlp_input)),
        mlp(c.has_mlps ? std::optional<FeedForward>(std::in_place, c, p, name + "mlp.", layer)
                       : std::nullopt),
        experts(c.experts_beside_mlp && has_experts(c, layer)
                    ? std::optional<ExpertsBesideMlp>(std::in_place, experts_options(c, p, layer),
                                                      norm_kind(c), p, name)
                    : std::nullopt),
        mlp_output_norm(norm(c, p, name, &NormNames::mlp_output)),
        per_layer(
            c.hidden_size_per_layer_input > 0
                ? std::optional<PerLayerPart>(std::in_place, per_layer_options(c), p, name, layer)
                : std::nullopt),
        scalar(c.layer_scalars ? p.take(name + "layer_scalar.weight", {1}, {1, 0}) : Parameter()) {}

  static Norm norm(const DecoderConfig& c, Parameters& p, const std::string& name,
                   const char* NormNames::*place) {
    const std::string of_place = norm_names(c).*place;
    return {norm_kind(c), p, of_place.empty() ? "" : name + of_place, c.hidden_size};
  }

  /// next: the norm after the block, on its device; nullptr: it is left to the next block.
  HiddenStates operator()(const HiddenStates& inputs, const Step& step, const Norm* next) const {
    const bool has_more = per_layer || scalar.defined();  // between the MLP and the next norm
    HiddenStates s = mixed(inputs, step, has_more ? nullptr : next);
    if (per_layer) s = {added(s.x, (*per_layer)(cast(s.x, dtype), step.per_layer_inputs)), {}};
    if (scalar.defined()) s = {s.x * cast(scalar, s.x.dtype()), {}};
    return s;
  }
  /// After the mixer and the MLP. next: the norm right after them, or nullptr.
  HiddenStates mixed(const HiddenStates& inputs, const Step& step, const Norm* next) const {
    const Tensor& x = inputs.x;
    const auto input_of = [&](const HiddenStates& states, const Norm& norm) {
      return states.normalized ? Normalized(states.normalized)
                               : Normalized(cast(states.x, dtype), norm);
    };
    const Normalized y = input_of(inputs, attention_input_norm);
    if (parallel_residual) {
      const Tensor shared = y.value();
      const Tensor of_mlp = mlp_input_norm.is_identity() ? shared : mlp_input_norm(cast(x, dtype));
      return {added(x, (*mlp)(of_mlp, (*mixer)(shared, step))), {}};
    }
    const HiddenStates s =
        adds_directly(x, attention_output_norm)
            ? HiddenStates{(*mixer)(y, step, x), {}}
            : joined(x, attention_output_norm, (*mixer)(y, step), mlp ? &mlp_input_norm : next);
    if (!mlp) return s;
    const Normalized z = input_of(s, mlp_input_norm);
    if (experts) return joined(s.x, mlp_output_norm, (*experts)(cast(s.x, dtype), (*mlp)(z)), next);
    return adds_directly(s.x, mlp_output_norm) ? HiddenStates{(*mlp)(z, s.x), {}}
                                               : joined(s.x, mlp_output_norm, (*mlp)(z), next);
  }
  /// Adds a part's output after its norm, and normalizes the sum for the next part if one step does
  /// both.
  HiddenStates joined(const Tensor& x, const Norm& output_norm, const Tensor& part,
                      const Norm* next) const {
    if (residual_multiplier != 1 || x.dtype() != dtype || !output_norm.rms)
      return {added(x, output_norm(part)), {}};
    const auto [sum, y] = rms_norm_residual(part, output_norm.rms->scale(), x,
                                            next && next->rms ? next->rms->scale() : Tensor(),
                                            output_norm.rms->options.eps);
    return {sum, y};
  }
  /// Whether nothing is done to a part's output before it is added to the hidden states x.
  bool adds_directly(const Tensor& x, const Norm& output_norm) const {
    return residual_multiplier == 1 && output_norm.is_identity() && x.dtype() == dtype;
  }
  Tensor added(const Tensor& x, const Tensor& part) const {
    return x + cast(residual_multiplier != 1 ? part * residual_multiplier : part, x.dtype());
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

/// The tokens whose embeddings and logits a rank has: as many on each, but fewer on the last ones.
/// Errors: kInvalidArgument if a rank would have no tokens.
Range vocabulary_part(const DecoderConfig& c, const Ranks* ranks) {
  if (!ranks) return {0, c.vocab_size};
  const int64_t each = ceil_div(c.vocab_size, int64_t(ranks->count())),
                begin = each * ranks->rank();
  check(begin < c.vocab_size, ErrorCode::kInvalidArgument, "tensor parallel",
        "\"vocab_size\": ", c.vocab_size, " tokens are too few for ", ranks->count(), " ranks");
  return {begin, std::min(each, c.vocab_size - begin)};
}

struct Decoder::Layers {
  /// A device, and the inputs that the layers there share.
  struct DeviceInputs {
    const Device device;
    const std::optional<Rotary> rope, local_rope;  // local_rope: of sliding layers
  };

  const DecoderConfig config;
  const ModelFacts facts;
  const std::vector<Device> layer_devices;  // of each layer
  const Device first;                       // of the embedding
  const bool has_cpu_experts;
  const std::shared_ptr<const Ranks> ranks;   // nullptr: this process has all weights
  const Range vocabulary;                     // this rank's tokens
  const TensorOptions options;                // of the final norm and the output layer
  const int64_t positions;                    // the most that a text may have
  const std::vector<DeviceInputs> inputs_on;  // one for each device
  const Embedding embed_tokens;
  const Tensor embedding_scale;  // []; empty for a scale of 1
  const std::optional<Embedding> embed_positions;
  const std::optional<PerLayerInputs> per_layer;
  std::vector<Block> blocks;
  const Norm norm;
  const Parameter output_weight;  // [vocab_size, hidden_size]
  const Parameter output_bias;    // [vocab_size]; most models lack it

  Layers(const DecoderConfig& c, Parameters& p, int64_t positions)
      : config(c),
        facts(facts_of(c)),
        layer_devices(devices_of_layers(c, p)),
        first(layer_devices.empty() ? p.options().device : layer_devices.front()),
        has_cpu_experts(p.options().cpu_experts > 0 && c.num_experts > 0),
        ranks(p.options().ranks),
        vocabulary(vocabulary_part(c, ranks.get())),
        options{.dtype = p.options().dtype,
                .device = layer_devices.empty() ? first : layer_devices.back()},
        positions(c.learned_positions ? c.max_position_embeddings : positions),
        inputs_on(make_inputs(c, p, layer_devices, positions)),
        embed_tokens(p.on(first), "model.embed_tokens", c.vocab_size, c.hidden_size,
                     c.initializer_range, part_of(0, vocabulary, ranks.get())),
        embedding_scale(c.embedding_scale != 1
                            ? full({}, c.embedding_scale, {.dtype = options.dtype, .device = first})
                            : Tensor()),
        embed_positions(c.learned_positions
                            ? std::optional<Embedding>(std::in_place, p, "model.embed_positions",
                                                       c.max_position_embeddings, c.hidden_size,
                                                       c.initializer_range)
                            : std::nullopt),
        per_layer(c.hidden_size_per_layer_input > 0
                      ? std::optional<PerLayerInputs>(std::in_place, per_layer_options(c), p)
                      : std::nullopt),
        blocks(make_blocks(c, p, layer_devices)),
        norm(norm_kind(c), p.on(options.device), "model.norm", c.hidden_size),
        output_weight(c.tie_word_embeddings
                          ? p.again("model.embed_tokens.weight", embed_tokens.weight)
                          : Linear(p, "lm_head", c.hidden_size, c.vocab_size,
                                   {.deviation = c.initializer_range,
                                    .part = part_of(0, vocabulary, ranks.get())})
                                .weight),
        output_bias(c.lm_head_bias ? p.take("lm_head.bias", {c.vocab_size}, {0, 0},
                                            part_of(0, vocabulary, ranks.get()))
                                   : Parameter()) {
    p.on(first);
  }

  static std::vector<Device> devices_of_layers(const DecoderConfig& c, const Parameters& p) {
    require_sizes(c);
    const std::vector<Device>& given = p.options().layer_devices;
    const bool is_whole = given.empty() && p.options().cpu_experts == 0;
    check(is_whole || !p.options().trainable, ErrorCode::kUnsupported, "decoder",
          "layer_devices and cpu_experts: a model that is trained is on one device");
    check(!p.options().ranks || (is_whole && !p.options().trainable), ErrorCode::kUnsupported,
          "decoder",
          "a model whose weights several ranks share is on one device of each and is not trained");
    if (given.empty()) return std::vector<Device>(size_t(c.num_hidden_layers), p.options().device);
    check(int64_t(given.size()) == c.num_hidden_layers, ErrorCode::kInvalidArgument, "decoder",
          "layer_devices: expected a device for each of ", c.num_hidden_layers, " layers, got ",
          given.size());
    return given;
  }

  static std::vector<DeviceInputs> make_inputs(const DecoderConfig& c, const Parameters& p,
                                               const std::vector<Device>& layer_devices,
                                               int64_t positions) {
    std::vector<DeviceInputs> all;
    const auto add = [&](const Device& device) {
      for (const DeviceInputs& on : all)
        if (on.device == device) return;
      const auto rotary = [&](LayerType type, double theta, const RopeScaling& scaling) {
        return std::optional<Rotary>(std::in_place, has_positions_of_rope(c) ? positions : 0,
                                     rotated_elements(c, type), theta, scaling,
                                     TensorOptions{.dtype = p.options().dtype, .device = device});
      };
      std::optional<Rotary> rope, local_rope;
      if (!p.only_shapes()) {
        rope = rotary(LayerType::kFull, c.rope_theta, c.rope_scaling);
        if (has_local_rope(c)) local_rope = rotary(LayerType::kSliding, c.rope_local_base_freq, {});
      }
      all.push_back({device, std::move(rope), std::move(local_rope)});
    };
    for (const Device& device : layer_devices) add(device);
    if (layer_devices.empty()) add(p.options().device);
    return all;
  }

  size_t inputs_of(size_t layer) const {
    size_t i = 0;
    while (inputs_on[i].device != layer_devices[layer]) i++;
    return i;
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
  static std::vector<Block> make_blocks(const DecoderConfig& c, Parameters& p,
                                        const std::vector<Device>& layer_devices) {
    std::vector<Block> blocks;
    blocks.reserve(size_t(c.num_hidden_layers));
    for (int64_t i = 0; i < c.num_hidden_layers; i++)
      blocks.emplace_back(c, p.on(layer_devices[size_t(i)]),
                          "model.layers." + std::to_string(i) + ".", i);
    return blocks;
  }

  Tensor new_tokens_of(const TokenGrid& grid, const ModelCache* cache, const Device& device) const {
    const bool keeps_state = std::any_of(blocks.begin(), blocks.end(),
                                         [](const Block& b) { return b.mixer->keeps_state(); });
    return keeps_state ? new_tokens(cache, grid.tokens(), device) : Tensor();
  }

  /// The inputs of the layers on a device. per_layer_inputs: of the first device; may be empty.
  Step step_at(const DeviceInputs& on, const TokenGrid& grid, const std::vector<int64_t>& lengths,
               ModelCache* cache, const Tensor& per_layer_inputs, KeptKeysValues* kept) const {
    const auto moved = [&](const Tensor& x) { return x ? transferred(x, on.device) : x; };
    const Tensor positions = moved(grid.positions);
    const bool sees_itself = grid.visible.data() == grid.positions.data();
    const Rotation rope = on.rope->of(positions, lengths);
    return {positions,
            sees_itself ? positions : moved(grid.visible),
            moved(grid.seen_from),
            rope,
            on.local_rope ? on.local_rope->of(positions, lengths) : rope,
            cache,
            new_tokens_of(grid, cache, on.device),
            moved(per_layer_inputs),
            kept};
  }

  /// The embeddings, each looked up by the rank that has its token.
  Tensor embed_parts(const Tensor& ids) const {
    const Tensor own = ids - vocabulary.begin;
    const Tensor is_own = logical_and(own >= 0, own < vocabulary.count),
                 is_token = logical_and(ids >= 0, ids < config.vocab_size);
    // An id outside of the vocabulary is an error of the look-up on all ranks.
    const Tensor rows = embed_tokens(where(is_own, own, where(is_token, 0, own)));
    return ranks->sum(where(unsqueeze(is_own, -1), rows, 0));
  }
  /// The logits [..., vocab_size] of all ranks, from this one's.
  Tensor all_logits(const Tensor& own) const {
    const int64_t each = ceil_div(config.vocab_size, int64_t(ranks->count()));
    const Tensor filled = vocabulary.count == each
                              ? own
                              : pad(own, {{.before = 0, .after = each - vocabulary.count}});
    return narrow(ranks->concatenated(filled), -1, 0, config.vocab_size).contiguous();
  }
  Tensor embed(const Tensor& ids) const {
    const Tensor here = transferred(ids, first);
    const Tensor x = ranks ? embed_parts(here) : embed_tokens(here);
    return embedding_scale ? x * embedding_scale : x;
  }
  Tensor inputs(const TokenGrid& grid) const {  // [B, T, hidden]
    Tensor x = grid.embeddings ? transferred(grid.embeddings, first) : embed(grid.ids);
    if (embed_positions) x = x + (*embed_positions)(transferred(grid.positions, first));
    const bool is_half = options.dtype == DType::kF16 || options.dtype == DType::kBf16;
    return config.residual_in_f32 && is_half ? cast(x, DType::kF32) : x;
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
  require_sizes(config);
  __extension__ using Wide = __int128;  // int64_t overflows for large sizes
  // Layers of a kind have the same shapes, so models of one and of two show the weights that a
  // layer adds.
  struct Kind {
    LayerType type = LayerType::kFull;
    bool has_experts = false, shares_keys = false;
    auto operator<=>(const Kind&) const = default;
  };
  const auto count_of = [&](int64_t layers, const Kind& kind) {
    DecoderConfig c = config;
    c.num_kv_shared_layers = kind.shares_keys ? layers - 1 : 0;  // a first layer has keys
    c.num_hidden_layers = layers;
    c.layer_types.assign(size_t(layers), kind.type);
    c.rope_layers.clear();
    c.sparse_layers.clear();
    if (!kind.has_experts) c.num_experts = 0;
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
  std::map<Kind, int64_t> layers_of;
  for (int64_t i = 0; i < config.num_hidden_layers; i++)
    layers_of[{type_of(config, i), has_experts(config, i), shares_keys(config, i)}]++;
  Wide count = count_of(0, {});
  for (const auto& [kind, layers] : layers_of)
    count += layers * (count_of(2, kind) - count_of(1, kind));
  check(count <= int64_t{1} << 60, ErrorCode::kInvalidArgument, "config",
        "the sizes give more than 2^60 weights");
  return int64_t(count);
}

const DecoderConfig& Decoder::config() const { return layers_->config; }
TensorOptions Decoder::options() const { return layers_->options; }
std::vector<Device> Decoder::devices() const {
  std::vector<Device> devices;
  for (const Layers::DeviceInputs& on : layers_->inputs_on) devices.push_back(on.device);
  const bool has_cpu = std::any_of(devices.begin(), devices.end(),
                                   [](const Device& device) { return device.is_cpu(); });
  if (layers_->has_cpu_experts && !has_cpu) devices.push_back(Device::cpu());
  return devices;
}

std::shared_ptr<const CausalModel> Decoder::shared() const {
  return std::make_shared<Decoder>(*this);
}
const ModelFacts& Decoder::facts() const { return layers_->facts; }
int64_t Decoder::positions() const { return layers_->positions; }

Tensor Decoder::hidden_of(const TokenGrid& grid, ModelCache* cache,
                          std::vector<Tensor>* all) const {
  std::vector<int64_t> lengths = grid.lengths;
  const bool is_empty = grid.positions.numel() == 0;
  const Layers& layers = *layers_;
  if (lengths.empty() && layers.inputs_on[0].rope->is_dynamic() && !is_empty && grid.tokens() > 1)
    lengths = (amax(grid.positions, {.dims = {1}}) + 1).to_vector<int64_t>();
  layers.require_room_for(lengths);
  if (is_empty) lengths.clear();
  check(!layers.per_layer || grid.ids, ErrorCode::kUnsupported, "decoder", "a model of type ",
        config().model_type, " with inputs for each layer reads ids, got embeddings");
  HiddenStates states{layers.inputs(grid), {}};
  const Tensor per_layer_inputs =
      layers.per_layer ? (*layers.per_layer)(grid.ids.to(layers.first), states.x) : Tensor();
  KeptKeysValues kept;
  std::vector<std::optional<Step>> steps(layers.inputs_on.size());
  const std::vector<Block>& blocks = layers.blocks;
  for (size_t i = 0; i < blocks.size(); i++) {
    if (all) all->push_back(cast(states.x, options().dtype).to(options().device));
    const size_t at = layers.inputs_of(i);
    const Device& device = layers.layer_devices[i];
    if (!steps[at])
      steps[at].emplace(
          layers.step_at(layers.inputs_on[at], grid, lengths, cache, per_layer_inputs, &kept));
    if (states.x.device() != device) {
      states.x = transferred(states.x, device);
      for (auto& [layer, keys_values] : kept) keys_values = keys_values.to(device);
    }
    const bool is_last = i + 1 == blocks.size();
    const Norm* next = is_last ? &layers.norm : &blocks[i + 1].attention_input_norm;
    // The next device has the norm of its first layer.
    if (!is_last && layers.layer_devices[i + 1] != device) next = nullptr;
    states = blocks[i](states, *steps[at], next);
  }
  const Tensor x =
      states.normalized ? states.normalized : layers.norm(cast(states.x, options().dtype));
  if (all) all->push_back(x);  // as transformers has it: after the norm
  return x;
}

Tensor Decoder::embed(const Tensor& ids) const { return layers_->embed(ids); }

Tensor Decoder::logits(const Tensor& hidden) const {
  const double cap = config().final_logit_softcapping, divisor = config().logits_scaling;
  Tensor y =
      linear(transferred(hidden, options().device), layers_->output_weight, layers_->output_bias);
  if (layers_->ranks) y = layers_->all_logits(y);
  if (divisor != 1) y = y / divisor;
  return cap > 0 ? tanh(y / cap) * cap : y;
}

std::vector<int64_t> Decoder::cache_bytes(const CacheOptions& o) const {
  std::vector<int64_t> bytes;
  for (const Block& block : layers_->blocks)
    bytes.push_back(block.mixer->cache_bytes(o, options().dtype));
  return bytes;
}

std::unique_ptr<ModelCache> Decoder::make_cache(const CacheOptions& o) const {
  std::vector<std::unique_ptr<LayerCache>> layers;
  std::shared_ptr<BlockTable> table;
  if (o.block > 0) {
    const int64_t needed = o.sequences * (ceil_div(o.capacity, o.block));
    table = std::make_shared<BlockTable>(o.sequences, o.capacity, o.block,
                                         o.blocks > 0 ? o.blocks : needed, devices());
  }
  for (size_t i = 0; i < layers_->blocks.size(); i++)
    layers.push_back(layers_->blocks[i].mixer->make_cache(
        o, table, {.dtype = options().dtype, .device = layers_->layer_devices[i]}));
  return std::make_unique<ModelCache>(o, std::move(layers), table);
}

TokenWork Decoder::work(const std::map<std::string, TensorInfo>& weights, double before,
                        CacheType cache) const {
  const DecoderConfig& c = config();
  TokenWork work;
  work.cache = cache;
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
  for (const Block& block : layers_->blocks) block.mixer->add_work(before, options(), &work);
  return work;
}

}  // namespace wick
