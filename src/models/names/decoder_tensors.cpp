// The names and forms of a Decoder's tensors in the files of others.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <span>
#include <tuple>

#include "models/decoder/layer_sizes.h"
#include "models/names/decoder_names.h"
#include "models/names/mxfp4.h"
#include "models/names/state_tensors.h"
#include "models/names/tied_head.h"
#include "models/names/typed_settings.h"
#include "wick/ops/arrange.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/shape.h"
#include "wick/ops/unary.h"

namespace wick {
namespace {

/// The hub's name for GGUF's, after "model.layers.N." and "blk.N."; the norms' depend on the model.
struct Name {
  std::string_view gguf, hub;
};
constexpr Name kLayerNames[] = {
    {"attn_norm", "input_layernorm"},
    {"attn_norm_2", "pre_attention_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_qkv", "self_attn.qkv_proj"},
    {"attn_q_a", "self_attn.q_a_proj"},
    {"attn_q_a_norm", "self_attn.q_a_layernorm"},
    {"attn_q_b", "self_attn.q_b_proj"},
    {"attn_kv_a_mqa", "self_attn.kv_a_proj_with_mqa"},
    {"attn_kv_a_norm", "self_attn.kv_a_layernorm"},
    {"attn_kv_b", "self_attn.kv_b_proj"},
    {"attn_k_b", "self_attn.k_b_proj"},
    {"attn_v_b", "self_attn.v_b_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"post_attention_norm", "post_attention_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
    {"post_ffw_norm_1", "post_feedforward_layernorm_1"},
    {"pre_ffw_norm_2", "pre_feedforward_layernorm_2"},
    {"post_ffw_norm_2", "post_feedforward_layernorm_2"},
    {"inp_gate", "per_layer_input_gate"},
    {"proj", "per_layer_projection"},
    {"post_norm", "post_per_layer_input_norm"},
    {"layer_output_scale", "layer_scalar"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
    {"attn_sinks", "self_attn.sinks"},
    {"ffn_gate_inp", "mlp.gate"},
    {"exp_probs_b", "mlp.gate.e_score_correction"},
    {"ffn_gate_exps", "mlp.experts.gate_proj"},
    {"ffn_up_exps", "mlp.experts.up_proj"},
    {"ffn_gate_up_exps", "mlp.experts.gate_up_proj"},
    {"ffn_down_exps", "mlp.experts.down_proj"},
    {"ffn_gate_inp_shexp", "mlp.shared_expert_gate"},
    {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
    {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
    {"ffn_down_shexp", "mlp.shared_expert.down_proj"},
    {"shortconv.conv", "conv.conv"},
    {"shortconv.in_proj", "conv.in_proj"},
    {"shortconv.out_proj", "conv.out_proj"},
};
/// As kLayerNames, of layers kMamba.
constexpr Name kMambaNames[] = {
    {"ssm_in", "mamba.in_proj"},
    {"ssm_conv1d", "mamba.conv1d"},
    {"ssm_norm", "mamba.gate_norm"},
    {"ssm_out", "mamba.out_proj"},
};
/// The same with their endings.
constexpr Name kMambaTensors[] = {
    {"ssm_a", "mamba.A_log"},
    {"ssm_d", "mamba.D"},
    {"ssm_dt.bias", "mamba.dt_bias"},
};
/// As kLayerNames, of layers kDelta.
constexpr Name kDeltaNames[] = {
    {"attn_qkv", "linear_attn.in_proj_qkv"}, {"attn_gate", "linear_attn.in_proj_z"},
    {"ssm_ba", "linear_attn.in_proj_ba"},    {"ssm_beta", "linear_attn.in_proj_b"},
    {"ssm_alpha", "linear_attn.in_proj_a"},  {"ssm_conv1d", "linear_attn.conv1d"},
    {"ssm_norm", "linear_attn.norm"},        {"ssm_out", "linear_attn.out_proj"},
};
/// The same with their endings.
constexpr Name kDeltaTensors[] = {
    {"ssm_a", "linear_attn.A_log"},
    {"ssm_dt.bias", "linear_attn.dt_bias"},
};
/// The names that layers of a type have besides kLayerNames.
struct StateNames {
  LayerType type;
  std::span<const Name> layers, tensors;
};
constexpr StateNames kStateNames[] = {{LayerType::kMamba, kMambaNames, kMambaTensors},
                                      {LayerType::kDelta, kDeltaNames, kDeltaTensors}};
constexpr Name kNames[] = {
    {"token_embd.weight", "model.embed_tokens.weight"},
    {"position_embd.weight", "model.embed_positions.weight"},
    {"per_layer_token_embd.weight", "model.embed_tokens_per_layer.weight"},
    {"per_layer_model_proj.weight", "model.per_layer_model_projection.weight"},
    {"per_layer_proj_norm.weight", "model.per_layer_projection_norm.weight"},
    {"output_norm.weight", "model.norm.weight"},
    {"token_embd_norm.weight", "model.norm.weight"},  // LFM2's
    {"output_norm.bias", "model.norm.bias"},
    {"output.weight", "lm_head.weight"},
    {"output.bias", "lm_head.bias"},
};

/// The norm that GGUF calls ffn_norm; empty if only outputs are normalized.
std::string_view ffn_norm_of(const DecoderConfig& config) {
  switch (config.norm_places) {
    case NormPlaces::kInputs:
      return "post_attention_layernorm";
    case NormPlaces::kBoth:
      return "pre_feedforward_layernorm";
    case NormPlaces::kOutputs:
      break;
  }
  return "";
}

/// The names of the kind of layer that has the number "3."; nullptr if it has kLayerNames alone.
const StateNames* names_of_layer(const std::string& number, const DecoderConfig& config) {
  size_t layer = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), layer);
  if (read.ec != std::errc() || layer >= config.layer_types.size()) return nullptr;
  for (const StateNames& names : kStateNames)
    if (names.type == config.layer_types[layer]) return &names;
  return nullptr;
}

/// Whether the tensor ffn_up also holds the gate's rows, before its own.
bool fuses_gate(const std::string& layer, const DecoderConfig& config, const TensorSource& file) {
  return config.gated_mlp && file.tensors.count("blk." + layer + "ffn_gate.weight") == 0;
}

/// The hub's name of one expert's projection, which older files have one by one: "ffn_up.3".
std::string expert_name(std::string_view of_layer) {
  for (const char* projection : {"gate", "up", "down"}) {
    const std::string begin = "ffn_" + std::string(projection) + ".";
    if (of_layer.starts_with(begin))
      return "mlp.experts." + std::string(of_layer.substr(begin.size())) + "." + projection +
             "_proj";
  }
  return "";
}

/// A layer's name without number and ending: "attn_q" of "blk.3.attn_q.weight".
std::optional<std::string> hub_name_of_layer(const std::string& name, const DecoderConfig& config,
                                             const TensorSource& file) {
  const size_t number = name.find('.'), part = name.find('.', number + 1), ending = name.rfind('.');
  if (!name.starts_with("blk.") || part == std::string::npos) return {};
  const std::string layer = name.substr(number + 1, part - number);  // "3."
  const StateNames* const names = names_of_layer(layer, config);
  for (const Name& known : names ? names->tensors : std::span<const Name>())
    if (known.gguf == std::string_view(name).substr(part + 1))
      return "model.layers." + layer + std::string(known.hub);
  if (ending <= part) return {};
  const std::string_view of_layer = std::string_view(name).substr(part + 1, ending - part - 1);
  std::string hub = expert_name(of_layer);
  for (const Name& known : kLayerNames)
    if (known.gguf == of_layer) hub = known.hub;
  for (const Name& known : names ? names->layers : std::span<const Name>())
    if (known.gguf == of_layer) hub = known.hub;
  if (of_layer == "ffn_norm") hub = ffn_norm_of(config);
  if (of_layer == "attn_norm" && config.parallel_mlp_norm) hub = "pre_feedforward_layernorm";
  if (of_layer == "ffn_up" && fuses_gate(layer, config, file)) hub = "mlp.gate_up_proj";
  if (hub.empty()) return {};
  return "model.layers." + layer + hub + name.substr(ending);
}

std::string hub_name(const std::string& name, const DecoderConfig& config,
                     const TensorSource& file) {
  for (const Name& known : kNames)
    if (known.gguf == name) return std::string(known.hub);
  return hub_name_of_layer(name, config, file).value_or(name);
}

/// The name in a folder of a text model, for one of a model of text and images; empty for tensors
/// of its other parts.
std::string text_name(const std::string& name) {
  constexpr Name kPrefixes[] = {
      {"model.language_model.", "model."},
      {"language_model.", ""},  // transformers 4
      {"model.text_model.", "model."},
      {"transformer.", ""}};  // GPT-2, whose own files lack it, and ChatGLM
  for (const std::string_view other :
       {"vision_tower.", "vision_model.", "multi_modal_projector.", "visual.", "model.visual.",
        "model.vision_tower.", "model.multi_modal_projector.", "model.vision_model.",
        "model.connector.", "model.audio_tower.", "model.embed_vision.", "model.embed_audio."})
    if (name.starts_with(other)) return "";
  for (const Name& prefix : kPrefixes)
    if (name.starts_with(prefix.gguf))
      return std::string(prefix.hub) + name.substr(prefix.gguf.size());
  return name;
}

/// Replaces a part of a name that stands between dots or at an end.
void replace_part(std::string& name, const Rename& rename) {
  const std::string dotted = "." + name + ".", part = "." + std::string(rename.file) + ".";
  if (const size_t at = dotted.find(part); at != std::string::npos && !rename.file.empty())
    name.replace(at, rename.file.size(), rename.wick);
}

/// The MLP that a family has beside its experts, and without them alone.
constexpr Rename kSharedAlone = {"mlp.shared_expert", "mlp"};
bool is_alone(const Family& family, const DecoderConfig& config) {
  return family.may_lack_experts && config.num_experts == 0;
}

/// The Decoder's name for one in a family's folder; empty for tensors that are not of the text.
std::string folder_name(const std::string& name, const Family* family,
                        const DecoderConfig& config) {
  std::string result = text_name(name);
  if (family)
    for (const Rename& rename : family->renamed_tensors) replace_part(result, rename);
  if (family && is_alone(*family, config)) replace_part(result, kSharedAlone);
  for (const char* stacked : {"mlp.experts.gate_up_proj", "mlp.experts.down_proj"})
    if (result.ends_with(stacked)) result += ".weight";  // transformers 5 leaves it out
  return result;
}

/// Whether the tensor, by its name in a file, belongs to layers that predict further tokens
/// (multi-token prediction). They serve speculative decoding alone, which wick lacks.
bool predicts_further(const std::string& name, const DecoderConfig& config, const Family& family) {
  if (name.starts_with("model.mtp_")) return true;
  if (!contains(family.keys, "num_nextn_predict_layers")) return false;
  for (const std::string_view layers : {"model.layers.", "blk."})
    if (name.starts_with(layers))
      return std::strtoll(name.c_str() + layers.size(), nullptr, 10) >= config.num_hidden_layers;
  return false;
}

/// Whether the tensor makes keys or values for a layer that reads another layer's.
bool is_of_shared_keys(const std::string& name, const DecoderConfig& config) {
  constexpr std::string_view kLayers = "model.layers.";
  if (config.num_kv_shared_layers == 0 || !name.starts_with(kLayers)) return false;
  const int64_t layer = std::strtoll(name.c_str() + kLayers.size(), nullptr, 10);
  const auto is_part = [&](const char* part) { return name.find(part) != name.npos; };
  return layer < config.num_hidden_layers && shares_keys(config, layer) &&
         (is_part(".self_attn.k_") || is_part(".self_attn.v_"));
}

/// Whether files have the tensor although it says nothing that the config does not say.
bool is_redundant(const std::string& name, const DecoderConfig& config) {
  if (is_of_shared_keys(name, config)) return true;
  for (const char* ending :
       {".rotary_emb.inv_freq", "rotary_pos_emb.inv_freq", ".attn.bias", ".attn.masked_bias"})
    if (name.ends_with(ending)) return true;
  for (const char* of_rope :
       {"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"})
    if (name == of_rope) return true;
  // Layers that guess the tokens after the next: no logits of the model come from them.
  if (name.starts_with("mtp.")) return true;
  return config.tie_word_embeddings && name == "lm_head.weight";
}

// ---- weights that files store in another form

const Tensor& only(const std::vector<Tensor>& inputs) { return inputs[0]; }

/// The weights of layers, which files have as [in, out], as [out, in]; or back.
void transpose_weights(TensorPlan& plan) {
  for (const std::string& name : plan.names()) {
    TensorInfo info = plan.info(name);
    if (name.find("_proj.weight") == std::string::npos || info.shape.size() != 2) continue;
    info.shape = {info.shape[1], info.shape[0]};
    plan.change(name, info, [](const std::vector<Tensor>& inputs) {
      return transpose(only(inputs)).contiguous();
    });
  }
}

/// The rows of queries, keys and values, which a family's folders have by group (the queries that
/// share a key, the key, the value), as all queries, all keys, all values; or back.
Tensor regrouped(const Tensor& x, int64_t queries, int64_t groups, int64_t head_dim,
                 bool to_groups) {
  const int64_t rows = x.size(0), columns = x.numel() / rows;
  std::vector<Tensor> parts;
  int64_t first = 0;  // heads
  for (const int64_t heads : {queries, int64_t{1}, int64_t{1}}) {
    if (to_groups)
      parts.push_back(reshape(narrow(x, 0, first * groups * head_dim, heads * groups * head_dim),
                              {groups, heads * head_dim, columns}));
    else
      parts.push_back(reshape(narrow(reshape(x, {groups, rows / groups, columns}), 1,
                                     first * head_dim, heads * head_dim),
                              {heads * groups * head_dim, columns}));
    first += heads;
  }
  return reshape(cat(parts, to_groups ? 1 : 0), x.shape());
}
void regroup_rows(TensorPlan& plan, const DecoderConfig& c, bool to_groups) {
  const int64_t groups = c.num_key_value_heads, queries = c.num_attention_heads / groups,
                head_dim = c.head_dim, rows = (queries + 2) * groups * head_dim;
  if (groups == 1) return;
  for (const std::string& name : plan.names()) {
    const TensorInfo info = plan.info(name);
    if (name.find(".self_attn.qkv_proj.") == name.npos || info.shape.size() == 0 ||
        info.shape[0] != rows)
      continue;
    plan.change(name, info, [=](const std::vector<Tensor>& inputs) {
      return regrouped(only(inputs), queries, groups, head_dim, to_groups);
    });
  }
}

/// The weights of layers that have one row, which GGUF files store as [in], as [1, in].
void add_single_rows(TensorPlan& plan) {
  for (const std::string& name : plan.names()) {
    TensorInfo info = plan.info(name);
    if (!name.ends_with(".shared_expert_gate.weight") || info.shape.size() != 1) continue;
    info.shape.insert(0, 1);
    plan.change(name, info,
                [](const std::vector<Tensor>& inputs) { return unsqueeze(only(inputs), 0); });
  }
}

/// The tensors of Mamba layers in the form of GGUF files, which have -exp(A_log), dims of 1 where
/// Mamba 1 has states, and a row of the norm's weight for each group; or back.
void convert_mamba(TensorPlan& plan, const DecoderConfig& c, bool to_gguf) {
  const int64_t inner = c.mamba_num_heads * c.mamba_head_dim, groups = c.mamba_num_groups;
  for (const std::string& name : plan.names()) {
    if (name.find(".mamba.") == name.npos) continue;
    TensorInfo info = plan.info(name);
    const int64_t size = numel(info.shape);
    const bool is_decay = name.ends_with(".A_log");
    if (is_decay || name.ends_with(".D"))
      info.shape = to_gguf ? Shape{size, 1} : Shape{size};
    else if (name.ends_with(".gate_norm.weight") && size == inner)
      info.shape = to_gguf ? Shape{groups, size / groups} : Shape{size};
    else if (name.ends_with(".conv1d.weight") && info.shape.size() == (to_gguf ? 3 : 2))
      to_gguf ? info.shape.erase(1) : info.shape.insert(1, 1);
    else
      continue;
    plan.change(name, info, [=, shape = info.shape](const std::vector<Tensor>& inputs) {
      const Tensor& x = only(inputs);
      if (!is_decay) return reshape(x, shape);
      return reshape(to_gguf ? -exp(x) : log(-x), shape);
    });
  }
}

// ---- experts in folders of some families

bool is_of_experts(const std::string& name, std::string_view part) {
  return name.find(".mlp.experts." + std::string(part)) != name.npos;
}

/// Weights of experts [experts, in, out] as [experts, out, in]; or back.
void transpose_experts(TensorPlan& plan) {
  for (const std::string& name : plan.names()) {
    TensorInfo info = plan.info(name);
    if (!is_of_experts(name, "") || !name.ends_with("_proj.weight") || info.shape.size() != 3)
      continue;
    info.shape = {info.shape[0], info.shape[2], info.shape[1]};
    plan.change(name, info, [](const std::vector<Tensor>& inputs) {
      return transpose(only(inputs)).contiguous();
    });
  }
}

/// The rows of experts' gates and ups, which a family's folders have in turn, as all gates, all
/// ups; or back.
void regroup_experts(TensorPlan& plan, bool to_turns) {
  for (const std::string& name : plan.names()) {
    const TensorInfo info = plan.info(name);
    if (!is_of_experts(name, "gate_up_proj") || info.shape.size() < 2 || info.shape[1] % 2 != 0)
      continue;
    plan.change(name, info, [=](const std::vector<Tensor>& inputs) {
      const Shape& shape = only(inputs).shape();
      const int64_t experts = shape[0], rows = shape[1] / 2,
                    columns = only(inputs).numel() / (experts * shape[1]);
      const Shape split =
          to_turns ? Shape{experts, 2, rows, columns} : Shape{experts, rows, 2, columns};
      return reshape(transpose(reshape(only(inputs), split), 1, 2), shape);
    });
  }
}

/// A router's correction [1, experts], as files of some families have it, as [experts]; or back.
void reshape_corrections(TensorPlan& plan, bool to_row) {
  for (const std::string& name : plan.names()) {
    TensorInfo info = plan.info(name);
    if (!name.ends_with(".gate.e_score_correction.bias")) continue;
    const int64_t experts = numel(info.shape);
    info.shape = to_row ? Shape{1, experts} : Shape{experts};
    plan.change(name, info, [shape = info.shape](const std::vector<Tensor>& inputs) {
      return reshape(only(inputs), shape);
    });
  }
}

// Of latent attention, kv_b_proj [H (N + V), C] has each head's rows of keys and values. GGUF files
// have two tensors, the keys' rows transposed: k_b [H, C, N] and v_b [H, V, C].

constexpr std::string_view kKeysValues = ".self_attn.kv_b_proj.weight";
std::string with_ending(const std::string& name, std::string_view from, std::string_view to) {
  return name.substr(0, name.size() - from.size()) + std::string(to);
}

void join_latent_rows(TensorPlan& plan, const DecoderConfig& c) {
  constexpr std::string_view kKeys = ".self_attn.k_b_proj.weight",
                             kValues = ".self_attn.v_b_proj.weight";
  const int64_t heads = c.num_attention_heads, rank = c.kv_lora_rank;
  for (const std::string& name : plan.names()) {
    if (!name.ends_with(kKeys) || rank == 0) continue;
    const std::string values = with_ending(name, kKeys, kValues);
    check(plan.has(values), ErrorCode::kFormat, plan.where(), "expected tensor \"", values,
          "\" beside \"", name, "\"");
    const TensorInfo k = plan.info(name), v = plan.info(values);
    for (const auto& [tensor, info, shape] :
         {std::tuple(name, k, Shape({heads, rank, c.qk_nope_head_dim})),
          std::tuple(values, v, Shape({heads, c.v_head_dim, rank}))})
      check(info.shape == shape, ErrorCode::kFormat, plan.where(), "tensor \"", tensor,
            "\": expected ", shape, ", got ", info.shape);
    const DType dtype = k.dtype == v.dtype && !is_block(k.dtype) ? k.dtype : DType::kF32;
    const int64_t rows = heads * (c.qk_nope_head_dim + c.v_head_dim);
    plan.add(with_ending(name, kKeys, kKeysValues), {name, values}, {dtype, {rows, rank}},
             [=](const std::vector<Tensor>& inputs) {
               const Tensor of_keys = transpose(cast(inputs[0], dtype), 1, 2);
               return reshape(cat({of_keys, cast(inputs[1], dtype)}, 1), {rows, rank});
             });
    plan.drop(name);
    plan.drop(values);
  }
}

void split_latent_rows(TensorPlan& plan, const DecoderConfig& c) {
  for (const std::string& name : plan.names()) {
    if (!name.ends_with(kKeysValues)) continue;
    const TensorInfo info = plan.info(name);
    const int64_t heads = c.num_attention_heads, rank = c.kv_lora_rank, plain = c.qk_nope_head_dim,
                  value = c.v_head_dim;
    check(info.shape == Shape({heads * (plain + value), rank}), ErrorCode::kFormat, plan.where(),
          "tensor \"", name, "\": expected ", Shape({heads * (plain + value), rank}), ", got ",
          info.shape);
    const auto part = [=](int64_t first, int64_t count) {
      return [=](const std::vector<Tensor>& inputs) {
        const Tensor rows =
            narrow(reshape(only(inputs), {heads, plain + value, rank}), 1, first, count);
        return (first == 0 ? transpose(rows, 1, 2) : rows).contiguous();
      };
    };
    plan.add(with_ending(name, kKeysValues, ".self_attn.k_b_proj.weight"), {name},
             {info.dtype, {heads, rank, plain}}, part(0, plain));
    plan.add(with_ending(name, kKeysValues, ".self_attn.v_b_proj.weight"), {name},
             {info.dtype, {heads, value, rank}}, part(plain, value));
    plan.drop(name);
  }
}

constexpr std::string_view kFusedExperts = "mlp.experts.gate_up_proj";

/// Layers whose rows files store in one tensor, in this order.
struct Fused {
  std::string name;
  int dim;                                              // of the rows
  std::vector<std::pair<std::string, int64_t>> layers;  // names and numbers of rows
};
std::vector<Fused> fused_layers(const DecoderConfig& c) {
  const int64_t queries = c.num_attention_heads * c.head_dim,
                keys = c.num_key_value_heads * c.head_dim;
  return {{"self_attn.qkv_proj",
           0,
           {{"self_attn.q_proj", queries}, {"self_attn.k_proj", keys}, {"self_attn.v_proj", keys}}},
          {"mlp.gate_up_proj",
           0,
           {{"mlp.gate_proj", c.intermediate_size}, {"mlp.up_proj", c.intermediate_size}}},
          {"mlp.shared_expert.gate_up_proj",
           0,
           {{"mlp.shared_expert.gate_proj", c.shared_expert_intermediate_size},
            {"mlp.shared_expert.up_proj", c.shared_expert_intermediate_size}}},
          {std::string(kFusedExperts),
           1,
           {{"mlp.experts.gate_proj", c.moe_intermediate_size},
            {"mlp.experts.up_proj", c.moe_intermediate_size}}}};
}

/// The rows of fused tensors as tensors of their own: views, without a copy.
void split_rows(TensorPlan& plan, const DecoderConfig& config) {
  const std::vector<Fused> kinds = fused_layers(config);
  for (const std::string& name : plan.names()) {
    const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const Fused& fused) {
      return name.find("." + fused.name + ".") != std::string::npos;
    });
    if (kind == kinds.end()) continue;
    const TensorInfo info = plan.info(name);
    const int dim = kind->dim;
    int64_t row = 0;
    for (const auto& [layer, count] : kind->layers) row += count;
    check(info.shape.size() > dim && info.shape[dim] == row, ErrorCode::kFormat, plan.where(),
          "tensor \"", name, "\": expected ", row, " rows, got shape ", info.shape);
    row = 0;
    for (const auto& [layer, count] : kind->layers) {
      std::string part = name;
      part.replace(name.find(kind->name), kind->name.size(), layer);
      TensorInfo part_info = info;
      part_info.shape[dim] = count;
      plan.add(part, {name}, part_info, [=, first = row, count = count](const auto& inputs) {
        return narrow(only(inputs), dim, first, count);
      });
      row += count;
    }
    plan.drop(name);
  }
}

/// Tensors that files store one by one, each under its number between two parts of a name.
struct Parts {
  std::string name, before,
      after;  // the Decoder's name for all of them, "q_norm.norms.", ".weight"
  int64_t count;

