#include "models/names/config_fields.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "models/decoder/layer_sizes.h"
#include "models/names/rope_settings.h"
#include "models/names/typed_settings.h"
#include "wick/abi/numbers.h"

namespace wick {
namespace {

using Config = DecoderConfig;

// ---- fields of one member

template <auto kMember>
void read_size(const ConfigField& field, const Settings& values, const Family&, Config& c) {
  c.*kMember = size_of(values, field.key, c.*kMember);
}
template <auto kMember>
void read_positive(const ConfigField& field, const Settings& values, const Family&, Config& c) {
  c.*kMember = positive(values, field.key, c.*kMember);
}
template <auto kMember>
void read_positive_or_null(const ConfigField& field, const Settings& values, const Family&,
                           Config& c) {
  c.*kMember = positive_or_null(values, field.key, c.*kMember);
}
template <auto kMember>
void read_flag(const ConfigField& field, const Settings& values, const Family&, Config& c) {
  c.*kMember = values.flag_or(field.key, c.*kMember);
}
template <auto kMember>
void read_ids(const ConfigField& field, const Settings& values, const Family&, Config& c) {
  c.*kMember = values.integers(field.key);
}

template <auto kMember>
OptionalSetting write(const Config& c, const Family&) {
  return Setting(c.*kMember);
}
template <auto kMember>
OptionalSetting write_or_null(const Config& c, const Family&) {
  return c.*kMember > 0 ? Setting(c.*kMember) : Setting();
}
/// One id, a list, or null.
template <auto kMember>
OptionalSetting write_ids(const Config& c, const Family&) {
  const std::vector<int64_t>& ids = c.*kMember;
  if (ids.empty()) return Setting();
  return ids.size() == 1 ? Setting(ids[0]) : Setting(Setting::List(ids.begin(), ids.end()));
}

OptionalSetting required_size(const GgufKey& key, const GgufFile& file) {
  return Setting(file.size(key.key));
}
/// A file has 0 for a factor that is off.
OptionalSetting null_for_0(const GgufKey& key, const GgufFile& file) {
  return file.real_or(key.key, 0) == 0 ? Setting() : *file.find(key.key);
}
OptionalSetting own_value(const GgufKey& key, const GgufFile& file) {
  const Setting* const value = file.find(key.key);
  return value ? OptionalSetting(*value) : std::nullopt;
}

OptionalSetting not_written(const Config&, const Family&) { return {}; }
OptionalSetting not_read(const GgufKey&, const GgufFile&) { return {}; }

bool lists(const Family& family, std::string_view key) { return contains(family.keys, key); }
/// Whether the family has the key under a name of its own.
bool renames(const Family& family, std::string_view key) {
  return !key.empty() && std::any_of(family.renamed_keys.begin(), family.renamed_keys.end(),
                                     [key](const Rename& rename) { return rename.wick == key; });
}
bool is_latent(const Family& family) { return family.defaults.kv_lora_rank > 0; }

constexpr int64_t kUnlimitedPositions = 1 << 20;

// ---- heads

void read_key_value_heads(const ConfigField& field, const Settings& values, const Family& family,
                          Config& c) {
  c.num_key_value_heads = size_or_null(values, field.key, c.num_key_value_heads);
  // Falcon's config has the number of groups only in its newer architecture.
  const bool has_groups = values.flag_or("new_decoder_architecture", false);
  if (!has_groups && (values.has("multi_query") || lists(family, "new_decoder_architecture")))
    c.num_key_value_heads = values.flag_or("multi_query", true) ? 1 : c.num_attention_heads;
  if (c.num_key_value_heads == 0) c.num_key_value_heads = c.num_attention_heads;
}
bool has_groups(const Config& c) {
  return c.parallel_mlp_norm ||
         (c.num_key_value_heads != 1 && c.num_key_value_heads != c.num_attention_heads);
}

/// A list, with 0 for layers without keys.
OptionalSetting key_value_heads_of_layers(const Config& c) {
  Setting::List heads;
  for (const LayerType type : c.layer_types)
    heads.emplace_back(type == LayerType::kMamba ? 0 : key_value_heads_of(c, type));
  return Setting(std::move(heads));
}

int64_t share_of_heads(const GgufFile& file) {
  return std::max<int64_t>(1, file.size("embedding_length") / file.size("attention.head_count"));
}
int64_t head_dim_of(const GgufFile& file) {
  if (file.has("attention.key_length_mla")) return file.size("attention.key_length_mla");
  return file.size_or("attention.key_length", share_of_heads(file));
}
// Of layers with a window, in files whose full layers have other heads.
constexpr std::string_view kWindowKeyLength = "attention.key_length_swa",
                           kWindowValueLength = "attention.value_length_swa";

OptionalSetting gguf_head_dim(const GgufKey&, const GgufFile& file) {
  const int64_t dim = head_dim_of(file);
  if (is_latent(file.family)) return Setting(dim);
  const char* const of_values = "attention.value_length";
  check(file.size_or(of_values, dim) == dim, ErrorCode::kUnsupported, file.metadata.where(), "\"",
        file.name(of_values), "\": expected ", dim, " as for keys, got ",
        file.size_or(of_values, dim));
  if (!has_gguf_key(file.family, kWindowKeyLength)) return Setting(dim);
  const int64_t keys = file.size(kWindowKeyLength), values = file.size_or(kWindowValueLength, keys);
  check(values == keys, ErrorCode::kUnsupported, file.metadata.where(), "\"",
        file.name(kWindowValueLength), "\": expected ", keys, " as for keys, got ", values);
  return Setting(keys);
}
OptionalSetting write_gguf_head_dim(const Config& c, const Family&) { return Setting(c.head_dim); }

// ---- latent attention

template <auto kMember>
void read_latent_size(const ConfigField& field, const Settings& values, const Family& family,
                      Config& c) {
  if (is_latent(family)) c.*kMember = size_of(values, field.key, c.*kMember);
}

/// The last of the sizes, from which others follow.
void read_latent_value_dim(const ConfigField& field, const Settings& values, const Family& family,
                           Config& c) {
  if (!is_latent(family)) return;
  c.v_head_dim = size_of(values, field.key, c.v_head_dim);
  if (c.qk_rope_head_dim % 2 != 0) values.fail_expected("qk_rope_head_dim", "an even number");
  c.num_key_value_heads = c.num_attention_heads;
  c.head_dim = c.qk_nope_head_dim + c.qk_rope_head_dim;
  c.rotary_dim = c.qk_rope_head_dim;
  for (const int64_t dim : {c.head_dim, c.qk_nope_head_dim + c.v_head_dim})
    check(c.num_attention_heads * dim <= kLargestSize, ErrorCode::kFormat, values.where(),
          c.num_attention_heads, " heads of ", dim, " exceed ", kLargestSize);
}

constexpr std::string_view kKeyLength = "attention.key_length_mla",
                           kValueLength = "attention.value_length_mla",
                           kRopeLength = "rope.dimension_count";
/// Files that keep keys and values apart have their sizes under the common keys.
template <const std::string_view& kKey>
int64_t latent_length(const GgufFile& file) {
  const std::string_view common = kKey.substr(0, kKey.size() - std::string_view("_mla").size());
  return file.has(kKey) ? file.size(kKey) : file.size(common);
}

// ---- rope

constexpr double kGgufTheta = 10000;  // of files that do not say it

void read_rope_parameters(const ConfigField& field, const Settings& values, const Family& family,
                          Config& c) {
  // transformers 5 has a group, or one by type of layer if sliding ones have their own;
  // transformers 4 "rope_theta", "rope_local_base_freq" and "rope_scaling".
  const Settings* group = values.group(field.key);
  if (group && (group->has("full_attention") || group->has("sliding_attention"))) {
    if (const Settings* sliding = group->group("sliding_attention")) read_local_rope(*sliding, &c);
    group = group->group("full_attention");
  }
  if (!group || group->entries().empty()) {
    if (family.proportional_rope > 0 && field.key == "rope_parameters")
      set_proportional_rope(values, family.proportional_rope, &c);
    return;
  }
  const int64_t trained =
      values.integer_or("original_max_position_embeddings", c.max_position_embeddings, 1);
  read_rope_group(*group, family, trained, &c);
}

OptionalSetting gguf_local_theta(const GgufKey& key, const GgufFile& file) {
  if (file.has(key.key)) return *file.find(key.key);
  // Where both have one default, files may leave the second out.
  const Config& defaults = file.family.defaults;
  if (defaults.rope_local_base_freq != defaults.rope_theta) return {};
  return Setting(file.real_or("rope.freq_base", kGgufTheta));
}

/// Reads the layers that rope rotates: "no_rope_layers" has 1 for each, despite its name.
void read_rope_layers(const ConfigField& field, const Settings& values, const Family& family,
                      Config& c) {
  if (family.no_rope_layer_interval == 0) return;
  const std::vector<int64_t> listed = values.integers(field.key);
  if (!listed.empty() && int64_t(listed.size()) < c.num_hidden_layers)
    values.fail_expected(field.key,
                         "a list of " + std::to_string(c.num_hidden_layers) + " integers");
  const int64_t interval =
      values.integer_or("no_rope_layer_interval", family.no_rope_layer_interval, 1);
  for (int64_t i = 0; i < c.num_hidden_layers; i++)
    c.rope_layers.push_back(listed.empty() ? (i + 1) % interval != 0 : listed[size_t(i)] != 0);
}
OptionalSetting write_rope_layers(const Config& c, const Family&) {
  if (c.rope_layers.empty()) return {};
  Setting::List rotated;
  for (const bool rotates : c.rope_layers) rotated.emplace_back(int64_t(rotates));
  return Setting(std::move(rotated));
}

// ---- windows

constexpr std::string_view kPattern = "attention.sliding_window_pattern";
constexpr LayerName kLayerNames[] = {{"full_attention", LayerType::kFull},
                                     {"sliding_attention", LayerType::kSliding}};

/// The kinds of layers that the family's lists name, its own first.
std::vector<LayerName> layer_names(const Family& family) {
  std::vector<LayerName> names;
  for (const LayerName& known : family.layer_names)
    if (!known.name.empty()) names.push_back(known);
  names.insert(names.end(), std::begin(kLayerNames), std::end(kLayerNames));
  return names;
}
/// The name that the family's lists have for a kind of layer.
std::string name_of_layer(const Family& family, LayerType type) {
  for (const LayerName& known : layer_names(family))
    if (known.type == type) return std::string(known.name);
  return "";
}
LayerType layer_type(const Settings& values, const char* key, const Family& family,
                     const std::string& name) {
  std::string expected;
  for (const LayerName& known : layer_names(family)) {
    if (known.name == name) return known.type;
    expected += (expected.empty() ? "\"" : " or \"") + std::string(known.name) + "\"";
  }
  fail(ErrorCode::kUnsupported, values.where(), "\"", key, "\": expected ", expected, ", got \"",
       name, "\"");
}

bool slides(const Settings& values, const Family& family, const Config& c, int64_t layer) {
  switch (family.sliding) {
    case Sliding::kNever:
      return false;
    case Sliding::kEvery:
      return true;
    case Sliding::kFromLayer:
      return layer >= values.integer_or("max_window_layers", 28);
    case Sliding::kPattern:
      return (layer + 1) %
                 values.integer_or("sliding_window_pattern", family.sliding_window_pattern, 1) !=
             0;
    case Sliding::kUnrotated:
      return !c.rope_layers[size_t(layer)];
    case Sliding::kRotated:
      return c.rope_layers[size_t(layer)];
    case Sliding::kEven:
      return layer % 2 == 0 && layer < values.integer_or("max_window_layers", 28);
  }
  return false;
}

/// The kind of layers that keep a state in the family; kFull if there is no such kind.
LayerType state_layers(const Family& family) {
  if (family.layer_type != LayerType::kFull) return family.layer_type;
  const LayerType type = family.layer_names[0].type;
  return type == LayerType::kSliding ? LayerType::kFull : type;
}

/// Whether a layer attends in a family that says so by an interval or a list of indices.
bool attends(const Settings& values, const Family& family, int64_t layer) {
  if (lists(family, "full_attention_interval"))
    return (layer + 1) % values.integer_or("full_attention_interval", 4, 1) == 0;
  return !values.has("full_attn_idxs") || contains(values.integers("full_attn_idxs"), layer);
}

std::vector<LayerType> layer_types_of(const Settings& values, const Family& family,
                                      const Config& c) {
  const std::vector<std::string> texts = values.texts("layer_types");
  if (values.has("layer_types") && int64_t(texts.size()) != c.num_hidden_layers)
    values.fail_expected("layer_types",
                         "a list of " + std::to_string(c.num_hidden_layers) + " strings");
  std::vector<LayerType> types;
  for (const std::string& text : texts)
    types.push_back(layer_type(values, "layer_types", family, text));
  const std::vector<std::string> repeated = values.texts("block_types");
  if (lists(family, "block_types") && repeated.empty())
    values.fail_expected("block_types", "a list of strings");
  for (int64_t i = 0; i < c.num_hidden_layers && !repeated.empty() && texts.empty(); i++)
    types.push_back(
        layer_type(values, "block_types", family, repeated[size_t(i) % repeated.size()]));
  if (!types.empty()) return types;
  for (int64_t i = 0; i < c.num_hidden_layers; i++)
    types.push_back(slides(values, family, c, i)            ? LayerType::kSliding
                    : family.layer_type != LayerType::kFull ? family.layer_type
                    : attends(values, family, i)            ? LayerType::kFull
                                                            : state_layers(family));
  return types;
}

/// The first layer of the type in a file that lists the layers that slide; 0 without such a one.
int64_t layer_of_type(const GgufFile& file, LayerType type) {
  const Setting* const value = file.find(kPattern);
  const auto* const flags = value ? std::get_if<Setting::List>(&value->value) : nullptr;
  for (size_t i = 0; flags && i < flags->size(); i++) {
    const bool* const slides = std::get_if<bool>(&(*flags)[i].value);
    if (slides && *slides == (type == LayerType::kSliding)) return int64_t(i);
  }
  return 0;
}

/// The groups of "per_layer_config" by their layers' numbers; nullptr for layers without one.
std::vector<const Settings*> groups_of_layers(const Settings& listed, int64_t layers) {
  std::vector<const Settings*> groups(size_t(layers), nullptr);
  for (const auto& [name, value] : listed.entries()) {
    const int64_t layer = std::strtoll(name.c_str(), nullptr, 10);
    const auto* const group = std::get_if<Settings>(&value.value);
    if (!group || layer < 0 || layer >= layers || name != std::to_string(layer))
      listed.fail_expected(name, "an object under the number of a layer");
    for (const auto& [key, size] : group->entries())
      if (key != "head_dim" && key != "num_key_value_heads")
        group->fail_expected(key, "only \"head_dim\" and \"num_key_value_heads\"");
    groups[size_t(layer)] = group;
  }
  return groups;
}

constexpr int64_t kLargestHead = 1 << 16;  // rope has a divisor for each pair

/// Full layers' sizes of heads: "global_head_dim" and "num_global_key_value_heads", or a group of
/// "head_dim" and "num_key_value_heads" for each full layer, which transformers writes.
void read_full_heads(const ConfigField& field, const Settings& values, const Family& family,
                     Config& c) {
  if (!lists(family, field.key)) return;
  const bool equal = values.flag_or("attention_k_eq_v", c.attention_k_eq_v);
  c.full_head_dim = size_of(values, "global_head_dim", c.full_head_dim, kLargestHead);
  c.full_key_value_heads = equal ? size_or_null(values, "num_global_key_value_heads", 0) : 0;
  if (const Settings* const listed = values.group(field.key)) {
    const std::vector<LayerType> types = layer_types_of(values, family, c);
    const std::vector<const Settings*> groups = groups_of_layers(*listed, c.num_hidden_layers);
    const auto size_of_full = [&](const char* key, int64_t otherwise, int64_t largest) {
      int64_t size = 0;
      for (size_t i = 0; i < types.size(); i++) {
        const bool is_full = types[i] == LayerType::kFull;
        const int64_t own = groups[i] ? size_of(*groups[i], key, otherwise, largest) : otherwise;
        if (is_full && size == 0) size = own;
        if (own != (is_full ? size : otherwise))
          values.fail_expected(
              field.key, "one \"" + std::string(key) + "\" of all full layers, and none of others");
      }
      return size > 0 ? size : otherwise;
    };
    c.full_head_dim = size_of_full("head_dim", c.head_dim, kLargestHead);
    c.full_key_value_heads =
        size_of_full("num_key_value_heads", c.num_key_value_heads, kLargestSize);
    if (!equal && c.full_key_value_heads != c.num_key_value_heads)
      values.fail_expected("attention_k_eq_v", "true beside full layers' number of heads");
  }
  if (c.full_head_dim % 2 != 0) values.fail_expected("global_head_dim", "an even number");
  if (c.full_key_value_heads == c.num_key_value_heads) c.full_key_value_heads = 0;
  if (c.full_key_value_heads > 0 && c.num_attention_heads % c.full_key_value_heads != 0)
    values.fail_expected("num_global_key_value_heads", "a divisor of num_attention_heads " +
                                                           std::to_string(c.num_attention_heads));
}

/// Reads the number of layers that share keys and values; checks the types of the others.
void read_shared_layers(const ConfigField& field, const Settings& values, const Family& family,
                        Config& c) {
  if (!lists(family, field.key)) return;
  const std::vector<LayerType> types = layer_types_of(values, family, c);
  if (contains(types, LayerType::kSliding) && c.sliding_window == 0)
    values.fail_expected("sliding_window", "a window of the layers that slide");
  if (types.back() != LayerType::kFull)
    values.fail_expected("layer_types", "\"full_attention\" as the last");
  c.num_kv_shared_layers = values.integer_or(field.key, 0, 0);
  const int64_t own = c.num_hidden_layers - c.num_kv_shared_layers;
  for (const LayerType type : types)
    if (own < 1 || !contains(std::span(types).first(size_t(own)), type))
      values.fail_expected(field.key, "layers of each type before those that share their keys");
}

constexpr std::string_view kMlpSize = "feed_forward_length";

/// Whether MLPs of layers that share keys and values are wider, in a file that lists their sizes.
OptionalSetting gguf_double_wide_mlp(const GgufKey&, const GgufFile& file) {
  const Setting* const sizes = file.find(kMlpSize);
  if (!contains(file.family.gguf_layer_lists, kMlpSize) || !sizes ||
      !std::holds_alternative<Setting::List>(sizes->value))
    return {};
  const std::vector<int64_t> listed = file.metadata.integers(file.name(kMlpSize));
  const int64_t layers = int64_t(listed.size()),
                shared = file.metadata.integer_or(file.name("attention.shared_kv_layers"), 0, 0);
  check(layers > 0 && layers == file.size("block_count"), ErrorCode::kFormat, file.metadata.where(),
        "\"", file.name(kMlpSize), "\": expected a number for each of ", file.size("block_count"),
        " layers, got ", layers);
  const int64_t first = listed.front();
  const bool wide = listed.back() != first;
  for (int64_t i = 0; i < layers; i++) {
    const int64_t expected = wide && i >= layers - shared ? 2 * first : first;
    check(listed[size_t(i)] == expected, ErrorCode::kUnsupported, file.metadata.where(), "\"",
          file.name(kMlpSize), "\": expected ", expected, " for layer ", i, ", got ",
          listed[size_t(i)]);
  }
  return Setting(wide);
}
OptionalSetting write_gguf_intermediate_size(const Config& c, const Family&) {
  if (!c.use_double_wide_mlp) return Setting(c.intermediate_size);
  Setting::List sizes;
  for (int64_t i = 0; i < c.num_hidden_layers; i++) sizes.emplace_back(intermediate_size_of(c, i));
  return Setting(std::move(sizes));
}

/// Reads the window and the layers that it limits.
void read_window(const ConfigField& field, const Settings& values, const Family& family,
                 Config& c) {
  const bool off =
      lists(family, "use_sliding_window") && !values.flag_or("use_sliding_window", false);
  // transformers writes a window of 0 for Qwen 2 with experts if it is off.
  const int64_t window = off ? 0 : size_or_null(values, field.key, c.sliding_window);
  c.sliding_window = 0;
  std::vector<LayerType> types = layer_types_of(values, family, c);
  const bool have_window =
      window > 0 && (contains(types, LayerType::kSliding) || family.only_sliding_rotate);
  const bool differ = std::any_of(types.begin(), types.end(), [](LayerType type) {
    return type != LayerType::kFull && type != LayerType::kSliding;
  });
  if (!have_window && differ)
    std::replace(types.begin(), types.end(), LayerType::kSliding, LayerType::kFull);
  if (!have_window && !differ) return;
  if (have_window) c.sliding_window = window;
  for (size_t i = 0; i < types.size() && have_window && family.only_sliding_rotate; i++)
    c.rope_layers.push_back(types[i] == LayerType::kSliding);
  c.layer_types = std::move(types);
}
/// Files of chunks leave their size out, and have 0 for models whose layers are all full.
OptionalSetting gguf_window(const GgufKey& key, const GgufFile& file) {
  if (!file.family.defaults.chunked_windows) return null_for_0(key, file);
  check(!file.has(key.key), ErrorCode::kUnsupported, file.metadata.where(), "\"",
        file.name(key.key), "\": expected chunks of ", file.family.defaults.sliding_window,
        " positions, which a file has without this key");
  return {};
}
OptionalSetting write_gguf_window(const Config& c, const Family& family) {
  if (c.sliding_window == 0 && has_gguf_key(family, kPattern)) return {};
  return Setting(c.sliding_window);  // 0, too, for readers have a default
}

/// Also where all are full: transformers would have some slide by default.
OptionalSetting write_layer_types(const Config& c, const Family& family) {
  Setting::List types;
  for (size_t i = 0; i < size_t(c.num_hidden_layers); i++) {
    const LayerType type = c.layer_types.empty() ? LayerType::kFull : c.layer_types.at(i);
    types.push_back(name_of_layer(family, type));
  }
  return Setting(std::move(types));
}
/// Layers without keys are of the family's own kind.
OptionalSetting gguf_attention_layers(const GgufFile& file) {
  const std::string key = file.name("attention.head_count_kv");
  const Setting* const value = file.metadata.find(key);
  if (!value || !std::holds_alternative<Setting::List>(value->value)) return {};
  Setting::List types;
  for (const int64_t heads : file.metadata.integers(key))
    types.push_back(
        name_of_layer(file.family, heads > 0 ? LayerType::kFull : file.family.layer_type));
  return Setting(std::move(types));
}
/// A GGUF file's list says whether each layer slides.
OptionalSetting gguf_layer_types(const GgufKey& key, const GgufFile& file) {
  if (file.family.layer_type != LayerType::kFull) return gguf_attention_layers(file);
  const Setting* const value = file.find(key.key);
  const auto* const flags = value ? std::get_if<Setting::List>(&value->value) : nullptr;
  if (!flags) return {};
  Setting::List types;
  for (const Setting& flag : *flags) {
    const bool* const slides = std::get_if<bool>(&flag.value);
    types.push_back(slides && *slides ? "sliding_attention" : "full_attention");
  }
  return Setting(std::move(types));
}
OptionalSetting write_gguf_layer_types(const Config& c, const Family& family) {
  if (!has_gguf_key(family, kPattern) || c.layer_types.empty()) return {};
  Setting::List slide;
  for (const LayerType type : c.layer_types) slide.emplace_back(type == LayerType::kSliding);
  return Setting(std::move(slide));
}

// Files list the layers that keep a state, or the key-value heads of each: 0 if it does not attend.

Setting layer_names_of(const Family& family, const std::vector<bool>& attend) {
  Setting::List types;
  for (const bool attends : attend)
    types.push_back(attends ? "full_attention" : std::string(family.layer_names[0].name));
  return Setting(std::move(types));
}
/// The list under a file's key, by layer; empty without one.
Setting::List list_of(const GgufKey& key, const GgufFile& file) {
  const Setting* const value = file.metadata.find(file.name(key.key));
  const auto* const list = value ? std::get_if<Setting::List>(&value->value) : nullptr;
  return list ? *list : Setting::List();
}
OptionalSetting gguf_layers_of_heads(const GgufKey& key, const GgufFile& file) {
  std::vector<bool> attend;
  for (const Setting& heads : list_of(key, file)) {
    const auto* const count = std::get_if<int64_t>(&heads.value);
    attend.push_back(count && *count > 0);
  }
  if (!file.family.gguf_heads_by_layer || attend.empty()) return {};
  return layer_names_of(file.family, attend);
}
OptionalSetting gguf_state_layers(const GgufKey& key, const GgufFile& file) {
  std::vector<bool> attend;
  for (const Setting& flag : list_of(key, file)) {
    const bool* const keeps = std::get_if<bool>(&flag.value);
    attend.push_back(!keeps || !*keeps);
  }
  return attend.empty() ? OptionalSetting() : layer_names_of(file.family, attend);
}
OptionalSetting write_gguf_state_layers(const Config& c, const Family& family) {
  if (state_layers(family) != LayerType::kDelta) return {};
  Setting::List keep;
  for (const LayerType type : c.layer_types) keep.emplace_back(type == LayerType::kDelta);
  return Setting(std::move(keep));
}
OptionalSetting write_gguf_heads(const Config& c, const Family& family) {
  if (is_latent(family)) return Setting(int64_t{1});
  if (c.num_key_value_heads == c.num_attention_heads &&
      contains(family.gguf_implied, "attention.head_count_kv"))
    return {};
  if (contains(c.layer_types, LayerType::kMamba) || c.full_key_value_heads > 0)
    return key_value_heads_of_layers(c);
  if (!family.gguf_heads_by_layer) return Setting(c.num_key_value_heads);
  Setting::List heads;
  for (size_t i = 0; i < size_t(c.num_hidden_layers); i++)
    heads.emplace_back(c.layer_types.empty() || c.layer_types[i] == LayerType::kFull
                           ? c.num_key_value_heads
                           : int64_t{0});
  return Setting(std::move(heads));
}
/// The interval of the layers that attend; without a regular one 4, the readers' default.
OptionalSetting write_gguf_interval(const Config& c, const Family& family) {
  if (!lists(family, "full_attention_interval")) return {};
  for (int64_t interval = 1; interval <= c.num_hidden_layers + 1; interval++) {
    bool fits = true;
    for (size_t i = 0; i < c.layer_types.size(); i++)
      fits = fits && (c.layer_types[i] == LayerType::kFull) == ((int64_t(i) + 1) % interval == 0);
    if (fits) return Setting(interval);
  }
  return Setting(int64_t{4});
}

/// A member in the files of families whose layers of this type keep a state.
template <LayerType kType, auto kMember>
OptionalSetting write_gguf_of(const Config& c, const Family& family) {
  return state_layers(family) == kType ? OptionalSetting(c.*kMember) : std::nullopt;
}

/// A key of files whose family has layers of this type.
template <LayerType kType>
OptionalSetting read_gguf_of(const GgufKey& key, const GgufFile& file) {
  return state_layers(file.family) == kType ? own_value(key, file) : std::nullopt;
}
OptionalSetting write_gguf_conv_width(const Config& c, const Family& family) {
  const LayerType type = state_layers(family);
  if (type != LayerType::kDelta && type != LayerType::kMamba) return {};
  return Setting(c.conv1d_width);
}

bool lists_recurrent(const Config& c) { return contains(c.layer_types, LayerType::kRecurrent); }

// ---- Mamba layers

template <auto kMember>
void read_mamba_size(const ConfigField& field, const Settings& values, const Family& family,
                     Config& c) {
  if (family.defaults.*kMember == 0) return;
  c.*kMember = size_of(values, field.key, c.*kMember);
  if (c.hidden_act != HiddenAct::kSilu) values.fail_expected("hidden_act", "\"silu\"");
}
/// The size of a head, or "auto": the inner size's share.
void read_mamba_head_dim(const ConfigField& field, const Settings& values, const Family& family,
                         Config& c) {
  if (family.defaults.mamba_num_heads == 0) return;
  const int64_t inner =
      values.has("mamba_d_ssm")
          ? size_of(values, "mamba_d_ssm")
          : size_of(values, "mamba_expand", 2, kLargestSize / c.hidden_size) * c.hidden_size;
  const bool given = values.has(field.key) &&
                     !(std::holds_alternative<std::string>(values.find(field.key)->value) &&
                       values.text(field.key) == "auto");
  const bool derived = values.has("mamba_d_ssm") || c.mamba_head_dim == 0;
  const int64_t dim = given     ? size_of(values, field.key)
                      : derived ? inner / c.mamba_num_heads
                                : c.mamba_head_dim;
  check(dim * c.mamba_num_heads == inner, ErrorCode::kFormat, values.where(), "\"", field.key,
        "\": expected ", c.mamba_num_heads, " heads of an inner size of ", inner, ", got ", dim);
  c.mamba_head_dim = dim;
}
OptionalSetting write_mamba_inner_size(const Config& c, const Family&) {
  return Setting(c.mamba_num_heads * c.mamba_head_dim);
}
constexpr const char* kRealByName = "__float__";  // transformers 5 writes infinity so

double limit_of(const Settings& values, std::string_view key, const Setting& limit) {
  if (const auto* const real = std::get_if<double>(&limit.value)) return *real;
  if (const auto* const integer = std::get_if<int64_t>(&limit.value)) return double(*integer);
  const auto* const named = std::get_if<Settings>(&limit.value);
  if (named && named->text_or(kRealByName, "") == "Infinity")
    return std::numeric_limits<double>::infinity();
  values.fail_expected(key, "two numbers");
}
void read_time_step_limit(const ConfigField& field, const Settings& values, const Family&,
                          Config& c) {
  if (!values.has(field.key)) return;
  const auto* const list = std::get_if<Setting::List>(&values.find(field.key)->value);
  if (!list || list->size() != 2) values.fail_expected(field.key, "two numbers");
  for (size_t i = 0; i < 2; i++) c.time_step_limit[i] = limit_of(values, field.key, (*list)[i]);
  if (!(c.time_step_limit[0] >= 0 && c.time_step_limit[0] <= c.time_step_limit[1]))
    values.fail_expected(field.key, "two numbers from 0 on, the least first");
}
OptionalSetting write_time_step_limit(const Config& c, const Family&) {
  Setting greatest = c.time_step_limit[1];
  if (!std::isfinite(c.time_step_limit[1])) {
    Settings named;
    named.set(kRealByName, "Infinity");
    greatest = named;
  }
  return Setting(Setting::List{c.time_step_limit[0], greatest});
}
OptionalSetting has_mamba_bias(const GgufFile& file, std::string_view ending) {
  if (file.family.defaults.mamba_num_heads == 0) return {};
  for (const auto& [name, info] : file.tensors.tensors)
    if (name.ends_with(ending)) return Setting(true);
  return Setting(false);
}

/// Whether every pattern-th layer is full and all others slide.
bool has_pattern(const std::vector<LayerType>& types, int64_t pattern) {
  for (size_t i = 0; i < types.size(); i++)
    if ((types[i] == LayerType::kSliding) != ((int64_t(i) + 1) % pattern != 0)) return false;
  return true;
}
OptionalSetting gguf_pattern(const GgufKey& key, const GgufFile& file) {
  const Setting* const value = file.find(key.key);
  if (!value || std::holds_alternative<Setting::List>(value->value)) return {};
  return *value;
}
/// A pattern that is not the family's.
OptionalSetting write_gguf_pattern(const Config& c, const Family& family) {
  if (!lists(family, "sliding_window_pattern") || has_gguf_key(family, kPattern) ||
      has_pattern(c.layer_types, family.sliding_window_pattern))
    return {};
  for (int64_t pattern = 1; pattern <= c.num_hidden_layers + 1; pattern++)
    if (has_pattern(c.layer_types, pattern)) return Setting(pattern);
  return {};
}

// ---- gated delta nets

template <auto kMember>
void read_delta_size(const ConfigField& field, const Settings& values, const Family& family,
                     Config& c) {
  if (state_layers(family) == LayerType::kDelta)
    c.*kMember = size_of(values, field.key, c.*kMember);
}
void read_value_heads(const ConfigField& field, const Settings& values, const Family& family,
                      Config& c) {
  if (state_layers(family) != LayerType::kDelta) return;
  c.linear_num_value_heads = size_of(values, field.key, c.linear_num_value_heads);
  if (c.linear_num_value_heads % c.linear_num_key_heads != 0)
    values.fail_expected(
        field.key, "a multiple of linear_num_key_heads " + std::to_string(c.linear_num_key_heads));
  const HiddenAct act = c.hidden_act;
  check(act == HiddenAct::kSilu || !contains(c.layer_types, LayerType::kDelta),
        ErrorCode::kUnsupported, values.where(),
        "\"hidden_act\": expected \"silu\" beside layers of linear attention");
}
void read_value_head_dim(const ConfigField& field, const Settings& values, const Family& family,
                         Config& c) {
  read_delta_size<&Config::linear_value_head_dim>(field, values, family, c);
  if (state_layers(family) != LayerType::kDelta) return;
  const auto fits = [](int64_t heads, int64_t dim) { return heads <= kLargestSize / 4 / dim; };
  if (!fits(c.linear_num_key_heads, c.linear_key_head_dim) ||
      !fits(c.linear_num_value_heads, c.linear_value_head_dim))
    values.fail_expected(field.key, "heads of a smaller size");
}

// ---- MLPs

/// Reads the size that LFM2's MLPs have: by default two thirds of the key's, scaled and rounded up.
void read_adjusted_size(const ConfigField& field, const Settings& values, const Family& family,
                        Config& c) {
  if (!lists(family, field.key)) return;
  c.intermediate_size = size_of(values, "block_ff_dim", c.intermediate_size);
  if (!values.flag_or(field.key, true)) return;
  constexpr std::string_view kMultiplier = "block_ffn_dim_multiplier";
  double size = double(2 * c.intermediate_size / 3);
  if (values.has(kMultiplier) || !is_listed(values, kMultiplier)) {
    const double multiple = double(size_of(values, "block_multiple_of", 256));
    size = std::floor(positive(values, kMultiplier, 1) * size);
    size = multiple * std::ceil(size / multiple);
  }
  if (size < 1 || size > double(kLargestSize))
    values.fail_expected(field.key, "false, or a size of MLPs from 1 to " +
                                        std::to_string(kLargestSize) + " by the other keys");
  c.intermediate_size = int64_t(size);
}

// ---- experts

bool has_experts(const Family& family) { return family.defaults.num_experts > 0; }
constexpr std::string_view kOptionalExperts = "enable_moe_block";

/// Null for models of families with that switch whose layers have no experts.
template <auto kMember>
OptionalSetting write_of_experts(const Config& c, const Family& family) {
  if (lists(family, kOptionalExperts) && c.num_experts == 0) return Setting();
  return Setting(c.*kMember);
}

OptionalSetting gguf_experts(const GgufKey& key, const GgufFile& file) {
  // Files of latent attention whose layers have no experts say nothing of them.
  if (!has_experts(file.family) || is_latent(file.family)) return own_value(key, file);
  if (file.family.may_lack_experts && !(file.has(key.key) && file.real(key.key) != 0))
    return Setting(0);
  return Setting(file.size(key.key));
}
OptionalSetting gguf_experts_per_token(const GgufKey& key, const GgufFile& file) {
  if (file.family.may_lack_experts || is_latent(file.family)) return own_value(key, file);
  return has_experts(file.family) ? Setting(file.size(key.key)) : own_value(key, file);
}
// Files may leave out the sizes of experts.
OptionalSetting gguf_expert_size(const GgufKey& key, const GgufFile& file) {
  if (file.has(key.key) || file.family.defaults.moe_intermediate_size == 0)
    return own_value(key, file);
  return Setting(file.size("feed_forward_length") / file.size("expert_used_count"));
}
OptionalSetting gguf_shared_expert_size(const GgufKey& key, const GgufFile& file) {
  if (lists(file.family, "shared_intermediate_size")) return {};
  if (file.family.n_shared_experts > 0) return {};  // their number says it
  if (file.has(key.key) || file.family.defaults.shared_expert_intermediate_size == 0)
    return own_value(key, file);
  return Setting(file.size("feed_forward_length"));
}

constexpr int64_t kDefaultSharedSize = 1024;  // transformers' default
OptionalSetting gguf_shared_size(const GgufKey& key, const GgufFile& file) {
  if (!lists(file.family, "shared_intermediate_size")) return {};
  return own_value(key, file);
}

void read_experts_per_token(const ConfigField& field, const Settings& values, const Family&,
                            Config& c) {
  if (c.num_experts == 0) return;
  c.num_experts_per_tok = size_of(values, field.key, c.num_experts_per_tok);
  if (c.num_experts_per_tok > c.num_experts)
    values.fail_expected(field.key,
                         "at most the number of experts " + std::to_string(c.num_experts));
}
void read_expert_size(const ConfigField& field, const Settings& values, const Family&, Config& c) {
  if (c.num_experts == 0) return;
  const int64_t size = c.moe_intermediate_size;
  c.moe_intermediate_size = size_of(values, field.key, size > 0 ? size : c.intermediate_size);
}
void read_shared_experts(const ConfigField& field, const Settings& values, const Family& family,
                         Config& c) {
  if (family.n_shared_experts == 0) return;
  const int64_t count = values.integer_or(field.key, family.n_shared_experts, 0);
  if (count > kLargestSize / c.moe_intermediate_size)
    values.fail_expected(field.key, "at most " + std::to_string(kLargestSize) + " rows");
  c.shared_expert_intermediate_size = count * c.moe_intermediate_size;
}
OptionalSetting write_shared_experts(const Config& c, const Family&) {
  return Setting(c.shared_expert_intermediate_size / c.moe_intermediate_size);
}

void read_groups(const ConfigField& field, const Settings& values, const Family& family,
                 Config& c) {
  if (!lists(family, field.key)) return;
  c.n_group = size_of(values, field.key, c.n_group);
  c.topk_group = size_of(values, "topk_group", c.topk_group);
  if (c.num_experts % c.n_group != 0)
    values.fail_expected(field.key,
                         "a divisor of the number of experts " + std::to_string(c.num_experts));
  if (c.topk_group > c.n_group)
    values.fail_expected("topk_group", "at most n_group " + std::to_string(c.n_group));
  if (c.num_experts_per_tok > c.topk_group * (c.num_experts / c.n_group))
    values.fail_expected(
        "topk_group", "groups of at least " + std::to_string(c.num_experts_per_tok) + " experts");
}

/// DeepSeek's names for the choice of experts: of all; of groups by their best expert; of groups by
/// their two best, with a correction.
constexpr const char *kOfAll = "greedy", *kOfGroups = "group_limited_greedy",
                     *kCorrected = "noaux_tc";
void read_choice(const ConfigField& field, const Settings& values, const Family& family,
                 Config& c) {
  if (!lists(family, field.key)) return;
  const std::string choice =
      values.text_or(field.key, family.defaults.router_correction ? kCorrected : kOfAll);
  if (choice != kOfAll && choice != kOfGroups && choice != kCorrected)
    values.fail_expected(field.key, "\"greedy\", \"group_limited_greedy\" or \"noaux_tc\"");
  if (choice == kOfAll) c.n_group = c.topk_group = 1;
  c.router_correction = choice == kCorrected;
  c.group_score = choice == kCorrected ? GroupScore::kSumOfTop2 : GroupScore::kMax;
}
OptionalSetting write_choice(const Config& c, const Family&) {
  return Setting(std::string(c.router_correction ? kCorrected
                             : c.n_group > 1     ? kOfGroups
                                                 : kOfAll));
}
OptionalSetting gguf_choice(const GgufKey&, const GgufFile& file) {
  if (!lists(file.family, "topk_method")) return {};
  const std::string layer = std::to_string(
      file.has("leading_dense_block_count") ? file.size("leading_dense_block_count") : 0);
  if (file.has_tensor(("blk." + layer + ".exp_probs_b.bias").c_str()))
    return Setting(std::string(kCorrected));
  return Setting(std::string(file.has("expert_group_count") ? kOfGroups : kOfAll));
}

constexpr std::pair<const char*, RouterScores> kRouterScores[] = {
    {"softmax", RouterScores::kSoftmax}, {"sigmoid", RouterScores::kSigmoid}};
void read_router_scores(const ConfigField& field, const Settings& values, const Family&,
                        Config& c) {
  if (values.has(field.key))
    c.router_scores = named(values, field.key, values.text(field.key), kRouterScores);
}
OptionalSetting write_router_scores(const Config& c, const Family&) {
  return Setting(std::string(name_of(kRouterScores, c.router_scores)));
}
/// GGUF's number of a function: 1 for softmax, 2 for sigmoid.
OptionalSetting gguf_router_scores(const GgufKey& key, const GgufFile& file) {
  if (!has_experts(file.family) || !file.has(key.key)) return {};
  const int64_t function = file.size(key.key);
  check(function <= 2, ErrorCode::kUnsupported, file.metadata.where(), "\"", file.name(key.key),
        "\": expected 1, softmax, or 2, sigmoid, got ", function);
  return Setting(std::string(kRouterScores[function - 1].first));
}
OptionalSetting write_gguf_router_scores(const Config& c, const Family& family) {
  if (!has_gguf_key(family, "expert_gating_func") && !lists(family, "scoring_func")) return {};
  return Setting(int64_t(c.router_scores == RouterScores::kSoftmax ? 1 : 2));
}

/// As `write`, for keys that GGUF files of families have whose folders lack them, too.
template <auto kMember, const std::string_view& kKey>
OptionalSetting write_gguf_of_all(const Config& c, const Family& family) {
  return has_gguf_key(family, kKey) ? OptionalSetting(c.*kMember) : std::nullopt;
}
constexpr std::string_view kExpertSize = "expert_feed_forward_length",
                           kSharedSize = "expert_shared_feed_forward_length",
                           kWeightsNorm = "expert_weights_norm";

/// "attn_temperature_tuning" is false, true, or the 4 of the first files.
void read_attn_scale(const ConfigField& field, const Settings& values, const Family&, Config& c) {
  constexpr std::string_view kTuning = "attn_temperature_tuning";
  const Setting* const tuning = values.find(kTuning);
  const auto* const number = tuning ? std::get_if<int64_t>(&tuning->value) : nullptr;
  const bool is_on = number ? *number != 0 : values.flag_or(kTuning, true);
  c.attn_scale = c.attn_scale > 0 ? positive(values, field.key, c.attn_scale) : 0;
  if (!is_on) c.attn_scale = 0;
}

// ---- the layers that have experts

OptionalSetting write_listed_layers(const Config& c, const Family&) {
  Setting::List sparse;
  for (int64_t i = 0; i < c.num_hidden_layers; i++)
    if (c.sparse_layers.empty() || c.sparse_layers[size_t(i)]) sparse.emplace_back(i);
  return Setting(std::move(sparse));
}

void read_sparse_layers(const ConfigField& field, const Settings& values, const Family& family,
                        Config& c) {
  if (c.num_experts == 0) return;
  const int64_t step = values.integer_or("decoder_sparse_step",
                                         values.integer_or("moe_layer_interval", 1, 1), 1),
                first = values.integer_or("first_k_dense_replace", family.first_k_dense_replace, 0),
                last = values.integer_or("moe_layer_end_index", -1, -1);
  const std::vector<int64_t> dense = values.integers(field.key),
                             listed = values.integers("moe_layers");
  const bool lists = values.has("moe_layers");
  std::vector<bool> sparse;
  for (int64_t i = 0; i < c.num_hidden_layers; i++)
    sparse.push_back(lists ? contains(listed, i)
                           : (i + 1) % step == 0 && i >= first && (last < 0 || i <= last) &&
                                 !contains(dense, i));
  if (contains(sparse, false)) c.sparse_layers = std::move(sparse);
}

/// The first and the last layer with experts, and the steps between those.
struct SparseLayers {
  int64_t first = 0, last = 0, interval = 1;

