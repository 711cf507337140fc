// Conversion between config.json and DecoderConfig.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "models/families.h"
#include "wick/models/decoder.h"

namespace wick {
namespace {

constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();  // for every size

/// The values of the text part of a model of text and images, with those that stand beside it; else
/// all values.
Settings text_settings(const Settings& settings) {
  const Settings* text = settings.group("text_config");
  if (!text || settings.text("model_type") != "gemma3") return settings;
  Settings all(*text);
  if (!all.has("model_type")) all.set("model_type", "gemma3_text");
  for (const char* key :
       {"torch_dtype", "dtype", "bos_token_id", "eos_token_id", "tie_word_embeddings"})
    if (const Setting* value = settings.find(key)) all.set(key, *value);
  return all;
}

const Family& family_of(const Settings& settings) {
  const std::string model_type = settings.text("model_type");
  if (const Family* family = find_family(model_type)) return *family;
  std::string known;
  for (const Family& family : kFamilies)
    known += (known.empty() ? "\"" : ", \"") + std::string(family.model_type) + "\"";
  settings.fail_expected("model_type", known);
}

// ---- keys

template <class List, class T>
bool contains(const List& list, const T& item) {
  return std::find(std::begin(list), std::end(list), item) != std::end(list);
}

/// Whether a value of a changing key has no effect.
bool is_neutral(const Setting& setting, double neutral) {
  const auto is = [neutral]<class T>(const T& value) {
    if constexpr (std::is_same_v<T, std::nullptr_t>)
      return true;
    else if constexpr (std::is_arithmetic_v<T>)
      return double(value) == neutral;
    else if constexpr (std::is_same_v<T, Settings>)
      return value.entries().empty();
    else
      return value.empty();
  };
  return std::visit(is, setting.value);
}

/// Handles a key that is not read: an error if it may change results, a note in `ignored` if it is
/// unknown.
void pass_over(const Settings& settings, const Settings::Entry& entry, const Family& family,
               std::vector<std::string>* ignored) {
  const auto& [key, value] = entry;
  for (const ChangingKey& changing : kChangingKeys)
    if (changing.key == key) {
      check(is_neutral(value, changing.neutral), ErrorCode::kUnsupported, settings.where(), "\"",
            key, "\" is ", describe(value), ": it changes a model's results, and ",
            family.model_type, " models do not support it");
      return;
    }
  const bool idle = std::any_of(std::begin(kIdleKeys), std::end(kIdleKeys),
                                [&](std::string_view known) { return key.starts_with(known); });
  if (!idle && !std::holds_alternative<std::nullptr_t>(value.value)) ignored->push_back(key);
}

/// The entries of config.json that the family reads, under wick's names.
Settings read_by(const Family& family, const Settings& settings,
                 std::vector<std::string>* ignored) {
  Settings read(settings.where());
  for (const Settings::Entry& entry : settings.entries()) {
    bool renamed = false;
    for (const auto& [file, wick] : family.renamed_keys)
      if (file == entry.first && !file.empty())
        read.set(std::string(wick), entry.second), renamed = true;
    if (contains(kCommonKeys, entry.first) || contains(family.keys, entry.first))
      read.set(entry.first, entry.second);
    else if (!renamed)
      pass_over(settings, entry, family, ignored);
  }
  return read;
}

int64_t size_of(const Settings& settings, const char* key, int64_t otherwise = 0,
                int64_t highest = kLargest) {
  const int64_t size =
      otherwise > 0 ? settings.integer_or(key, otherwise, 1) : settings.integer(key, 1);
  if (size > highest) settings.fail_expected(key, "at most " + std::to_string(highest));
  return size;
}

/// Whether the key is there, be it with null.
bool is_listed(const Settings& settings, const char* key) {
  const auto is_key = [key](const Settings::Entry& entry) { return entry.first == key; };
  return std::any_of(settings.entries().begin(), settings.entries().end(), is_key);
}

/// As size_of, where null is 0 and only a missing key has the default.
int64_t size_or_null(const Settings& settings, const char* key, int64_t otherwise) {
  if (!is_listed(settings, key)) return otherwise;
  return settings.has(key) ? size_of(settings, key) : 0;
}

double positive(const Settings& settings, const char* key) {
  const double value = settings.real(key);
  if (value <= 0) settings.fail_expected(key, "a number above 0");
  return value;
}
double positive(const Settings& settings, const char* key, double otherwise) {
  return settings.has(key) ? positive(settings, key) : otherwise;
}
/// As positive, where null is 0 and only a missing key has the default.
double positive_or_null(const Settings& settings, const char* key, double otherwise) {
  return is_listed(settings, key) && !settings.has(key) ? 0 : positive(settings, key, otherwise);
}

// ---- rope

constexpr std::pair<const char*, RopeScalingType> kScalingTypes[] = {
    {"default", RopeScalingType::kNone},      {"linear", RopeScalingType::kLinear},
    {"dynamic", RopeScalingType::kDynamic},   {"yarn", RopeScalingType::kYarn},
    {"llama3", RopeScalingType::kLlama3},     {"su", RopeScalingType::kLongRope},
    {"longrope", RopeScalingType::kLongRope},
};
constexpr std::string_view kScalingKeys[] = {"rope_type",
                                             "type",
                                             "rope_theta",
                                             "factor",
                                             "original_max_position_embeddings",
                                             "beta_fast",
                                             "beta_slow",
                                             "truncate",
                                             "attention_factor",
                                             "mscale",
                                             "mscale_all_dim",
                                             "low_freq_factor",
                                             "high_freq_factor",
                                             "short_factor",
                                             "long_factor"};

RopeScalingType scaling_type(const Settings& rope) {
  const char* key = rope.has("rope_type") ? "rope_type" : "type";
  const std::string text = rope.text_or(key, "default");
  std::string known;
  for (const auto& [name, type] : kScalingTypes) {
    if (text == name) return type;
    known += (known.empty() ? "\"" : ", \"") + std::string(name) + "\"";
  }
  rope.fail_expected(key, known);
}

/// YaRN's factor of attention. Source: Peng et al. 2023, arXiv:2309.00071, eq. 22; mscale is
/// DeepSeek's addition.
double attention_factor(const Settings& rope, double factor) {
  if (rope.has("attention_factor")) return positive(rope, "attention_factor", 1);
  const auto scale = [factor](double m) {
    return factor <= 1 ? 1.0 : 0.1 * m * std::log(factor) + 1;
  };
  const double m = rope.real_or("mscale", 0), of_all = rope.real_or("mscale_all_dim", 0);
  return m != 0 && of_all != 0 ? scale(m) / scale(of_all) : scale(1);
}

/// LongRoPE's factor of attention. Source: Ding et al. 2024, arXiv:2402.13753, as in Phi-3.
double longrope_attention_factor(const Settings& rope, double factor, int64_t context) {
  if (rope.has("attention_factor")) return positive(rope, "attention_factor");
  if (factor <= 1) return 1;
  if (context < 2) rope.fail_expected("original_max_position_embeddings", "at least 2");
  return std::sqrt(1 + std::log(factor) / std::log(double(context)));
}

/// trained: the trained context, if the scaling does not say it.
RopeScaling scaling_of(const Settings& rope, int64_t max_position_embeddings, int64_t trained) {
  RopeScaling s;
  s.type = scaling_type(rope);
  if (s.type == RopeScalingType::kNone) return s;
  const int64_t context = rope.integer_or("original_max_position_embeddings", trained, 1);
  if ((s.type == RopeScalingType::kYarn || s.type == RopeScalingType::kLongRope) &&
      !rope.has("factor"))
    s.factor = double(max_position_embeddings) / double(context);
  else
    s.factor = positive(rope, "factor");
  switch (s.type) {
    case RopeScalingType::kNone:
    case RopeScalingType::kLinear:
      break;
    case RopeScalingType::kDynamic:
      s.original_max_position_embeddings = max_position_embeddings;
      break;
    case RopeScalingType::kYarn:
      s.original_max_position_embeddings = context;
      s.beta_fast = positive(rope, "beta_fast", s.beta_fast);
      s.beta_slow = positive(rope, "beta_slow", s.beta_slow);
      s.truncate = rope.flag_or("truncate", s.truncate);
      s.attention_factor = attention_factor(rope, s.factor);
      break;
    case RopeScalingType::kLlama3:
      s.original_max_position_embeddings = context;
      s.low_freq_factor = positive(rope, "low_freq_factor");
      s.high_freq_factor = positive(rope, "high_freq_factor");
      if (s.high_freq_factor <= s.low_freq_factor)
        rope.fail_expected("high_freq_factor", "a number above low_freq_factor");
      break;
    case RopeScalingType::kLongRope:
      s.original_max_position_embeddings = context;
      s.attention_factor = longrope_attention_factor(rope, s.factor, context);
      s.short_factor = rope.reals("short_factor");
      s.long_factor = rope.reals("long_factor");
      break;
  }
  return s;
}

/// Sets the elements of a head that rope rotates, by their share.
void set_rotary_dim(const Settings& settings, double share, DecoderConfig* c) {
  const int64_t dim = int64_t(share * double(c->head_dim) + 1e-6);  // a share may be rounded down
  if (share == 1) return;
  if (share > 1 || dim < 2 || dim % 2 != 0)
    settings.fail_expected("partial_rotary_factor",
                           "an even part of head_dim " + std::to_string(c->head_dim));
  c->rotary_dim = dim;
}

/// Whether the type of scaling reads the key.
bool reads(RopeScalingType type, std::string_view key) {
  return type == RopeScalingType::kLongRope || (key != "short_factor" && key != "long_factor");
}

/// trained: the trained context, if the group does not say it.
void read_rope_group(const Settings& rope, const Family& family, int64_t trained,
                     DecoderConfig* c) {
  c->rope_theta = positive(rope, "rope_theta", c->rope_theta);
  c->rope_scaling = scaling_of(rope, c->max_position_embeddings, trained);
  for (const Settings::Entry& entry : rope.entries()) {
    const std::string_view key = entry.first;
    if (key == "partial_rotary_factor" && contains(family.keys, key))
      set_rotary_dim(rope, positive(rope, "partial_rotary_factor"), c);
    else if (!contains(kScalingKeys, key) || !reads(c->rope_scaling.type, key))
      pass_over(rope, entry, family, &c->ignored_keys);
  }
}

/// LongRoPE has a factor above 0 for each pair.
void require_factors_fit(const Settings& rope, const DecoderConfig& c) {
  if (c.rope_scaling.type != RopeScalingType::kLongRope) return;
  const int64_t pairs = (c.rotary_dim > 0 ? c.rotary_dim : c.head_dim) / 2;
  for (const auto& [key, factors] : {std::pair("short_factor", c.rope_scaling.short_factor),
                                     {"long_factor", c.rope_scaling.long_factor}})
    if (int64_t(factors.size()) != pairs ||
        std::any_of(factors.begin(), factors.end(), [](double factor) { return factor <= 0; }))
      rope.fail_expected(key, "a list of " + std::to_string(pairs) + " numbers above 0");
}

/// Reads theta and scaling. transformers 5 keeps them in "rope_parameters", by layer type if sliding
/// layers have their own; transformers 4 in "rope_theta", "rope_local_base_freq" and "rope_scaling".
void read_rope(const Settings& settings, const Family& family, DecoderConfig* c) {
  c->rope_theta =
      positive(settings, "rope_theta", family.rope_theta) * positive(settings, "rope_ratio", 1);
  c->rope_local_base_freq = positive(settings, "rope_local_base_freq", family.rope_local_base_freq);
  set_rotary_dim(settings,
                 positive(settings, "partial_rotary_factor", family.partial_rotary_factor), c);
  const int64_t trained =
      settings.integer_or("original_max_position_embeddings", c->max_position_embeddings, 1);
  const Settings* rope = settings.group("rope_parameters");
  if (rope && (rope->has("full_attention") || rope->has("sliding_attention"))) {
    if (const Settings* sliding = rope->group("sliding_attention")) {
      if (scaling_type(*sliding) != RopeScalingType::kNone)
        sliding->fail_expected("rope_type", "\"default\"");
      c->rope_local_base_freq = positive(*sliding, "rope_theta", family.rope_local_base_freq);
    }
    rope = rope->group("full_attention");
  }
  const Settings* scaling = settings.group("rope_scaling");
  for (const Settings* group : {rope, scaling})
    if (group && !group->entries().empty()) {
      read_rope_group(*group, family, trained, c);
      require_factors_fit(*group, *c);
    }
}

Setting scaling_setting(const RopeScaling& s) {
  Settings rope;
  for (const auto& [name, type] : kScalingTypes)
    if (s.type == type) rope.set("rope_type", name);
  rope.set("factor", s.factor);
  if (s.type == RopeScalingType::kLongRope) {
    rope.set("attention_factor", s.attention_factor);
    rope.set("short_factor", Setting::List(s.short_factor.begin(), s.short_factor.end()));
    rope.set("long_factor", Setting::List(s.long_factor.begin(), s.long_factor.end()));
  }
  if (s.type == RopeScalingType::kYarn || s.type == RopeScalingType::kLlama3 ||
      s.type == RopeScalingType::kLongRope)
    rope.set("original_max_position_embeddings", s.original_max_position_embeddings);
  if (s.type == RopeScalingType::kYarn) {
    rope.set("beta_fast", s.beta_fast).set("beta_slow", s.beta_slow);
    rope.set("truncate", s.truncate).set("attention_factor", s.attention_factor);
  }
  if (s.type == RopeScalingType::kLlama3)
    rope.set("low_freq_factor", s.low_freq_factor).set("high_freq_factor", s.high_freq_factor);
  return rope;
}

/// Rope by the type of layer, as transformers 5 writes it.
Setting rope_parameters_setting(const DecoderConfig& c) {
  Settings full, sliding;
  if (c.rope_scaling.type != RopeScalingType::kNone)
    full = std::get<Settings>(scaling_setting(c.rope_scaling).value);
  else
    full.set("rope_type", "default");
  full.set("rope_theta", c.rope_theta);
  sliding.set("rope_type", "default").set("rope_theta", c.rope_local_base_freq);
  Settings rope;
  rope.set("full_attention", full).set("sliding_attention", sliding);
  return rope;
}

// ---- dtype and ids

constexpr std::pair<const char*, DType> kDTypes[] = {{"float32", DType::kF32},
                                                     {"float16", DType::kF16},
                                                     {"bfloat16", DType::kBf16},
                                                     {"float64", DType::kF64}};
/// Reads "dtype", called "torch_dtype" before transformers 5.
DType dtype_of(const Settings& settings) {
  const char* key = settings.has("dtype") ? "dtype" : "torch_dtype";
  const std::string text = settings.text_or(key, "float32");
  for (const auto& [name, dtype] : kDTypes)
    if (text == name) return dtype;
  settings.fail_expected(key, "\"float32\", \"float16\", \"bfloat16\" or \"float64\"");
}
const char* dtype_text(DType dtype) {
  for (const auto& [name, known] : kDTypes)
    if (dtype == known) return name;
  return "float32";
}

/// Token ids as in config.json: one id, a list, or null.
Setting ids_setting(const std::vector<int64_t>& ids) {
  if (ids.empty()) return nullptr;
  if (ids.size() == 1) return ids[0];
  return Setting::List(ids.begin(), ids.end());
}

/// The id of the padding, which files on the hub may have outside of the vocabulary.
std::optional<int64_t> pad_token_id(const Settings& settings, const Family& family,
                                    int64_t vocab_size) {
  int64_t id = is_listed(settings, "pad_token_id") ? -1 : family.pad_token_id;
  if (const Setting* value = settings.find("pad_token_id"))
    if (const auto* listed = std::get_if<int64_t>(&value->value)) id = *listed;
  return id >= 0 && id < vocab_size ? std::optional(id) : std::nullopt;
}

void require_heads_fit(const Settings& settings, const DecoderConfig& c, const Family& family) {
  if (c.num_attention_heads % c.num_key_value_heads != 0)
    settings.fail_expected("num_key_value_heads", "a divisor of num_attention_heads " +
                                                      std::to_string(c.num_attention_heads));
  if (!settings.has("head_dim") && family.head_dim == 0 &&
      c.hidden_size % c.num_attention_heads != 0)
    settings.fail_expected("num_attention_heads",
                           "a divisor of hidden_size " + std::to_string(c.hidden_size));
  if (c.head_dim % 2 != 0)
    fail(ErrorCode::kFormat, settings.where(), "\"head_dim\": expected an even number, got ",
         c.head_dim);
  for (const int64_t heads : {c.num_attention_heads, c.num_key_value_heads})
    check(heads * c.head_dim <= kLargest, ErrorCode::kFormat, settings.where(), heads, " heads of ",
          c.head_dim, " exceed ", kLargest);
}

// ---- layers

constexpr std::pair<const char*, LayerType> kLayerTypes[] = {
    {"full_attention", LayerType::kFull}, {"sliding_attention", LayerType::kSliding}};

/// Reads the layers that rope rotates: "no_rope_layers" has 1 for each, despite its name.
void read_rope_layers(const Settings& settings, const Family& family, DecoderConfig* c) {
  if (family.no_rope_layer_interval == 0) return;
  const std::vector<int64_t> listed = settings.integers("no_rope_layers");
  if (!listed.empty() && int64_t(listed.size()) < c->num_hidden_layers)
    settings.fail_expected("no_rope_layers",
                           "a list of " + std::to_string(c->num_hidden_layers) + " integers");
  const int64_t interval =
      settings.integer_or("no_rope_layer_interval", family.no_rope_layer_interval, 1);
  for (int64_t i = 0; i < c->num_hidden_layers; i++)
    c->rope_layers.push_back(listed.empty() ? (i + 1) % interval != 0 : listed[size_t(i)] != 0);
}

bool slides(const Settings& settings, const Family& family, const DecoderConfig& c, int64_t layer) {
  switch (family.sliding) {
    case Sliding::kNever:
      return false;
    case Sliding::kEvery:
      return true;
    case Sliding::kFromLayer:
      return layer >= settings.integer_or("max_window_layers", 28);
    case Sliding::kPattern:
      return (layer + 1) %
                 settings.integer_or("sliding_window_pattern", family.sliding_window_pattern, 1) !=
             0;
    case Sliding::kUnrotated:
      return !c.rope_layers[size_t(layer)];
    case Sliding::kEven:
      return layer % 2 == 0 && layer < settings.integer_or("max_window_layers", 28);
  }
  return false;
}

/// Reads the window and the layers that it limits.
void read_window(const Settings& settings, const Family& family, DecoderConfig* c) {
  const bool off =
      contains(family.keys, "use_sliding_window") && !settings.flag_or("use_sliding_window", false);
  // transformers writes a window of 0 for Qwen 2 with experts if it is off.
  const int64_t window = off ? 0 : size_or_null(settings, "sliding_window", family.sliding_window);
  const std::vector<std::string> texts = settings.texts("layer_types");
  if (settings.has("layer_types") && int64_t(texts.size()) != c->num_hidden_layers)
    settings.fail_expected("layer_types",
                           "a list of " + std::to_string(c->num_hidden_layers) + " strings");
  std::vector<LayerType> types;
  for (const std::string& text : texts) {
    const auto known = std::find_if(std::begin(kLayerTypes), std::end(kLayerTypes),
                                    [&](const auto& pair) { return text == pair.first; });
    check(known != std::end(kLayerTypes), ErrorCode::kUnsupported, settings.where(),
          "\"layer_types\": expected \"full_attention\" or \"sliding_attention\", got \"", text,
          "\"");
    types.push_back(known->second);
  }
  for (int64_t i = 0; i < c->num_hidden_layers && texts.empty(); i++)
    types.push_back(slides(settings, family, *c, i) ? LayerType::kSliding : LayerType::kFull);
  if (window == 0 || (!contains(types, LayerType::kSliding) && !family.only_sliding_rotate)) return;
  c->sliding_window = window;
  for (size_t i = 0; i < types.size() && family.only_sliding_rotate; i++)
    c->rope_layers.push_back(types[i] == LayerType::kSliding);
  c->layer_types = std::move(types);
}

/// Reads the sizes of experts and the layers that have some.
void read_experts(const Settings& settings, const Family& family, DecoderConfig* c) {
  if (family.num_experts == 0) return;
  c->num_experts = size_of(settings, "num_experts", family.num_experts);
  c->num_experts_per_tok = size_of(settings, "num_experts_per_tok", family.num_experts_per_tok);
  if (c->num_experts_per_tok > c->num_experts)
    settings.fail_expected("num_experts_per_tok",
                           "at most the number of experts " + std::to_string(c->num_experts));
  c->moe_intermediate_size = size_of(
      settings, "moe_intermediate_size",
      family.moe_intermediate_size > 0 ? family.moe_intermediate_size : c->intermediate_size);
  if (family.shared_expert_intermediate_size > 0)
    c->shared_expert_intermediate_size = size_of(settings, "shared_expert_intermediate_size",
                                                 family.shared_expert_intermediate_size);
  c->norm_topk_prob = settings.flag_or("norm_topk_prob", family.norm_topk_prob);
  const int64_t step = settings.integer_or("decoder_sparse_step", 1, 1);
  const std::vector<int64_t> dense = settings.integers("mlp_only_layers");
  std::vector<bool> sparse;
  for (int64_t i = 0; i < c->num_hidden_layers; i++)
    sparse.push_back((i + 1) % step == 0 && !contains(dense, i));
  if (contains(sparse, false)) c->sparse_layers = std::move(sparse);
}

constexpr std::pair<const char*, HiddenAct> kHiddenActs[] = {
    {"silu", HiddenAct::kSilu},
    {"gelu", HiddenAct::kGelu},
    {"gelu_fast", HiddenAct::kGeluTanh},
    {"gelu_new", HiddenAct::kGeluTanh},
    {"gelu_pytorch_tanh", HiddenAct::kGeluTanh},
};

/// The activation of the MLP.
HiddenAct hidden_act_of(const Settings& settings, const Family& family) {
  const char* key = contains(family.keys, "hidden_act") ? "hidden_act" : "hidden_activation";
  if (!settings.has(key)) return family.hidden_act;
  const std::string text = settings.text(key);
  std::string known;
  for (const auto& [name, act] : kHiddenActs) {
    if (text == name) return act;
    known += (known.empty() ? "\"" : ", \"") + std::string(name) + "\"";
  }
  settings.fail_expected(key, known);
}

/// Sets the keys that not every family reads.
void set_family_keys(const DecoderConfig& c, const Family& family, Settings* s) {
  const auto set = [&](std::string_view key, const Setting& value) {
    for (const auto& [file, wick] : family.renamed_keys)
      if (wick == key) s->set(std::string(file), value);
    if (contains(family.keys, key)) s->set(std::string(key), value);
  };
  const auto or_null = [](double value) { return value > 0 ? Setting(value) : Setting(); };
  // transformers accepts this one only as an integer.
  const bool has_integer = c.query_pre_attn_scalar == double(int64_t(c.query_pre_attn_scalar));
  for (const auto& [name, act] : kHiddenActs)
    if (act == c.hidden_act) set("hidden_act", name), set("hidden_activation", name);
  set("hidden_size", c.hidden_size);
  set("intermediate_size", c.intermediate_size);
  set("num_hidden_layers", c.num_hidden_layers);
  set("num_attention_heads", c.num_attention_heads);
  set("max_position_embeddings", c.max_position_embeddings);
  set("vocab_size", c.vocab_size);
  set("num_key_value_heads", c.num_key_value_heads);
  set("multi_query", c.num_key_value_heads == 1);
  set("head_dim", c.head_dim);
  set("rms_norm_eps", c.rms_norm_eps);
  if (!c.is_causal) set("is_causal", false);
  set("attention_bias", c.attention_bias);
  set("mlp_bias", c.mlp_bias);
  set("num_experts", c.num_experts);
  set("num_experts_per_tok", c.num_experts_per_tok);
  set("moe_intermediate_size", c.moe_intermediate_size);
  set("shared_expert_intermediate_size", c.shared_expert_intermediate_size);
  set("norm_topk_prob", c.norm_topk_prob);
  Setting::List dense;
  for (size_t i = 0; i < c.sparse_layers.size(); i++)
    if (!c.sparse_layers[i]) dense.emplace_back(int64_t(i));
  set("mlp_only_layers", std::move(dense));
  set("use_sliding_window", c.sliding_window > 0);
  set("sliding_window", c.sliding_window > 0 ? Setting(c.sliding_window) : Setting());
  // Also where all are full: transformers would have some slide by default.
  Setting::List types;
  for (size_t i = 0; i < size_t(c.num_hidden_layers); i++)
    for (const auto& [name, known] : kLayerTypes)
      if (known == (c.layer_types.empty() ? LayerType::kFull : c.layer_types.at(i)))
        types.push_back(name);
  set("layer_types", std::move(types));
  if (!c.rope_layers.empty()) {
    Setting::List rotated;
    for (const bool rotates : c.rope_layers) rotated.emplace_back(int64_t(rotates));
    set("no_rope_layers", std::move(rotated));
  }
  const int64_t rotary_dim = c.rotary_dim > 0 ? c.rotary_dim : c.head_dim;
  set("partial_rotary_factor", double(rotary_dim) / double(c.head_dim));
  if (c.rope_scaling.type == RopeScalingType::kLongRope)
    set("original_max_position_embeddings", c.rope_scaling.original_max_position_embeddings);
  set("rope_ratio", c.rope_theta / family.rope_theta);
  set("qk_layernorm", c.qk_norm != QkNorm::kNone);
  set("use_parallel_residual", c.parallel_residual);
  set("parallel_attn", c.parallel_residual);
  const bool has_groups = c.parallel_mlp_norm || (c.num_key_value_heads != 1 &&
                                                  c.num_key_value_heads != c.num_attention_heads);
  set("new_decoder_architecture", has_groups);
  set("num_ln_in_parallel_attn",
      has_groups ? Setting(int64_t(1 + c.parallel_mlp_norm)) : Setting());
  set("alibi", c.alibi);
  set("clip_qkv", or_null(c.clip_qkv));
  set("embedding_multiplier", c.embedding_scale);
  set("residual_multiplier", c.residual_multiplier);
  set("logits_scaling", c.logits_scaling);
  set("attention_multiplier", or_null(c.attention_multiplier));
  set("query_pre_attn_scalar", has_integer && c.query_pre_attn_scalar > 0
                                   ? Setting(int64_t(c.query_pre_attn_scalar))
                                   : or_null(c.query_pre_attn_scalar));
  set("rope_local_base_freq", or_null(c.rope_local_base_freq));
  set("rope_parameters", rope_parameters_setting(c));
  set("attn_logit_softcapping", or_null(c.attn_logit_softcapping));
  set("final_logit_softcapping", or_null(c.final_logit_softcapping));
}

}  // namespace

const Family* find_family(std::string_view model_type) {
  for (const Family& family : kFamilies)
    if (family.model_type == model_type) return &family;
  return nullptr;
}

DecoderConfig decoder_config(const Settings& file) {
  const Settings settings = text_settings(file);
  const Family& family = family_of(settings);
  DecoderConfig c;
  const Settings read = read_by(family, settings, &c.ignored_keys);
  c.model_type = family.model_type;
  c.vocab_size = size_of(read, "vocab_size", family.vocab_size);
  c.hidden_size = size_of(read, "hidden_size");
  c.intermediate_size =
      size_of(read, "intermediate_size", family.intermediate_factor * c.hidden_size);
  c.num_hidden_layers = size_of(read, "num_hidden_layers", 0, DecoderConfig::kMostLayers);
  c.num_attention_heads = size_of(read, "num_attention_heads", family.num_attention_heads);
  c.num_key_value_heads = size_or_null(read, "num_key_value_heads", family.num_key_value_heads);
  // Falcon's config has the number of groups only in its newer architecture.
  const bool has_groups = read.flag_or("new_decoder_architecture", false);
  if (!has_groups && (read.has("multi_query") || contains(family.keys, "new_decoder_architecture")))
    c.num_key_value_heads = read.flag_or("multi_query", true) ? 1 : c.num_attention_heads;
  if (c.num_key_value_heads == 0) c.num_key_value_heads = c.num_attention_heads;
  const int64_t share = std::max<int64_t>(1, c.hidden_size / c.num_attention_heads);
  c.head_dim = size_of(read, "head_dim", family.head_dim > 0 ? family.head_dim : share);
  c.max_position_embeddings =
      size_of(read, "max_position_embeddings", family.max_position_embeddings);
  c.rms_norm_eps = positive(read, "rms_norm_eps", family.rms_norm_eps);
  c.hidden_act = hidden_act_of(read, family);
  read_rope(read, family, &c);
  c.rope_pairs = family.rope_pairs;
  read_rope_layers(read, family, &c);
  read_window(read, family, &c);
  c.initializer_range = positive(read, "initializer_range", 0.02);
  c.is_causal = read.flag_or("is_causal", true);
  c.attention_bias = read.flag_or("attention_bias", family.attention_bias);
  c.attention_output_bias = c.attention_bias && family.attention_output_bias;
  c.mlp_bias = read.flag_or("mlp_bias", family.mlp_bias);
  c.lm_head_bias = family.lm_head_bias;
  c.gated_mlp = family.gated_mlp;
  read_experts(read, family, &c);
  c.learned_positions = family.learned_positions;
  c.norm_type = family.norm_type;
  c.norm_places = family.norm_places;
  c.norm_adds_one = family.norm_adds_one;
  c.parallel_residual = read.flag_or("use_parallel_residual", family.parallel_residual);
  c.parallel_residual = has_groups || read.flag_or("parallel_attn", c.parallel_residual);
  const int64_t norms = read.integer_or("num_ln_in_parallel_attn", has_groups ? 2 : 1, 1);
  if (norms > (has_groups ? 2 : 1))
    read.fail_expected("num_ln_in_parallel_attn", has_groups ? "1 or 2" : "1");
  c.parallel_mlp_norm = norms == 2;
  c.alibi = read.flag_or("alibi", false);
  const bool may_lack_qk_norm = contains(family.keys, "qk_layernorm");
  if (!may_lack_qk_norm || read.flag_or("qk_layernorm", false)) c.qk_norm = family.qk_norm;
  c.clip_qkv = positive(read, "clip_qkv", 0);
  c.embedding_scale = positive(read, "embedding_multiplier", 1);
  if (family.scales_embedding) c.embedding_scale = std::sqrt(double(c.hidden_size));
  c.residual_multiplier = positive(read, "residual_multiplier", 1);
  c.logits_scaling = positive(read, "logits_scaling", 1);
  c.attention_multiplier =
      positive_or_null(read, "attention_multiplier", family.attention_multiplier);
  c.query_pre_attn_scalar = positive(read, "query_pre_attn_scalar", family.query_pre_attn_scalar);
  c.attn_logit_softcapping =
      positive_or_null(read, "attn_logit_softcapping", family.attn_logit_softcapping);
  c.final_logit_softcapping =
      positive_or_null(read, "final_logit_softcapping", family.final_logit_softcapping);
  c.tie_word_embeddings = read.flag_or("tie_word_embeddings", family.tie_word_embeddings);
  c.dtype = dtype_of(read);
  c.bos_token_ids = read.integers("bos_token_id");
  c.eos_token_ids = read.integers("eos_token_id");
  c.pad_token_id = pad_token_id(read, family, c.vocab_size);
  require_heads_fit(read, c, family);
  return c;
}

Settings to_settings(const DecoderConfig& c) {
  const Family* family = find_family(c.model_type);
  check(family, ErrorCode::kInvalidArgument, "config", "unknown model_type \"", c.model_type, "\"");
  check(c.rope_pairs == family->rope_pairs && c.rope_scaling.divisors.empty() &&
            c.norm_adds_one == family->norm_adds_one,
        ErrorCode::kUnsupported, "config",
        "expected weights as in folders of transformers, got those of a GGUF file");
  const bool output_bias = c.attention_bias && family->attention_output_bias;
  check(c.attention_output_bias == output_bias, ErrorCode::kUnsupported, "config",
        "attention_output_bias: expected ", output_bias ? "true" : "false", " in ",
        family->model_type, " models beside an attention_bias of ",
        c.attention_bias ? "true" : "false");
  check(!family->derives_head_dim || c.head_dim * c.num_attention_heads == c.hidden_size,
        ErrorCode::kUnsupported, "config", "head_dim: expected the share of ",
        c.num_attention_heads, " heads in a hidden_size of ", c.hidden_size, ", got ", c.head_dim);
  Settings s;
  s.set("architectures", Setting::List{family->architecture});
  s.set("model_type", c.model_type);
  s.set("vocab_size", c.vocab_size);
  s.set("hidden_size", c.hidden_size);
  s.set("intermediate_size", c.intermediate_size);
  s.set("num_hidden_layers", c.num_hidden_layers);
  s.set("num_attention_heads", c.num_attention_heads);
  s.set("num_key_value_heads", c.num_key_value_heads);
  if (!family->derives_head_dim) s.set("head_dim", c.head_dim);
  s.set("max_position_embeddings", c.max_position_embeddings);
  s.set("rms_norm_eps", c.rms_norm_eps);
  if (!contains(family->keys, "rope_ratio")) s.set("rope_theta", c.rope_theta);
  if (c.rope_scaling.type != RopeScalingType::kNone)
    s.set("rope_scaling", scaling_setting(c.rope_scaling));
  s.set("initializer_range", c.initializer_range);
  s.set("tie_word_embeddings", c.tie_word_embeddings);
  s.set("torch_dtype", dtype_text(c.dtype));
  s.set("bos_token_id", ids_setting(c.bos_token_ids));
  s.set("eos_token_id", ids_setting(c.eos_token_ids));
  // transformers makes no model whose padding is outside of the vocabulary, as its defaults may be.
  s.set("pad_token_id", c.pad_token_id ? Setting(*c.pad_token_id) : Setting());
  set_family_keys(c, *family, &s);
  return s;
}

}  // namespace wick