  std::string part(int64_t i) const { return before + std::to_string(i) + after; }
};

/// The norms of a layer's heads, and the weights of its experts.
std::vector<Parts> parts_of_layers(const DecoderConfig& c) {
  std::vector<Parts> all;
  for (int64_t layer = 0; layer < c.num_hidden_layers; layer++) {
    const std::string begin = "model.layers." + std::to_string(layer) + ".";
    if (c.qk_norm == QkNorm::kEachHead)
      for (const auto& [norm, heads] :
           {std::pair("q_norm", c.num_attention_heads), {"k_norm", c.num_key_value_heads}}) {
        const std::string name = begin + "self_attn." + norm;
        all.push_back({name + ".weight", name + ".norms.", ".weight", heads});
      }
    if (c.num_experts > 0)
      for (const std::string projection : {"gate_proj", "up_proj", "down_proj"}) {
        const std::string experts = begin + "mlp.experts.", ending = "." + projection + ".weight";
        all.push_back({experts + projection + ".weight", experts, ending, c.num_experts});
      }
  }
  return all;
}

/// Stacks such tensors.
void stack_parts(TensorPlan& plan, const DecoderConfig& config) {
  for (const Parts& parts : parts_of_layers(config)) {
    if (!plan.has(parts.part(0))) continue;
    const TensorInfo one = plan.info(parts.part(0));
    std::vector<std::string> names;
    for (int64_t i = 0; i < parts.count; i++) {
      names.push_back(parts.part(i));
      check(plan.has(names.back()), ErrorCode::kFormat, plan.where(), "expected ", parts.count,
            " tensors \"", parts.before, "N", parts.after, "\", got ", i);
      const TensorInfo& info = plan.info(names.back());
      check(info.shape == one.shape && info.dtype == one.dtype, ErrorCode::kFormat, plan.where(),
            "tensor \"", names.back(), "\": expected ", dtype_name(one.dtype), " ", one.shape,
            " as \"", parts.part(0), "\" has, got ", dtype_name(info.dtype), " ", info.shape);
    }
    TensorInfo whole = one;
    whole.shape.insert(0, parts.count);
    plan.add(parts.name, names, whole,
             [](const std::vector<Tensor>& inputs) { return stack(inputs); });
    for (const std::string& name : names) plan.drop(name);
  }
}

// ---- the way back

/// The name in a family's folder.
std::string name_in_folder(std::string name, const Family& family, const DecoderConfig& config) {
  if (is_alone(family, config)) replace_part(name, {kSharedAlone.wick, kSharedAlone.file});
  const auto& renames = family.renamed_tensors;
  for (size_t i = renames.size(); i-- > 0;) {
    const bool has_earlier =
        std::any_of(renames.begin(), renames.begin() + i,
                    [&](const Rename& r) { return r.wick == renames[i].wick; });
    if (!has_earlier) replace_part(name, {renames[i].wick, renames[i].file});
  }
  return name;
}

/// GGUF's name of a Decoder's tensor; empty if such files lack it.
std::string gguf_name(const std::string& name, const DecoderConfig& config) {
  const Family& family = *find_family(config.model_type);
  if (name == "model.norm.weight") return std::string(family.gguf_output_norm) + ".weight";
  for (const Name& known : kNames)
    if (known.hub == name) return std::string(known.gguf);
  constexpr std::string_view kLayers = "model.layers.";
  const size_t part = name.find('.', kLayers.size()), ending = name.rfind('.');
  if (!name.starts_with(kLayers) || part == std::string::npos || ending <= part) return "";
  for (const StateNames& names : kStateNames)
    for (const Name& known : names.tensors)
      if (known.hub == std::string_view(name).substr(part + 1))
        return "blk." + name.substr(kLayers.size(), part + 1 - kLayers.size()) +
               std::string(known.gguf);
  const std::string_view of_layer = std::string_view(name).substr(part + 1, ending - part - 1);
  const auto named = [&](std::string_view gguf) {
    return "blk." + name.substr(kLayers.size(), part + 1 - kLayers.size()) + std::string(gguf) +
           name.substr(ending);
  };
  if (of_layer == "pre_feedforward_layernorm" && config.parallel_mlp_norm)
    return named("attn_norm");
  if (of_layer == ffn_norm_of(config)) return named(family.gguf_mlp_norm);
  if (of_layer == "mlp.gate_up_proj") return named("ffn_up");
  for (const Name& known : kLayerNames)
    if (known.hub == of_layer) return named(known.gguf);
  for (const StateNames& names : kStateNames)
    for (const Name& known : names.layers)
      if (known.hub == of_layer) return named(known.gguf);
  return "";
}

/// The rows of the family's fused layers in one tensor: the inverse of split_rows.
void fuse_rows(TensorPlan& plan, const DecoderConfig& config, bool of_folder) {
  const Family& family = *find_family(config.model_type);
  for (const Fused& kind : fused_layers(config)) {
    if (!contains(family.fused_tensors, kind.name)) continue;
    const bool is_of_gguf = kind.name == kFusedExperts && family.gguf_fused_experts;
    if (kind.name.starts_with("mlp.") && !of_folder && !is_of_gguf &&
        contains(family.fused_tensors, kFusedExperts))
      continue;
    const std::string& layer = kind.layers[0].first;
    for (const std::string& name : plan.names()) {
      const size_t at = name.find("." + layer + ".");
      if (at == std::string::npos) continue;
      const auto with = [&](const std::string& other) {
        return std::string(name).replace(at + 1, layer.size(), other);
      };
      TensorInfo whole = plan.info(name);
      whole.shape[kind.dim] = 0;
      std::vector<std::string> parts;
      for (const auto& [other, rows] : kind.layers) {
        check(plan.has(with(other)), ErrorCode::kFormat, plan.where(), "expected tensor \"",
              with(other), "\" beside \"", name, "\"");
        whole.shape[kind.dim] += plan.info(with(other)).shape[kind.dim];
        parts.push_back(with(other));
      }
      plan.add(with(kind.name), parts, whole,
               [dim = kind.dim](const std::vector<Tensor>& inputs) { return cat(inputs, dim); });
      for (const std::string& part : parts) plan.drop(part);
    }
  }
}

}  // namespace

TensorPlan decoder_plan(const TensorSource& file, const DecoderConfig& config) {
  const Family* family = find_family(config.model_type);
  const bool is_gguf = file.tensors.count("token_embd.weight") > 0;
  TensorPlan plan(file);
  plan.rename([&](const std::string& name) {
    if (family && predicts_further(name, config, *family)) return std::string();
    const std::string hub =
        is_gguf ? hub_name(name, config, file) : folder_name(name, family, config);
    return is_redundant(hub, config) ? std::string() : hub;
  });
  if (family && family->transposed_weights && !is_gguf) transpose_weights(plan);
  if (family && family->grouped_qkv && !is_gguf) regroup_rows(plan, config, false);
  if (family && family->transposed_experts && !is_gguf) transpose_experts(plan);
  if (family && family->interleaved_experts && !is_gguf) regroup_experts(plan, false);
  if (family && family->correction_has_row) reshape_corrections(plan, false);
  pack_mxfp4(plan);
  if (is_gguf) add_single_rows(plan);
  if (is_gguf) convert_mamba(plan, config, false);
  if (is_gguf) take_states(plan, false);
  split_groups(plan, config);
  if (is_gguf) join_latent_rows(plan, config);
  stack_parts(plan, config);
  split_rows(plan, config);
  return plan;
}

void take_gguf_names(TensorPlan& plan, const DecoderConfig& config) {
  fuse_rows(plan, config, false);
  convert_mamba(plan, config, true);
  join_groups(plan, config, find_family(config.model_type)->gguf_grouped_delta);
  take_states(plan, true);
  split_latent_rows(plan, config);
  plan.rename([&](const std::string& name) {
    const std::string gguf = gguf_name(name, config);
    check(!gguf.empty(), ErrorCode::kFormat, plan.where(), "tensor \"", name,
          "\" is not part of a model of type ", config.model_type);
    return gguf;
  });
}

void take_parts(TensorPlan& plan, const DecoderConfig& config) {
  if (contains(find_family(config.model_type)->fused_tensors, kFusedExperts))
    return;  // its folders have stacks
  for (const Parts& parts : parts_of_layers(config)) {
    if (!plan.has(parts.name)) continue;
    TensorInfo info = plan.info(parts.name);
    info.shape.erase(0);
    for (int64_t i = 0; i < parts.count; i++)
      plan.add(parts.part(i), {parts.name}, info,
               [i](const std::vector<Tensor>& inputs) { return select(only(inputs), 0, i); });
    plan.drop(parts.name);
  }
}

void take_folder_names(TensorPlan& plan, const DecoderConfig& config) {
  const Family& family = *find_family(config.model_type);
  fuse_rows(plan, config, true);
  join_groups(plan, config, family.grouped_delta);
  if (family.grouped_qkv) regroup_rows(plan, config, true);
  if (family.transposed_weights) transpose_weights(plan);
  if (family.interleaved_experts) regroup_experts(plan, true);
  if (family.transposed_experts) transpose_experts(plan);
  if (family.correction_has_row) reshape_corrections(plan, true);
  plan.rename([&](const std::string& name) { return name_in_folder(name, family, config); });
}

TensorSource decoder_tensors(const TensorSource& source, const DecoderConfig& config) {
  return decoder_plan(source, config).source();
}

TensorSource folder_tensors(const TensorSource& source, const DecoderConfig& config) {
  check(find_family(config.model_type), ErrorCode::kInvalidArgument, "config",
        "unknown model_type \"", config.model_type, "\"");
  TensorPlan plan(source);
  take_parts(plan, config);
  take_folder_names(plan, config);
  return plan.source();
}

void keep_own_head(const TensorSource& folder, DecoderConfig& config,
                   std::vector<std::string>& warnings) {
  if (!config.tie_word_embeddings) return;
  DecoderConfig untied = config;
  untied.tie_word_embeddings = false;
  if (has_own_head(decoder_tensors(folder, untied), "model.embed_tokens.weight", warnings))
    config = untied;
}

}  // namespace wick
