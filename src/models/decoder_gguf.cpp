// GGUF's keys and DecoderConfig. Source: https://github.com/ggml-org/llama.cpp (MIT), whose
// conversion writes the files.
#include <algorithm>

#include "models/families.h"
#include "models/gguf_names.h"
#include "wick/models/decoder.h"
#include "wick/ops/cast.h"

namespace wick {
namespace {

constexpr std::string_view kRmsEps = "attention.layer_norm_rms_epsilon",
                           kLayerEps = "attention.layer_norm_epsilon",
                           kWindow = "attention.sliding_window",
                           kPattern = "attention.sliding_window_pattern",
                           kFreqBase = "rope.freq_base", kLocalBase = "rope.freq_base_swa",
                           kDataLayout = "tensor_data_layout";
constexpr double kFreqBaseDefault = 10000;

/// Keys after "ARCHITECTURE." and the keys of config.json that they stand for; "": read apart, or
/// without effect. Files of a family have those keys of config.json that it reads.
struct GgufKey {
  std::string_view gguf;
  const char* config;
  bool is_rare = false;       // only families that list it have it in their files
  bool is_of_layers = false;  // files may have a list of one number for each layer
};
constexpr GgufKey kGgufKeys[] = {
    {"block_count", "num_hidden_layers"},
    {"context_length", "max_position_embeddings"},
    {"embedding_length", "hidden_size"},
    {"feed_forward_length", "intermediate_size", false, true},
    {"attention.head_count", "num_attention_heads", false, true},
    {"attention.head_count_kv", "num_key_value_heads", false, true},
    {kRmsEps, "rms_norm_eps"},
    {kLayerEps, "rms_norm_eps"},
    {kWindow, "sliding_window", true},
    {"attn_logit_softcapping", "attn_logit_softcapping", true},
    {"final_logit_softcapping", "final_logit_softcapping"},
    {kLocalBase, "rope_local_base_freq"},
    {"logit_scale", "logits_scaling"},
    {"residual_scale", "residual_multiplier"},
    {"embedding_scale", "embedding_multiplier"},
    {"attention.scale", "attention_multiplier"},
    {"attention.clamp_kqv", "clip_qkv"},
    {"attention.causal", "is_causal"},
    {"pooling_type", ""},
    {"use_parallel_residual", "use_parallel_residual"},
    {kDataLayout, ""},
    {"vocab_size", ""},
    {"attention.key_length", ""},
    {"attention.value_length", ""},
    {kPattern, ""},
    {kFreqBase, ""},
    {"rope.dimension_count", ""},
    {"rope.scale_linear", ""},
    {"rope.scaling.type", ""},
    {"rope.scaling.factor", ""},
    {"rope.scaling.original_context_length", ""},
    {"rope.scaling.finetuned", ""},
    {"rope.scaling.attn_factor", ""},
    {"rope.scaling.yarn_attn_factor", ""},
    {"rope.scaling.yarn_ext_factor", ""},
    {"rope.scaling.yarn_beta_fast", ""},
    {"rope.scaling.yarn_beta_slow", ""},
    {"expert_count", "num_experts"},
    {"expert_used_count", "num_experts_per_tok"},
    {"expert_feed_forward_length", "moe_intermediate_size"},
    {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"},
    {"expert_weights_norm", ""},
    {"expert_gating_func", ""},
    {"expert_group_used_count", ""},
    // These change results; no family reads them.
    {"expert_shared_count", "n_shared_experts"},
    {"expert_group_count", "n_group"},
    {"expert_weights_scale", "routed_scaling_factor"},
    {"leading_dense_block_count", "first_k_dense_replace"},
    {"attention.max_alibi_bias", "alibi", true},
    {"attention.kv_lora_rank", "kv_lora_rank"},
    {"attention.shared_kv_layers", "num_kv_shared_layers"},
    {"rope.dimension_sections", "mrope_section"},
};

template <class List>
bool contains(const List& list, std::string_view item) {
  return std::find(std::begin(list), std::end(list), item) != std::end(list);
}

/// The key of the epsilon of the family's norms.
std::string_view eps_key(const Family& family) {
  return family.norm_type == NormType::kRms ? kRmsEps : kLayerEps;
}

/// The family's own key, if it reads wick's under another name only.
std::string config_key(const Family& family, std::string_view wick) {
  if (!contains(family.keys, wick))
    for (const Rename& rename : family.renamed_keys)
      if (rename.wick == wick) return std::string(rename.file);
  return std::string(wick);
}

const Family& family_of(const Settings& metadata) {
  const std::string architecture = metadata.text("general.architecture");
  const bool has_experts = metadata.integer_or(architecture + ".expert_count", 0) > 0,
             has_window = metadata.integer_or(architecture + "." + std::string(kWindow), 0) > 0;
  const auto fits = [&](const Family& family) {
    return (family.num_experts > 0) == has_experts && has_gguf_key(family, kWindow) == has_window;
  };
  const Family* found = nullptr;
  std::string known;
  for (const Family& family : kFamilies) {
    if (family.gguf.empty()) continue;
    // Mixtral has Llama's architecture, and OLMo 3 that of OLMo 2.
    if (family.gguf == architecture && (!found || (fits(family) && !fits(*found)))) found = &family;
    const std::string name = "\"" + std::string(family.gguf) + "\"";
    if (known.find(name) == known.npos) known += (known.empty() ? "" : ", ") + name;
  }
  if (found) return *found;
  metadata.fail_expected("general.architecture", known);
}

/// The file's keys without the architecture's prefix, by their names in the file.
class Keys {
 public:
  Keys(const Settings& metadata, const Family& family)
      : values_(metadata.where()), family_(family), prefix_(std::string(family.gguf) + ".") {
    for (const auto& [key, value] : metadata.entries())
      if (key.starts_with(prefix_)) values_.set(key, of_all_layers(key, value));
  }

  std::string name(std::string_view key) const { return prefix_ + std::string(key); }
  bool has(std::string_view key) const { return values_.has(name(key)); }
  int64_t size(std::string_view key) const { return values_.integer(name(key), 1); }
  int64_t size_or(std::string_view key, int64_t otherwise) const {
    return values_.integer_or(name(key), otherwise, 1);
  }
  double real(std::string_view key) const { return values_.real(name(key)); }
  double real_or(std::string_view key, double otherwise) const {
    return values_.real_or(name(key), otherwise);
  }
  std::string text_or(std::string_view key, const std::string& otherwise) const {
    return values_.text_or(name(key), otherwise);
  }
  bool flag_or(std::string_view key, bool otherwise) const {
    return values_.flag_or(name(key), otherwise);
  }
  const Setting* find(std::string_view key) const { return values_.find(name(key)); }

  /// Sets the keys of config.json for which the file has keys. Returns the unknown ones.
  std::vector<std::string> translate(Settings* config) const {
    std::vector<std::string> unknown;
    for (const auto& [key, value] : values_.entries()) {
      const GgufKey* const known = known_key(key);
      if (!known)
        unknown.push_back(key);
      else if (*known->config != '\0')
        config->set(config_key(family_, known->config), value);
    }
    return unknown;
  }

 private:
  const GgufKey* known_key(std::string_view name) const {
    const auto known =
        std::find_if(std::begin(kGgufKeys), std::end(kGgufKeys),
                     [&](const GgufKey& row) { return row.gguf == name.substr(prefix_.size()); });
    return known == std::end(kGgufKeys) ? nullptr : known;
  }

  /// The number that a list repeats for each layer, or the value itself. Errors: kUnsupported if the
  /// layers differ.
  Setting of_all_layers(const std::string& name, const Setting& value) const {
    const GgufKey* const known = known_key(name);
    const auto* const list = std::get_if<Setting::List>(&value.value);
    if (!known || !known->is_of_layers || !list || list->empty()) return value;
    const auto* const first = std::get_if<int64_t>(&list->front().value);
    if (!first) return value;
    for (size_t layer = 1; layer < list->size(); layer++) {
      const auto* const size = std::get_if<int64_t>(&(*list)[layer].value);
      if (!size) return value;
      check(*size == *first, ErrorCode::kUnsupported, values_.where(), "\"", name,
            "\": expected the same number for all layers, got ", *first, " for layer 0 and ", *size,
            " for layer ", layer);
    }
    return *first;
  }

  Settings values_;  // the file's, without the prefix
  const Family& family_;
  std::string prefix_;
};

bool has(const TensorSource& tensors, const char* name) { return tensors.tensors.count(name) > 0; }

std::vector<double> elements(const TensorSource& tensors, const char* name) {
  return cast(tensors.load(name, Device::cpu()), DType::kF64).to_vector<double>();
}

/// Sets "rope_scaling" by LongRoPE's tensors. Returns whether the file has them.
bool set_longrope(const Keys& keys, const TensorSource& tensors, Settings* config) {
  if (!has(tensors, "rope_factors_long.weight") || !has(tensors, "rope_factors_short.weight"))
    return false;
  Settings scaling(config->where() + ": \"" + keys.name("rope.scaling") + "\"");
  scaling.set("rope_type", "longrope");
  for (const auto& [tensor, name] : {std::pair("rope_factors_long.weight", "long_factor"),
                                     {"rope_factors_short.weight", "short_factor"}}) {
    const std::vector<double> factors = elements(tensors, tensor);
    scaling.set(name, Setting::List(factors.begin(), factors.end()));
  }
  for (const auto& [gguf, name] :
       {std::pair("rope.scaling.original_context_length", "original_max_position_embeddings"),
        {"rope.scaling.attn_factor", "attention_factor"}})
    if (const Setting* value = keys.find(gguf)) scaling.set(name, *value);
  config->set("rope_scaling", scaling);
  return true;
}

/// Sets "rope_scaling", if the file scales.
void set_scaling(const Keys& keys, const TensorSource& tensors, Settings* config) {
  if (set_longrope(keys, tensors, config)) return;
  const double factor = keys.real_or("rope.scaling.factor", keys.real_or("rope.scale_linear", 0));
  const std::string type = keys.text_or("rope.scaling.type", "linear");
  if (type == "none" || factor == 0) return;
  Settings scaling(config->where() + ": \"" + keys.name("rope.scaling") + "\"");
  scaling.set("rope_type", type);
  scaling.set("factor", factor);
  if (type == "yarn") {
    check(keys.real_or("rope.scaling.yarn_ext_factor", 1) == 1, ErrorCode::kUnsupported,
          config->where(), "\"", keys.name("rope.scaling.yarn_ext_factor"), "\": expected 1, got ",
          keys.real_or("rope.scaling.yarn_ext_factor", 1));
    for (const auto& [gguf, name] :
         {std::pair("rope.scaling.original_context_length", "original_max_position_embeddings"),
          {"rope.scaling.yarn_attn_factor", "attention_factor"},
          {"rope.scaling.yarn_beta_fast", "beta_fast"},
          {"rope.scaling.yarn_beta_slow", "beta_slow"}})
      if (const Setting* value = keys.find(gguf)) scaling.set(name, *value);
  }
  config->set("rope_scaling", scaling);
}

/// Sets the keys whose defaults or units differ between the two.
void set_attention(const Keys& keys, const Family& family, Settings* config) {
  const int64_t hidden_size = keys.size("embedding_length"), layers = keys.size("block_count"),
                heads = keys.size("attention.head_count");
  const int64_t share = std::max<int64_t>(1, hidden_size / heads),
                head_dim = keys.size_or("attention.key_length", share);
  config->set("head_dim", head_dim);
  check(keys.size_or("attention.value_length", head_dim) == head_dim, ErrorCode::kUnsupported,
        config->where(), "\"", keys.name("attention.value_length"), "\": expected ", head_dim,
        " as for keys, got ", keys.size_or("attention.value_length", head_dim));
  if (keys.has("rope.dimension_count"))
    config->set("partial_rotary_factor",
                double(keys.size("rope.dimension_count")) / double(head_dim));
  config->set("num_key_value_heads", keys.size_or("attention.head_count_kv", heads));
  const double theta = keys.real_or(kFreqBase, kFreqBaseDefault);
  config->set("rope_theta", theta);
  // Where both have one default, files may leave the second out.
  if (family.rope_local_base_freq == family.rope_theta && !keys.has(kLocalBase))
    config->set("rope_local_base_freq", theta);
  if (keys.real_or(kWindow, 0) == 0) config->set("sliding_window", nullptr);
  for (const auto& [gguf, name] :
       {std::pair("attention.scale", "attention_multiplier"), {"attention.clamp_kqv", "clip_qkv"}})
    if (keys.real_or(gguf, 0) == 0) config->set(name, nullptr);
  if (const Setting* pattern = keys.find(kPattern)) {
    const Setting::List* flags = std::get_if<Setting::List>(&pattern->value);
    Setting::List types;
    for (const Setting& flag : flags ? *flags : Setting::List()) {
      const bool* slides = std::get_if<bool>(&flag.value);
      types.push_back(slides && *slides ? "sliding_attention" : "full_attention");
    }
    if (flags)
      config->set("layer_types", std::move(types));
    else
      config->set("sliding_window_pattern", *pattern);
  }
  // Files do not say it: the largest Gemma 2 and 3 scale by the heads' share of hidden_size.
  if (family.query_pre_attn_scalar > 0)
    config->set("query_pre_attn_scalar",
                double(layers == family.gguf_share_layers ? share : head_dim));
}

/// Sets the sizes of experts that files may leave out. Errors: kUnsupported if the router's scores are
/// not normalized by softmax.
void set_experts(const Keys& keys, const Family& family, Settings* config) {
  if (family.num_experts == 0) return;
  keys.size("expert_count");
  const int64_t used = keys.size("expert_used_count"), length = keys.size("feed_forward_length");
  if (family.moe_intermediate_size > 0 && !keys.has("expert_feed_forward_length"))
    config->set("moe_intermediate_size", length / used);
  if (family.shared_expert_intermediate_size > 0 && !keys.has("expert_shared_feed_forward_length"))
    config->set("shared_expert_intermediate_size", length);
  constexpr int64_t kSoftmax = 1;
  const int64_t function = keys.size_or("expert_gating_func", kSoftmax);
  check(function == kSoftmax, ErrorCode::kUnsupported, config->where(), "\"",
        keys.name("expert_gating_func"), "\": expected ", kSoftmax, ", softmax, got ", function);
}

/// Whether every pattern-th layer is full and all others slide.
bool has_pattern(const std::vector<LayerType>& types, int64_t pattern) {
  for (size_t i = 0; i < types.size(); i++)
    if ((types[i] == LayerType::kSliding) != ((int64_t(i) + 1) % pattern != 0)) return false;
  return true;
}

/// The ids under these keys, each once.
std::vector<int64_t> token_ids(const Settings& metadata, std::initializer_list<const char*> keys) {
  std::vector<int64_t> ids;
  for (const char* key : keys)
    for (const int64_t id : metadata.integers(std::string("tokenizer.ggml.") + key))
      if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  return ids;
}

}  // namespace

bool has_gguf_key(const Family& family, std::string_view key) {
  return contains(family.gguf_keys, key);
}

Settings gguf_settings(const DecoderConfig& c) {
  const Family& family = *find_family(c.model_type);
  check(!family.gguf.empty(), ErrorCode::kUnsupported, "config", "GGUF has no architecture for ",
        c.model_type, " models");
  const Settings config = to_settings(c);
  const auto leaves_out = [&](std::string_view key) {
    const bool is_default = key == kFreqBase ? c.rope_theta == kFreqBaseDefault
                                             : c.num_key_value_heads == c.num_attention_heads;
    return is_default && contains(family.gguf_implied, key);
  };
  Settings s(config.where());
  for (const GgufKey& row : kGgufKeys) {
    if (*row.config == '\0' || (row.is_rare && !has_gguf_key(family, row.gguf))) continue;
    const bool is_other_eps =
        std::string_view(row.config) == "rms_norm_eps" && row.gguf != eps_key(family);
    if (is_other_eps || leaves_out(row.gguf)) continue;
    const std::string key(row.gguf);
    if (const Setting* value = config.find(config_key(family, row.config)))
      s.set(key, *value);
    else if (row.gguf == kWindow && !has_gguf_key(family, kPattern))
      s.set(key, 0);  // readers have a default
  }
  if (!leaves_out(kFreqBase)) s.set(std::string(kFreqBase), c.rope_theta);
  // All queries, all keys, all values; of other files it is not known.
  if (has_gguf_key(family, kDataLayout)) s.set(std::string(kDataLayout), "jploski");
  if (has_gguf_key(family, "vocab_size")) s.set("vocab_size", c.vocab_size);
  if (has_gguf_key(family, "rope.dimension_count"))
    s.set("rope.dimension_count", c.rotary_dim > 0 ? c.rotary_dim : c.head_dim);
  if (has_gguf_key(family, kPattern) && !c.layer_types.empty()) {
    Setting::List slide;
    for (const LayerType type : c.layer_types) slide.emplace_back(type == LayerType::kSliding);
    s.set(std::string(kPattern), std::move(slide));
  }
  if (contains(family.keys, "sliding_window_pattern") && !has_gguf_key(family, kPattern) &&
      !has_pattern(c.layer_types, family.sliding_window_pattern))
    for (int64_t pattern = 1; pattern <= c.num_hidden_layers + 1; pattern++)
      if (has_pattern(c.layer_types, pattern)) {
        s.set(std::string(kPattern), pattern);
        break;
      }
  return s;
}

DecoderConfig decoder_config_of_gguf(const Settings& metadata, const TensorSource& tensors) {
  const Family& family = family_of(metadata);
  const Keys keys(metadata, family);
  Settings config(metadata.where());
  config.set("model_type", std::string(family.model_type));
  const std::vector<std::string> unknown = keys.translate(&config);
  for (const char* key : {"feed_forward_length", "context_length"}) keys.size(key);
  keys.real(eps_key(family));
  set_attention(keys, family, &config);
  set_scaling(keys, tensors, &config);
  set_experts(keys, family, &config);
  if (contains(family.keys, "new_decoder_architecture"))
    config.set("new_decoder_architecture", true);  // the number of groups counts

  const auto embedding = tensors.tensors.find("token_embd.weight");
  check(embedding != tensors.tensors.end() && embedding->second.shape.size() == 2,
        ErrorCode::kFormat, metadata.where(), "expected a tensor \"token_embd.weight\" of 2 dims");
  config.set("vocab_size", embedding->second.shape[0]);
  config.set("tie_word_embeddings", !has(tensors, "output.weight"));

  if (const Setting* pad = metadata.find("tokenizer.ggml.padding_token_id"))
    config.set("pad_token_id", *pad);

  DecoderConfig c = decoder_config(config);
  c.attention_bias = has(tensors, "blk.0.attn_q.bias") || has(tensors, "blk.0.attn_qkv.bias");
  c.attention_output_bias = has(tensors, "blk.0.attn_output.bias");
  c.mlp_bias = has(tensors, "blk.0.ffn_up.bias");
  c.lm_head_bias = has(tensors, "output.bias");
  c.norm_topk_prob = keys.flag_or("expert_weights_norm", family.gguf_norm_topk_prob);
  if (contains(family.keys, "qk_layernorm") && family.gguf_qk_norm &&
      has(tensors, "blk.0.attn_q_norm.weight"))
    c.qk_norm = family.qk_norm;
  c.parallel_mlp_norm = has(tensors, "blk.0.attn_norm_2.weight");
  if (contains(family.keys, "use_parallel_residual"))
    c.parallel_residual = !has(tensors, "blk.0.ffn_norm.weight");
  if (is_floating(embedding->second.dtype)) c.dtype = embedding->second.dtype;
  c.rope_pairs = family.gguf_pairs;
  c.norm_adds_one = false;  // the files' weights have it added
  if (has(tensors, "rope_freqs.weight"))
    c.rope_scaling.divisors = elements(tensors, "rope_freqs.weight");
  const int64_t pairs = (c.rotary_dim > 0 ? c.rotary_dim : c.head_dim) / 2;
  check(c.rope_scaling.divisors.empty() || int64_t(c.rope_scaling.divisors.size()) == pairs,
        ErrorCode::kFormat, metadata.where(), "tensor \"rope_freqs.weight\": expected ", pairs,
        " elements, got ", c.rope_scaling.divisors.size());
  c.bos_token_ids = token_ids(metadata, {"bos_token_id"});
  c.eos_token_ids = token_ids(metadata, {"eos_token_id", "eot_token_id", "eom_token_id"});
  c.ignored_keys.insert(c.ignored_keys.end(), unknown.begin(), unknown.end());
  return c;
}

}  // namespace wick