  explicit SparseLayers(const Config& c) : last(c.num_hidden_layers - 1) {
    std::vector<int64_t> layers;
    for (size_t i = 0; i < c.sparse_layers.size(); i++)
      if (c.sparse_layers[i]) layers.push_back(int64_t(i));
    if (c.sparse_layers.empty()) return;
    first = layers.empty() ? c.num_hidden_layers : layers.front();
    last = layers.empty() ? last : layers.back();
    if (layers.size() > 1) interval = layers[1] - layers[0];
  }
};
template <auto kMember>
OptionalSetting write_sparse(const Config& c, const Family&) {
  return Setting(SparseLayers(c).*kMember);
}
OptionalSetting write_dense_layers(const Config& c, const Family&) {
  Setting::List dense;
  for (size_t i = 0; i < c.sparse_layers.size(); i++)
    if (!c.sparse_layers[i]) dense.emplace_back(int64_t(i));
  return Setting(std::move(dense));
}

constexpr std::string_view kLogitScale = "logit_scale";

// ---- activations and norms

constexpr std::pair<const char*, HiddenAct> kHiddenActs[] = {
    {"silu", HiddenAct::kSilu},
    {"gelu", HiddenAct::kGelu},
    {"gelu_fast", HiddenAct::kGeluTanh},
    {"gelu_new", HiddenAct::kGeluTanh},
    {"gelu_pytorch_tanh", HiddenAct::kGeluTanh},
};
void read_act(const ConfigField& field, const Settings& values, const Family&, Config& c) {
  if (values.has(field.key))
    c.hidden_act = named(values, field.key, values.text(field.key), kHiddenActs);
}
/// The last name that transformers knows.
OptionalSetting write_act(const Config& c, const Family&) {
  OptionalSetting result;
  for (const auto& [name, act] : kHiddenActs)
    if (act == c.hidden_act) result = Setting(name);
  return result;
}

constexpr std::string_view kRmsEps = "attention.layer_norm_rms_epsilon",
                           kLayerEps = "attention.layer_norm_epsilon";
bool is_eps_of(const Family& family, std::string_view key) {
  return key == (family.defaults.norm_type == NormType::kRms ? kRmsEps : kLayerEps);
}
OptionalSetting gguf_eps(const GgufKey& key, const GgufFile& file) {
  if (!is_eps_of(file.family, key.key)) return {};
  return Setting(file.real(key.key));
}
template <const std::string_view& kKey>
OptionalSetting write_gguf_eps(const Config& c, const Family& family) {
  return is_eps_of(family, kKey) ? OptionalSetting(c.rms_norm_eps) : std::nullopt;
}

void read_parallel_norms(const ConfigField& field, const Settings& values, const Family&,
                         Config& c) {
  const bool grouped = values.flag_or("new_decoder_architecture", false);
  const int64_t norms = values.integer_or(field.key, grouped ? 2 : 1, 1);
  if (norms > (grouped ? 2 : 1)) values.fail_expected(field.key, grouped ? "1 or 2" : "1");
  c.parallel_mlp_norm = norms == 2;
}

// ---- tensors

template <const char* kName, const char* kOther = kName>
OptionalSetting has_tensor(const GgufKey&, const GgufFile& file) {
  return Setting(file.has_tensor(kName) || file.has_tensor(kOther));
}
constexpr char kQueryBias[] = "blk.0.attn_q.bias", kFusedBias[] = "blk.0.attn_qkv.bias",
               kOutputBias[] = "blk.0.attn_output.bias", kUpBias[] = "blk.0.ffn_up.bias",
               kHeadBias[] = "output.bias";

constexpr std::pair<const char*, DType> kDTypes[] = {{"float32", DType::kF32},
                                                     {"float16", DType::kF16},
                                                     {"bfloat16", DType::kBf16},
                                                     {"float64", DType::kF64}};
void read_dtype(const ConfigField& field, const Settings& values, const Family&, Config& c) {
  if (values.has(field.key)) c.dtype = named(values, field.key, values.text(field.key), kDTypes);
}

// ---- tokens

/// The id of the padding, which files on the hub may have outside of the vocabulary.
void read_padding(const ConfigField& field, const Settings& values, const Family&, Config& c) {
  int64_t id = is_listed(values, field.key) ? -1 : c.pad_token_id.value_or(-1);
  if (const Setting* value = values.find(field.key))
    if (const auto* listed = std::get_if<int64_t>(&value->value)) id = *listed;
  c.pad_token_id = id >= 0 && id < c.vocab_size ? std::optional(id) : std::nullopt;
}

/// The ids under these keys, each once.
Setting token_ids(const GgufFile& file, std::initializer_list<const char*> keys) {
  std::vector<int64_t> ids;
  for (const char* key : keys)
    for (const int64_t id : file.metadata.integers(std::string("tokenizer.ggml.") + key))
      if (!contains(ids, id)) ids.push_back(id);
  return Setting::List(ids.begin(), ids.end());
}

// ---- the table

using Values = const Settings&;
using Field = const ConfigField&;
using File = const GgufFile&;

const ConfigField kFields[] = {
    {"model_type", true},
    // sizes
    {"vocab_size",
     true,
     read_size<&Config::vocab_size>,
     write<&Config::vocab_size>,
     {.key = "vocab_size",
      .is_rare = true,
      .read = [](const GgufKey&, File f) -> OptionalSetting {
        return Setting(f.embedding().shape[0]);
      }}},
    {"hidden_size",
     true,
     read_size<&Config::hidden_size>,
     write<&Config::hidden_size>,
     {.key = "embedding_length", .read = required_size}},
    {"intermediate_size",
     true,
     [](Field field, Values values, const Family& family, Config& c) {
       const int64_t size = size_of(
           values, field.key,
           c.intermediate_size > 0 ? c.intermediate_size : family.intermediate_factor * c.hidden_size);
       if (size % family.intermediate_divisor != 0)
         values.fail_expected(field.key,
                              "a multiple of " + std::to_string(family.intermediate_divisor));
       c.intermediate_size = size / family.intermediate_divisor;
     },
     [](const Config& c, const Family& family) -> OptionalSetting {
       return Setting(c.intermediate_size * family.intermediate_divisor);
     },
     {.key = "feed_forward_length",
      .is_needed = true,
      .is_of_layers = true,
      .read = [](const GgufKey& key, File f) -> OptionalSetting {
        // Files whose layers all have experts lack it.
        if (has_experts(f.family) && !f.has(key.key)) return {};
        return Setting(f.size_of_layer(key.key, 0));
      },
      .write = write_gguf_intermediate_size}},
    {"block_ff_dim", false},
    {"block_multiple_of", false},
    {"block_ffn_dim_multiplier", false},
    {"block_auto_adjust_ff_dim",
     false,
     read_adjusted_size,
     [](const Config&, const Family&) -> OptionalSetting { return Setting(false); },
     {.read = [](const GgufKey&, File f) -> OptionalSetting {
       if (!lists(f.family, "block_auto_adjust_ff_dim")) return {};
       return Setting(false);
     }}},
    {"num_hidden_layers",
     true,
     [](Field field, Values values, const Family&, Config& c) {
       c.num_hidden_layers = size_of(values, field.key, 0, Config::kMaxLayers);
     },
     write<&Config::num_hidden_layers>,
     // Files count the layers that predict further tokens, which follow the others.
     {.key = "block_count", .read = [](const GgufKey& key, File f) -> OptionalSetting {
        return Setting(f.size(key.key) -
                       f.metadata.integer_or(f.name("nextn_predict_layers"), 0, 0));
      }}},
    {"num_nextn_predict_layers",
     false,
     nullptr,
     [](const Config&, const Family&) -> OptionalSetting { return Setting(int64_t(0)); },
     {.key = "nextn_predict_layers",
      .read = [](const GgufKey&, File) -> OptionalSetting { return {}; }}},
    // heads
    {"num_attention_heads",
     true,
     read_size<&Config::num_attention_heads>,
     write<&Config::num_attention_heads>,
     {.key = "attention.head_count", .is_needed = true, .is_of_layers = true, .read = required_size}},
    {"new_decoder_architecture",
     false,
     nullptr,
     [](const Config& c, const Family&) -> OptionalSetting { return Setting(has_groups(c)); },
     {.read = [](const GgufKey&, File f) -> OptionalSetting {
       if (!lists(f.family, "new_decoder_architecture")) return {};
       return Setting(true);  // the number of groups counts
     }}},
    {"multi_query", false, nullptr,
     [](const Config& c, const Family&) -> OptionalSetting {
       return Setting(c.num_key_value_heads == 1);
     }},
    {"num_key_value_heads",
     true,
     read_key_value_heads,
     write<&Config::num_key_value_heads>,
     {.key = "attention.head_count_kv",
      .is_of_layers = true,
      .read = [](const GgufKey& key, File f) -> OptionalSetting {
        if (!f.has(key.key)) return Setting(f.size("attention.head_count"));
        return Setting(f.size_of_layer(key.key, layer_of_type(f, LayerType::kSliding)));
      },
      .write = write_gguf_heads}},
    {"head_dim",
     true,
     [](Field field, Values values, const Family&, Config& c) {
       const int64_t share = std::max<int64_t>(1, c.hidden_size / c.num_attention_heads);
       c.head_dim = size_of(values, field.key, c.head_dim > 0 ? c.head_dim : share);
     },
     [](const Config& c, const Family& family) -> OptionalSetting {
       // transformers' "head_dim" of latent attention is the size of the part with rope.
       if (family.derives_head_dim || is_latent(family)) return {};
       return Setting(c.head_dim);
     },
     {.key = "attention.key_length",
      .read = gguf_head_dim,
      .write = [](const Config& c, const Family& family) -> OptionalSetting {
        if (!is_latent(family)) return {};
        return Setting(c.kv_lora_rank + c.qk_rope_head_dim);
      }}},
    {"head_dim",
     true,
     nullptr,
     nullptr,
     {.key = kWindowKeyLength, .is_rare = true, .read = not_read, .write = write_gguf_head_dim}},
    {"",
     false,
     nullptr,
     nullptr,
     {.key = kWindowValueLength, .is_rare = true, .read = not_read, .write = write_gguf_head_dim}},
    {"",
     false,
     nullptr,
     nullptr,
     {.key = "rope.dimension_count_swa",
      .is_rare = true,
      .read = [](const GgufKey& key, File f) -> OptionalSetting {
        if (!has_gguf_key(f.family, key.key)) return {};
        const int64_t dim = f.size(kWindowKeyLength);
        check(f.size_or(key.key, dim) == dim, ErrorCode::kUnsupported, f.metadata.where(), "\"",
              f.name(key.key), "\": expected all ", dim, " elements of a head, got ",
              f.size(key.key));
        return {};
      },
      .write = write_gguf_head_dim}},
    {"global_head_dim",
     false,
     nullptr,
     [](const Config& c, const Family&) -> OptionalSetting {
       return Setting(head_dim_of(c, LayerType::kFull));
     },
     {.read = [](const GgufKey&, File f) -> OptionalSetting {
       if (!lists(f.family, "global_head_dim")) return {};
       return Setting(f.size("attention.key_length"));
     }}},
    {"num_global_key_value_heads",
     false,
     nullptr,
     write_or_null<&Config::full_key_value_heads>,
     {.read = [](const GgufKey&, File f) -> OptionalSetting {
       if (!lists(f.family, "num_global_key_value_heads")) return {};
       return Setting(f.size_of_layer("attention.head_count_kv",
                                      layer_of_type(f, LayerType::kFull)));
     }}},
    {"attention_k_eq_v",
     false,
     read_flag<&Config::attention_k_eq_v>,
     write<&Config::attention_k_eq_v>,
     {.read = [](const GgufKey&, File f) -> OptionalSetting {
       if (!lists(f.family, "attention_k_eq_v")) return {};
       const std::string layer = "blk." + std::to_string(layer_of_type(f, LayerType::kFull));
       return Setting(f.has_tensor((layer + ".attn_k.weight").c_str()) &&
                      !f.has_tensor((layer + ".attn_v.weight").c_str()));
     }}},
    {"per_layer_config", false, read_full_heads},
    // latent attention, which GGUF files have as attention with one key head
    {"kv_lora_rank",
     false,
     read_latent_size<&Config::kv_lora_rank>,
     write<&Config::kv_lora_rank>,
     {.key = "attention.kv_lora_rank"}},
    {"q_lora_rank",
     false,
     [](Field field, Values values, const Family&, Config& c) {
       c.q_lora_rank = size_or_null(values, field.key, c.q_lora_rank);
     },
     write_or_null<&Config::q_lora_rank>,
     {.key = "attention.q_lora_rank",
      .read = [](const GgufKey& key, File f) -> OptionalSetting {
        if (!is_latent(f.family)) return own_value(key, f);
        return f.has(key.key) ? *f.find(key.key) : Setting();
      }}},
    {"qk_nope_head_dim",
     false,
     read_latent_size<&Config::qk_nope_head_dim>,
     write<&Config::qk_nope_head_dim>,
     {.key = kKeyLength,
      .read = [](const GgufKey&, File f) -> OptionalSetting {
        if (!is_latent(f.family)) return {};
        const int64_t dim = latent_length<kKeyLength>(f), rotated = f.size(kRopeLength);
        check(rotated < dim, ErrorCode::kFormat, f.metadata.where(), "\"", f.name(kRopeLength),
              "\": expected less than the ", dim, " elements of a key, got ", rotated);
        return Setting(dim - rotated);
      },
      .write = [](const Config& c, const Family& family) -> OptionalSetting {
        return is_latent(family) ? OptionalSetting(c.head_dim) : std::nullopt;
      }}},
    {"qk_rope_head_dim",
     false,
     read_latent_size<&Config::qk_rope_head_dim>,
     write<&Config::qk_rope_head_dim>,
     {.key = kRopeLength,
      .is_rare = true,
      .read = [](const GgufKey& key, File f) -> OptionalSetting {
        return is_latent(f.family) ? OptionalSetting(f.size(key.key)) : std::nullopt;
      },
      .write = [](const Config& c, const Family& family) -> OptionalSetting {
        return is_latent(family) ? OptionalSetting(c.qk_rope_head_dim) : std::nullopt;
      }}},
    {"v_head_dim",
     false,
     read_latent_value_dim,
     write<&Config::v_head_dim>,
     {.key = kValueLength,
      .read = [](const GgufKey&, File f) -> OptionalSetting {
        if (!is_latent(f.family)) return {};
        return Setting(latent_length<kValueLength>(f));
      },
      .write = [](const Config& c, const Family& family) -> OptionalSetting {
        return is_latent(family) ? OptionalSetting(c.v_head_dim) : std::nullopt;
      }}},
    {"",
     false,
     nullptr,
     nullptr,
     {.key = "attention.value_length",
      .read = [](const GgufKey&, File) -> OptionalSetting { return {}; },
      .write = [](const Config& c, const Family& family) -> OptionalSetting {
        return is_latent(family) ? OptionalSetting(c.kv_lora_rank) : std::nullopt;
      }}},
    {"",
     false,
     nullptr,
     nullptr,
     {.key = "rope.scaling.yarn_log_multiplier",
      .read = [](const GgufKey&, File) -> OptionalSetting { return {}; },
      .write = [](const Config& c, const Family& family) -> OptionalSetting {
        if (!is_latent(family) || c.rope_mscale_all_dim == 0) return {};
        return Setting(0.1 * c.rope_mscale_all_dim);
      }}},
    {"rope_interleave", false,
     [](Field field, Values values, const Family&, Config& c) {
       if (values.has(field.key))
         c.rope_pairs =
             values.flag_or(field.key, true) ? RopePairs::kAdjacent : RopePairs::kHalves;
     },
     [](const Config& c, const Family&) -> OptionalSetting {
       return Setting(c.rope_pairs == RopePairs::kAdjacent);
     }},
    {"llama_4_scaling_beta",  // among the keys of rope
     false,
     nullptr,
     nullptr,
     {.key = "attention.temperature_scale",
      .is_rare = true,
      .read = [](const GgufKey& key, File f) -> OptionalSetting {
        if (lists(f.family, "llama_4_scaling_beta")) return {};
        return own_value(key, f);
      }}},
    {"max_position_embeddings",
     true,
     read_size<&Config::max_position_embeddings>,
     write<&Config::max_position_embeddings>,
     {.key = "context_length",
      .read = required_size,
      .write = [](const Config& c, const Family& family) -> OptionalSetting {
        // llama.cpp's number for models whose texts rope does not limit.
        const bool unlimited = has_gguf_key(family, "rope.scaling.finetuned") &&
                               contains(c.rope_layers, false);
        return Setting(unlimited ? kUnlimitedPositions : c.max_position_embeddings);
      }}},
    {"rms_norm_eps",
     true,
     read_positive<&Config::rms_norm_eps>,
     write<&Config::rms_norm_eps>,
     {.key = kRmsEps, .read = gguf_eps, .write = write_gguf_eps<kRmsEps>}},
    {"rms_norm_eps",
     true,
     nullptr,
     nullptr,
     {.key = kLayerEps, .read = gguf_eps, .write = write_gguf_eps<kLayerEps>}},
    // rope
    {"rope_theta",
     true,
     read_positive<&Config::rope_theta>,
     [](const Config& c, const Family& family) -> OptionalSetting {
       if (lists(family, "rope_ratio")) return {};
       return Setting(c.rope_theta);
     },
     {.key = "rope.freq_base",
      .read = [](const GgufKey& key, File f) -> OptionalSetting {
        return Setting(f.real_or(key.key, kGgufTheta));
      },
      .write = [](const Config& c, const Family& family) -> OptionalSetting {
        if (c.rope_theta == kGgufTheta && contains(family.gguf_implied, "rope.freq_base"))
          return {};
        return Setting(c.rope_theta);
      }}},
    {"rope_ratio", false,
     [](Field field, Values values, const Family&, Config& c) {
       c.rope_theta *= positive(values, field.key, 1);
     },
     [](const Config& c, const Family& family) -> OptionalSetting {
       return Setting(c.rope_theta / family.defaults.rope_theta);
     }},
    {"rope_local_base_freq",
     false,
     read_positive<&Config::rope_local_base_freq>,
     write_or_null<&Config::rope_local_base_freq>,
     {.key = "rope.freq_base_swa", .read = gguf_local_theta}},
    {"partial_rotary_factor",
     false,
     [](Field field, Values values, const Family& family, Config& c) {
       set_rotary_dim(values, positive(values, field.key, family.partial_rotary_factor), &c);
     },
     [](const Config& c, const Family&) -> OptionalSetting {
       return Setting(double(c.rotary_dim > 0 ? c.rotary_dim : c.head_dim) / double(c.head_dim));
     },
     {.key = "rope.dimension_count",
      .is_rare = true,
      .read = [](const GgufKey& key, File f) -> OptionalSetting {
        if (!f.has(key.key) || is_latent(f.family)) return {};
        return Setting(double(f.size(key.key)) / double(head_dim_of(f)));
      },
      .write = [](const Config& c, const Family&) -> OptionalSetting {
        return Setting(c.rotary_dim > 0 ? c.rotary_dim : head_dim_of(c, LayerType::kFull));
      }}},
    // Other layers than attention need no positions.
    {"position_embedding_type",
     false,
     [](Field field, Values values, const Family& family, Config& c) {
       if (!lists(family, field.key) || values.text_or(field.key, "") == "rope") return;
       c.rope_layers.assign(size_t(c.num_hidden_layers), false);
     },
     [](const Config& c, const Family&) -> OptionalSetting {
       return Setting(contains(c.rope_layers, false) ? "nope" : "rope");
     },
     {.key = "rope.scaling.finetuned",
      .is_rare = true,
      .read = [](const GgufKey& key, File f) -> OptionalSetting {
        if (!lists(f.family, "position_embedding_type")) return {};
        return Setting(f.metadata.flag_or(f.name(key.key), true) ? "rope" : "nope");
      },
      .write = [](const Config& c, const Family&) -> OptionalSetting {
        return Setting(!contains(c.rope_layers, false));
      }}},
    {"rotary_dim",
     false,
     [](Field field, Values values, const Family& family, Config& c) {
       if (!lists(family, field.key) || !values.has(field.key)) return;
       set_rotary_dim(values, double(size_of(values, field.key)) / double(c.head_dim), &c);
     },
     [](const Config& c, const Family&) -> OptionalSetting {
       return Setting(c.rotary_dim > 0 ? c.rotary_dim : c.head_dim);
     }},
    {"original_max_position_embeddings", false, nullptr,
     [](const Config& c, const Family&) -> OptionalSetting {
       if (c.rope_scaling.type != RopeScalingType::kLongRope) return {};
       return Setting(c.rope_scaling.original_max_position_embeddings);
     }},
    {"rope_parameters", true, read_rope_parameters,
     [](const Config& c, const Family& family) -> OptionalSetting {
       if (!lists(family, "rope_parameters")) return {};
       return rope_parameters_setting(c);
     }},
    {"alpha", false},  // of the group that states rope
    {"rope_scaling",
     true,
     read_rope_parameters,
     [](const Config& c, const Family&) -> OptionalSetting {
       if (c.rope_scaling.type == RopeScalingType::kNone && c.mrope_section.empty()) return {};
       return scaling_setting(c);
     },
     {.read = [](const GgufKey&, File f) { return gguf_rope_scaling(f); }}},
    {"mrope_section", false,
     [](Field field, Values values, const Family& family, Config& c) {
       if (lists(family, field.key)) read_mrope(values, &c);
     },
     nullptr,
     {.key = "rope.dimension_sections",
      .write = [](const Config& c, const Family&) -> OptionalSetting {
        if (c.mrope_section.empty()) return {};
        Setting::List sections(c.mrope_section.begin(), c.mrope_section.end());
        sections.resize(4, Setting(int64_t{0}));
        return Setting(std::move(sections));
      }}},
    {"no_rope_layer_interval", false},
    {"no_rope_layers", false, read_rope_layers, write_rope_layers},
    // training, dtype and tokens
    {"initializer_range", true, read_positive<&Config::initializer_range>,
     write<&Config::initializer_range>},
    {"tie_word_embeddings",
     true,
     read_flag<&Config::tie_word_embeddings>,
     write<&Config::tie_word_embeddings>,
     {.read = [](const GgufKey&, File f) -> OptionalSetting {
       return Setting(!f.has_tensor("output.weight"));
     }}},
    {"torch_dtype",
     true,
     read_dtype,
     [](const Config& c, const Family&) -> OptionalSetting {
       const std::string_view name = name_of(kDTypes, c.dtype);
       return Setting(std::string(name.empty() ? "float32" : name));
     },
     {.read = [](const GgufKey&, File f) -> OptionalSetting {
       const std::string_view name = name_of(kDTypes, f.embedding().dtype);
       return name.empty() ? OptionalSetting() : Setting(std::string(name));
     }}},
    {"dtype", true, read_dtype},  // since transformers 5
    {"bos_token_id",
     true,
     read_ids<&Config::bos_token_ids>,
     write_ids<&Config::bos_token_ids>,
     {.read = [](const GgufKey&, File f) -> OptionalSetting {
       return token_ids(f, {"bos_token_id"});
     }}},
    {"eos_token_id",
     true,
     read_ids<&Config::eos_token_ids>,
     write_ids<&Config::eos_token_ids>,
     {.read = [](const GgufKey&, File f) -> OptionalSetting {
       return token_ids(f, {"eos_token_id", "eot_token_id", "eom_token_id"});
     }}},
    // transformers makes no model whose padding is outside of the vocabulary, as its defaults may
    // be.
    {"pad_token_id",
     true,
     read_padding,
     [](const Config& c, const Family&) -> OptionalSetting {
       return c.pad_token_id ? Setting(*c.pad_token_id) : Setting();
     },
     {.read = [](const GgufKey&, File f) -> OptionalSetting {
       const Setting* const id = f.metadata.find("tokenizer.ggml.padding_token_id");
       return id ? OptionalSetting(*id) : std::nullopt;
     }}},
    // attention
    {"hidden_act", false, read_act, write_act},
    {"hidden_activation", false, read_act, write_act},
    {"is_causal",
     false,
     read_flag<&Config::is_causal>,
     [](const Config& c, const Family&) -> OptionalSetting {
       return c.is_causal ? OptionalSetting() : Setting(false);
     },
     {.key = "attention.causal"}},
    {"attention_bias",
     false,
     [](Field field, Values values, const Family& family, Config& c) {
       c.attention_bias = values.flag_or(field.key, c.attention_bias);
       c.attention_output_bias = has_output_bias(family, c.attention_bias);
     },
     write<&Config::attention_bias>,
     {.is_of_all = true, .read = has_tensor<kQueryBias, kFusedBias>}},
    {"attention_output_bias",
     false,
     read_flag<&Config::attention_output_bias>,
     write<&Config::attention_output_bias>,
     {.is_of_all = true, .read = has_tensor<kOutputBias>}},
    {"mlp_bias",
     false,
     read_flag<&Config::mlp_bias>,
     write<&Config::mlp_bias>,
     {.is_of_all = true, .read = has_tensor<kUpBias>}},
    {"lm_head_bias",
     false,
     read_flag<&Config::lm_head_bias>,
     nullptr,
     {.is_of_all = true, .read = has_tensor<kHeadBias>}},
    {"clip_qkv",
     false,
     read_positive<&Config::clip_qkv>,
     write_or_null<&Config::clip_qkv>,
     {.key = "attention.clamp_kqv", .read = null_for_0}},
    {"qk_layernorm",
     false,
     [](Field field, Values values, const Family& family, Config& c) {
       if (reads_key(family, field) && !values.flag_or(field.key, false)) c.qk_norm = QkNorm::kNone;
     },
     [](const Config& c, const Family&) -> OptionalSetting {
       return Setting(c.qk_norm != QkNorm::kNone);
     },
     {.read = [](const GgufKey&, File f) -> OptionalSetting {
       if (!lists(f.family, "qk_layernorm") && !renames(f.family, "qk_layernorm")) return {};
       return Setting(f.family.gguf_qk_norm && f.has_tensor("blk.0.attn_q_norm.weight"));
     }}},
    {"use_qk_norm",
     false,
     [](Field field, Values values, const Family&, Config& c) {
       if (!values.has(field.key) || values.flag_or(field.key, true)) return;
       if (c.qk_norm != QkNorm::kRotated) values.fail_expected(field.key, "true");
       c.qk_norm = QkNorm::kNone;
     },
     [](const Config& c, const Family& family) -> OptionalSetting {
       if (family.defaults.qk_norm != QkNorm::kRotated) return {};
       return Setting(c.qk_norm != QkNorm::kNone);
     },
     // Files do not say it: Llama 4's model of 128 experts has no such norms.
     {.read = [](const GgufKey&, File f) -> OptionalSetting {
       if (f.family.defaults.qk_norm != QkNorm::kRotated) return {};
       return Setting(f.size("expert_count") != 128);
     }}},
    {"attn_temperature_tuning", false, nullptr,
     [](const Config& c, const Family&) -> OptionalSetting { return Setting(c.attn_scale > 0); }},
    {"attn_scale", false, read_attn_scale,
     [](const Config& c, const Family& family) -> OptionalSetting {
       return Setting(c.attn_scale > 0 ? c.attn_scale : family.defaults.attn_scale);
     }},
    {"floor_scale", false, read_size<&Config::floor_scale>, write<&Config::floor_scale>},
    {"alibi",
     false,
     read_flag<&Config::alibi>,
     write<&Config::alibi>,
     {.key = "attention.max_alibi_bias", .is_rare = true}},
    // windows
    {"use_sliding_window", false, nullptr,
     [](const Config& c, const Family&) -> OptionalSetting {
       return Setting(c.sliding_window > 0);
     }},
    {"max_window_layers", false},
    {"sliding_window_pattern",
     false,
     nullptr,
     nullptr,
     {.key = kPattern, .read = gguf_pattern, .write = write_gguf_pattern}},
    {"block_types", false, nullptr, write_layer_types},
    {"layer_types",
     false,
     nullptr,
     write_layer_types,
     {.key = kPattern, .read = gguf_layer_types, .write = write_gguf_layer_types}},
    {"layer_types",
     false,
     nullptr,
     nullptr,
     {.key = "attention.head_count_kv",
      .read = gguf_layers_of_heads,
      .write = not_written}},
    {"layer_types",
     false,
     nullptr,
     nullptr,
     {.key = "attention.recurrent_layers",
      .read = gguf_state_layers,
      .write = write_gguf_state_layers}},
    {"full_attn_idxs", false},
    {"full_attention_interval",
     false,
     nullptr,
     nullptr,
     {.key = "full_attention_interval", .write = write_gguf_interval}},
    {"sliding_window",
     false,
     read_window,
     write_or_null<&Config::sliding_window>,
     {.key = "attention.sliding_window",
      .is_rare = true,
      .read = gguf_window,
      .write = write_gguf_window}},
    {"use_bidirectional_attention", false,
     [](Field field, Values values, const Family& family, Config&) {
       // With "vision", the tokens of an image see each other; tokens of text see earlier ones.
       if (lists(family, field.key) && values.has(field.key) && values.text(field.key) != "vision")
         values.fail_expected(field.key, "\"vision\" or null");
     }},
    {"num_kv_shared_layers",
     false,
     read_shared_layers,
     write<&Config::num_kv_shared_layers>,
     {.key = "attention.shared_kv_layers", .is_rare = true}},
    {"use_double_wide_mlp",
     false,
     [](Field field, Values values, const Family&, Config& c) {
       c.use_double_wide_mlp = values.flag_or(field.key, false) && c.num_kv_shared_layers > 0;
     },
     write<&Config::use_double_wide_mlp>,
     {.read = gguf_double_wide_mlp}},
    {"hidden_size_per_layer_input", false,
     [](Field field, Values values, const Family&, Config& c) {
       c.hidden_size_per_layer_input =
           values.integer_or(field.key, is_listed(values, field.key) ? 0 : c.hidden_size_per_layer_input, 0);
       if (c.hidden_size_per_layer_input > kLargestSize / c.num_hidden_layers)
         values.fail_expected(field.key, "at most " + std::to_string(kLargestSize) + " of all layers");
     },
     write<&Config::hidden_size_per_layer_input>,
     {.key = "embedding_length_per_layer_input", .is_rare = true}},
    {"vocab_size_per_layer_input",
     false,
     [](Field field, Values values, const Family&, Config& c) {
       if (c.hidden_size_per_layer_input > 0)
         c.vocab_size_per_layer_input = size_of(values, field.key, c.vocab_size_per_layer_input);
     },
     write<&Config::vocab_size_per_layer_input>,
     {.read = [](const GgufKey&, File f) -> OptionalSetting {
       const auto found = f.tensors.tensors.find("per_layer_token_embd.weight");
       if (found == f.tensors.tensors.end() || found->second.shape.size() != 2) return {};
       return Setting(found->second.shape[0]);
     }}},
    // layers that keep a state
    {"lru_width", false,
     [](Field field, Values values, const Family&, Config& c) {
       c.lru_width = size_or_null(values, field.key, c.lru_width);
       const int64_t width = c.lru_width > 0 ? c.lru_width : c.hidden_size;
       if (lists_recurrent(c) && width % c.num_attention_heads != 0)
         values.fail_expected(field.key, "a multiple of num_attention_heads " +
                                             std::to_string(c.num_attention_heads));
     },
     write_or_null<&Config::lru_width>},
    {"conv1d_width", false,
     [](Field field, Values values, const Family&, Config& c) {
       c.conv1d_width = size_of(values, field.key, c.conv1d_width);
       if (c.conv1d_width < 2) values.fail_expected(field.key, "at least 2");
     },
     write<&Config::conv1d_width>,
     {.key = "shortconv.l_cache", .write = write_gguf_of<LayerType::kConv, &Config::conv1d_width>}},
    {"conv1d_width",
     false,
     nullptr,
     nullptr,
     {.key = "ssm.conv_kernel", .write = write_gguf_conv_width}},
    {"conv_bias",
     false,
     read_flag<&Config::conv_bias>,
     write<&Config::conv_bias>,
     {.is_of_all = true, .read = [](const GgufKey&, File f) -> OptionalSetting {
        for (const auto& [name, info] : f.tensors.tensors)
          if (name.ends_with(".shortconv.conv.bias")) return Setting(true);
        return {};
      }}},
    {"linear_key_head_dim",
     false,
     read_delta_size<&Config::linear_key_head_dim>,
     write<&Config::linear_key_head_dim>,
     {.key = "ssm.state_size",
      .read = read_gguf_of<LayerType::kDelta>,
      .write = write_gguf_of<LayerType::kDelta, &Config::linear_key_head_dim>}},
    {"linear_num_key_heads",
     false,
     read_delta_size<&Config::linear_num_key_heads>,
     write<&Config::linear_num_key_heads>,
     {.key = "ssm.group_count",
      .read = read_gguf_of<LayerType::kDelta>,
      .write = write_gguf_of<LayerType::kDelta, &Config::linear_num_key_heads>}},
    {"linear_num_value_heads",
     false,
     read_value_heads,
     write<&Config::linear_num_value_heads>,
     {.key = "ssm.time_step_rank",
      .read = read_gguf_of<LayerType::kDelta>,
      .write = write_gguf_of<LayerType::kDelta, &Config::linear_num_value_heads>}},
    {"linear_value_head_dim",
     false,
     read_value_head_dim,
     write<&Config::linear_value_head_dim>,
     {.key = "ssm.inner_size",  // of all heads
      .read = [](const GgufKey& key, File f) -> OptionalSetting {
        if (state_layers(f.family) != LayerType::kDelta || !f.has(key.key)) return {};
        return Setting(f.size(key.key) / f.size("ssm.time_step_rank"));
      },
      .write = [](const Config& c, const Family& family) -> OptionalSetting {
        if (state_layers(family) != LayerType::kDelta) return {};
        return Setting(c.linear_value_head_dim * c.linear_num_value_heads);
      }}},
    // Mamba layers
    {"mamba_n_heads",
     false,
     read_mamba_size<&Config::mamba_num_heads>,
     write<&Config::mamba_num_heads>,
     {.key = "ssm.time_step_rank", .is_rare = true, .read = read_gguf_of<LayerType::kMamba>}},
    {"mamba_expand", false, nullptr,
     [](const Config& c, const Family&) -> OptionalSetting {
       return Setting(c.mamba_num_heads * c.mamba_head_dim / c.hidden_size);
     }},
    {"mamba_d_ssm",
     false,
     nullptr,
     write_mamba_inner_size,
     {.key = "ssm.inner_size",
      .is_rare = true,
      .is_of_all = true,
      .read = read_gguf_of<LayerType::kMamba>,
      .write = write_mamba_inner_size}},
    {"mamba_d_head", false, read_mamba_head_dim, write<&Config::mamba_head_dim>},
    {"mamba_n_groups",
     false,
     [](Field field, Values values, const Family& family, Config& c) {
       if (family.defaults.mamba_num_heads == 0) return;
       c.mamba_num_groups = size_of(values, field.key, c.mamba_num_groups);
       if (c.mamba_num_heads % c.mamba_num_groups != 0)
         values.fail_expected(
             field.key, "a divisor of the number of heads " + std::to_string(c.mamba_num_heads));
     },
     write<&Config::mamba_num_groups>,
     {.key = "ssm.group_count", .is_rare = true, .read = read_gguf_of<LayerType::kMamba>}},
    {"mamba_d_state",
     false,
     [](Field field, Values values, const Family& family, Config& c) {
       if (family.defaults.mamba_num_heads == 0) return;
       c.mamba_state_size =
           size_of(values, field.key, c.mamba_state_size, kLargestSize / c.mamba_num_groups);
     },
     write<&Config::mamba_state_size>,
     {.key = "ssm.state_size", .is_rare = true, .read = read_gguf_of<LayerType::kMamba>}},
    {"mamba_proj_bias",
     false,
     read_flag<&Config::mamba_bias>,
     write<&Config::mamba_bias>,
     {.read = [](const GgufKey&, File f) { return has_mamba_bias(f, ".ssm_in.bias"); }}},
    {"mamba_conv_bias",
     false,
     read_flag<&Config::mamba_conv_bias>,
     write<&Config::mamba_conv_bias>,
     {.read = [](const GgufKey&, File f) { return has_mamba_bias(f, ".ssm_conv1d.bias"); }}},
    {"time_step_limit", false, read_time_step_limit, write_time_step_limit},
    // blocks
    {"residual_in_fp32", false, read_flag<&Config::residual_in_f32>,
     write<&Config::residual_in_f32>},
    {"use_parallel_residual",
     false,
     read_flag<&Config::parallel_residual>,
     write<&Config::parallel_residual>,
     {.key = "use_parallel_residual",
      .read = [](const GgufKey& key, File f) -> OptionalSetting {
        // llama.cpp's conversion writes its default.
        if (lists(f.family, key.key)) return Setting(!f.has_tensor("blk.0.ffn_norm.weight"));
        return own_value(key, f);
      }}},
    {"parallel_attn", false,
     [](Field field, Values values, const Family&, Config& c) {
       c.parallel_residual = values.flag_or("new_decoder_architecture", false) ||
                             values.flag_or(field.key, c.parallel_residual);
     },
     write<&Config::parallel_residual>},
    {"num_ln_in_parallel_attn",
     false,
     read_parallel_norms,
     [](const Config& c, const Family&) -> OptionalSetting {
       return has_groups(c) ? Setting(int64_t(1 + c.parallel_mlp_norm)) : Setting();
     },
     {.read = [](const GgufKey&, File f) -> OptionalSetting {
       if (!lists(f.family, "num_ln_in_parallel_attn")) return {};
       return Setting(int64_t(1 + f.has_tensor("blk.0.attn_norm_2.weight")));
     }}},
    // experts
    {kOptionalExperts,
     false,
     nullptr,
     [](const Config& c, const Family&) -> OptionalSetting { return Setting(c.num_experts > 0); },
     {.read = [](const GgufKey&, File f) -> OptionalSetting {
       if (!lists(f.family, kOptionalExperts)) return {};
       return Setting(f.real_or("expert_count", 0) > 0);
     }}},
    {"num_experts",
     false,
     [](Field field, Values values, const Family& family, Config& c) {
       if (lists(family, kOptionalExperts) ? !values.flag_or(kOptionalExperts, false)
                                           : !has_experts(family))
         return;
       const bool none = family.may_lack_experts && values.integer_or(field.key, 1) == 0;
       c.num_experts = none ? 0 : size_of(values, field.key, c.num_experts);
     },
     write_of_experts<&Config::num_experts>,
     {.key = "expert_count", .read = gguf_experts}},
    {"num_experts_per_tok",
     false,
     read_experts_per_token,
     write_of_experts<&Config::num_experts_per_tok>,
     {.key = "expert_used_count", .read = gguf_experts_per_token}},
    {"moe_intermediate_size",
     false,
     read_expert_size,
     write_of_experts<&Config::moe_intermediate_size>,
     {.key = kExpertSize,
      .is_of_all = true,
      .read = gguf_expert_size,
      .write = [](const Config& c, const Family& family) -> OptionalSetting {
        if (!lists(family, "moe_intermediate_size") && !has_gguf_key(family, kExpertSize))
          return {};
        return write_of_experts<&Config::moe_intermediate_size>(c, family);
      }}},
    {"shared_expert_intermediate_size",
     false,
     [](Field field, Values values, const Family&, Config& c) {
       if (c.shared_expert_intermediate_size > 0)
         c.shared_expert_intermediate_size =
             size_of(values, field.key, c.shared_expert_intermediate_size);
     },
     write<&Config::shared_expert_intermediate_size>,
     {.key = kSharedSize,
      .read = gguf_shared_expert_size,
      .write = [](const Config& c, const Family& family) -> OptionalSetting {
        if (lists(family, "shared_intermediate_size")) return {};
        if (!lists(family, "shared_expert_intermediate_size") && !has_gguf_key(family, kSharedSize))
          return {};
        return Setting(c.shared_expert_intermediate_size);
      }}},
    // Of an MLP beside the experts, or of all MLPs in a model without experts.
    {"shared_intermediate_size",
     false,
     [](Field field, Values values, const Family& family, Config& c) {
       if (!lists(family, field.key)) return;
       int64_t& size = c.num_experts > 0 ? c.shared_expert_intermediate_size : c.intermediate_size;
       size = size_of(values, field.key, kDefaultSharedSize);
     },
     [](const Config& c, const Family&) -> OptionalSetting {
       return Setting(c.num_experts > 0 ? c.shared_expert_intermediate_size : c.intermediate_size);
     },
     {.key = kSharedSize, .is_rare = true, .read = gguf_shared_size}},
    {"n_shared_experts",
     false,
     read_shared_experts,
     write_shared_experts,
     {.key = "expert_shared_count"}},
    {"scoring_func",
     false,
     read_router_scores,
     write_router_scores,
     {.key = "expert_gating_func",
      .is_of_all = true,
      .read = gguf_router_scores,
      .write = write_gguf_router_scores}},
    {"n_group", false, read_groups, write<&Config::n_group>, {.key = "expert_group_count"}},
    {"topk_group",
     false,
     nullptr,
     write<&Config::topk_group>,
     {.key = "expert_group_used_count",
      .read = [](const GgufKey& key, File f) -> OptionalSetting {
        return lists(f.family, "topk_group") ? own_value(key, f) : std::nullopt;
      }}},
    {"topk_method", false, read_choice, write_choice, {.is_of_all = true, .read = gguf_choice}},
    {"norm_topk_prob",
     false,
     read_flag<&Config::norm_topk_prob>,
     write<&Config::norm_topk_prob>,
     {.key = kWeightsNorm,
      .is_of_all = true,
      .write = write_gguf_of_all<&Config::norm_topk_prob, kWeightsNorm>}},
    {"norm_topk_min",
     false,
     read_positive<&Config::norm_topk_min>,
     write<&Config::norm_topk_min>},
    {"routed_scaling_factor",
     false,
     read_positive<&Config::routed_scaling_factor>,
     write<&Config::routed_scaling_factor>,
     {.key = "expert_weights_scale", .read = null_for_0}},
    {"swiglu_limit", false, read_positive<&Config::swiglu_limit>, write<&Config::swiglu_limit>},
    {"swiglu_alpha", false, read_positive<&Config::swiglu_alpha>, write<&Config::swiglu_alpha>},
    {"quantization_config", false,
     [](Field field, Values values, const Family& family, Config&) {
       const Settings* const group = values.group(field.key);
       if (lists(family, field.key) && group && group->text("quant_method") != "mxfp4")
         group->fail_expected("quant_method", "\"mxfp4\"");
     }},
    {"decoder_sparse_step", false},
    {"first_k_dense_replace",
     false,
     nullptr,
     write_sparse<&SparseLayers::first>,
     {.key = "leading_dense_block_count"}},
    {"moe_layers", false, nullptr, write_listed_layers},
    {"moe_layer_interval",
     false,
     nullptr,
     [](const Config& c, const Family& family) -> OptionalSetting {
       // Without a key of the first layer, the interval says it.
       const SparseLayers layers(c);
       return Setting(lists(family, "moe_layers") ? layers.first + 1 : layers.interval);
     },
     {.key = "interleave_moe_layer_step"}},
    {"moe_layer_end_index", false, nullptr, write_sparse<&SparseLayers::last>},
    {"mlp_only_layers", false, read_sparse_layers, write_dense_layers},
    // multipliers and caps
    {"embedding_multiplier",
     false,
     [](Field field, Values values, const Family& family, Config& c) {
       const double root = std::sqrt(double(c.hidden_size));
       switch (family.embedding_scale) {
         case EmbeddingScale::kOfConfig:
           c.embedding_scale = positive(values, field.key, 1);
           break;
         case EmbeddingScale::kRoot:
           c.embedding_scale = root;
           break;
         case EmbeddingScale::kRootInBf16:
           c.embedding_scale = double(to_float(round_to<bf16>(root)));
           break;
       }
     },
     write<&Config::embedding_scale>,
     {.key = "embedding_scale"}},
    {"residual_multiplier",
     false,
     read_positive<&Config::residual_multiplier>,
     write<&Config::residual_multiplier>,
     {.key = "residual_scale"}},
    {"logits_scaling",
     false,
     read_positive<&Config::logits_scaling>,
     write<&Config::logits_scaling>,
     {.key = kLogitScale,
      .read = [](const GgufKey& key, File f) -> OptionalSetting {
        return lists(f.family, kLogitScale) ? std::nullopt : own_value(key, f);
      }}},
    {kLogitScale,
     false,
     [](Field field, Values values, const Family&, Config& c) {
       if (values.has(field.key)) c.logits_scaling = 1 / positive(values, field.key);
     },
     [](const Config& c, const Family&) -> OptionalSetting {
       return Setting(1 / c.logits_scaling);
     },
     {.key = kLogitScale,
      .read = [](const GgufKey& key, File f) -> OptionalSetting {
        return lists(f.family, kLogitScale) ? own_value(key, f) : std::nullopt;
      }}},
    {"attention_multiplier",
     false,
     read_positive_or_null<&Config::attention_multiplier>,
     write_or_null<&Config::attention_multiplier>,
     {.key = "attention.scale", .read = null_for_0}},
    {"query_pre_attn_scalar",
     false,
     read_positive<&Config::query_pre_attn_scalar>,
     [](const Config& c, const Family&) -> OptionalSetting {
       const double scalar = c.query_pre_attn_scalar;
       if (scalar <= 0) return Setting();
       // transformers accepts it only as an integer.
       const bool is_integer = scalar == double(int64_t(scalar));
       return is_integer ? Setting(int64_t(scalar)) : Setting(scalar);
     },
     // Files do not say it: the largest Gemma 2 and 3 scale by the heads' share of hidden_size.
     {.read = [](const GgufKey&, File f) -> OptionalSetting {
       if (f.family.defaults.query_pre_attn_scalar == 0) return {};
       const bool is_largest = f.size("block_count") == f.family.gguf_share_layers;
       return Setting(double(is_largest ? share_of_heads(f) : head_dim_of(f)));
     }}},
    {"attn_logit_softcapping",
     false,
     read_positive_or_null<&Config::attn_logit_softcapping>,
     write_or_null<&Config::attn_logit_softcapping>,
     {.key = "attn_logit_softcapping", .is_rare = true}},
    {"final_logit_softcapping",
     false,
     read_positive_or_null<&Config::final_logit_softcapping>,
     write_or_null<&Config::final_logit_softcapping>,
     {.key = "final_logit_softcapping"}},
    {"",
     false,
     nullptr,
     nullptr,
     {.key = "rope.scaling.type",
      .is_rare = true,
      .read = [](const GgufKey&, File) -> OptionalSetting { return {}; },
      .write = [](const Config&, const Family&) -> OptionalSetting { return Setting("none"); }}},
    // Falcon's: all queries, all keys, all values.
    {"",
     false,
     nullptr,
     nullptr,
     {.key = "tensor_data_layout",
      .is_rare = true,
      .read = [](const GgufKey&, File) -> OptionalSetting { return {}; },
      .write = [](const Config&, const Family&) -> OptionalSetting { return Setting("jploski"); }}},
};

}  // namespace

std::span<const ConfigField> config_fields() { return kFields; }

bool lacks_key(const Family& family, const ConfigField& field) {
  return !field.key.empty() && contains(family.lacks_keys, field.key);
}

bool has_own_name(const Family& family, const ConfigField& field) {
  return (field.is_common && !lacks_key(family, field)) || lists(family, field.key);
}

bool reads_key(const Family& family, const ConfigField& field) {
  return has_own_name(family, field) || renames(family, field.key);
}

}  // namespace wick
