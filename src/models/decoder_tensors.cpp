// The names of a Decoder's tensors in the files of others.
#include <algorithm>
#include <optional>

#include "models/gguf_names.h"

namespace wick {
namespace {

/// The hub's name for GGUF's, behind "model.layers.N." and "blk.N."; the norms' depend on the model.
struct Name {
  std::string_view gguf, hub;
};
constexpr Name kLayerNames[] = {
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"post_attention_norm", "post_attention_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
};
constexpr Name kNames[] = {
    {"token_embd.weight", "model.embed_tokens.weight"},
    {"output_norm.weight", "model.norm.weight"},
    {"output.weight", "lm_head.weight"},
};

/// A layer's name without number and ending: "attn_q" of "blk.3.attn_q.weight".
std::optional<std::string> hub_name_of_layer(const std::string& name, const DecoderConfig& config) {
  const size_t number = name.find('.'), part = name.find('.', number + 1), ending = name.rfind('.');
  if (!name.starts_with("blk.") || part == std::string::npos || ending <= part) return {};
  const std::string_view of_layer = std::string_view(name).substr(part + 1, ending - part - 1);
  std::string hub;
  for (const Name& known : kLayerNames)
    if (known.gguf == of_layer) hub = known.hub;
  if (of_layer == "ffn_norm")
    hub = config.output_norms ? "pre_feedforward_layernorm" : "post_attention_layernorm";
  if (hub.empty()) return {};
  return "model.layers." + name.substr(number + 1, part - number) + hub + name.substr(ending);
}

std::string hub_name(const std::string& name, const DecoderConfig& config) {
  for (const Name& known : kNames)
    if (known.gguf == name) return std::string(known.hub);
  return hub_name_of_layer(name, config).value_or(name);
}

/// The name in a folder of a text model, for one of a model of text and images; empty for tensors of
/// its other parts.
std::string text_name(const std::string& name) {
  constexpr Name kPrefixes[] = {{"model.language_model.", "model."},
                                {"language_model.", ""},  // transformers 4
                                {"model.text_model.", "model."}};
  for (const std::string_view other :
       {"vision_tower.", "multi_modal_projector.", "model.vision_tower.",
        "model.multi_modal_projector.", "model.vision_model.", "model.connector."})
    if (name.starts_with(other)) return "";
  for (const Name& prefix : kPrefixes)
    if (name.starts_with(prefix.gguf))
      return std::string(prefix.hub) + name.substr(prefix.gguf.size());
  return name;
}

/// Whether files have the tensor although it says nothing that the config does not say.
bool is_redundant(const std::string& name, const DecoderConfig& config) {
  return name.ends_with(".rotary_emb.inv_freq") || name == "rope_freqs.weight" ||
         (config.tie_word_embeddings && name == "lm_head.weight");
}

}  // namespace

std::optional<std::string> gguf_tensor_name(const std::string& name, const DecoderConfig& config) {
  for (const Name& known : kNames)
    if (known.hub == name) return std::string(known.gguf);
  constexpr std::string_view kLayers = "model.layers.";
  const size_t part = name.find('.', kLayers.size()), ending = name.rfind('.');
  if (!name.starts_with(kLayers) || part == std::string::npos || ending <= part) return {};
  const std::string_view of_layer = std::string_view(name).substr(part + 1, ending - part - 1);
  const std::string begin = "blk." + name.substr(kLayers.size(), part + 1 - kLayers.size());
  const std::string_view ffn_norm =
      config.output_norms ? "pre_feedforward_layernorm" : "post_attention_layernorm";
  if (of_layer == ffn_norm) return begin + "ffn_norm" + name.substr(ending);
  for (const Name& known : kLayerNames)
    if (known.hub == of_layer) return begin + std::string(known.gguf) + name.substr(ending);
  return {};
}

TensorSource decoder_tensors(const TensorSource& source, const DecoderConfig& config) {
  const bool is_gguf = source.tensors.count("token_embd.weight") > 0;
  std::map<std::string, std::string> names;  // in the source, by the Decoder's
  TensorSource result{source.where, {}, {}};
  for (const auto& [name, info] : source.tensors) {
    const std::string hub = is_gguf ? hub_name(name, config) : text_name(name);
    if (hub.empty() || is_redundant(hub, config)) continue;
    const auto [known, is_new] = names.emplace(hub, name);
    check(is_new, ErrorCode::kFormat, source.where, "tensors \"", known->second, "\" and \"", name,
          "\" have one meaning");
    result.tensors[hub] = info;
  }
  result.load = [load = source.load, names = std::move(names)](const std::string& name,
                                                               const Device& device) {
    return load(names.at(name), device);
  };
  return result;
}

}  // namespace wick
