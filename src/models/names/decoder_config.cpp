// Conversion between config.json, GGUF's metadata and DecoderConfig, by the table of fields. Source
// of GGUF's keys: https://github.com/ggml-org/llama.cpp (MIT), whose conversion writes the files.
#include "models/decoder/layer_sizes.h"
#include "models/names/config_fields.h"
#include "models/names/decoder_names.h"
#include "models/names/other_keys.h"
#include "models/names/rope_settings.h"
#include "models/names/typed_settings.h"

namespace wick {
namespace {

/// The values of the text part of a model of text and images, with those that stand beside it; else
/// all values.
Settings text_settings(const Settings& settings) {
  const Settings* text = settings.group("text_config");
  const std::string model_type = settings.text("model_type");
  if (!text || !contains(kTextAndImages, model_type)) return settings;
  Settings all(*text);
  if (!all.has("model_type")) all.set("model_type", model_type + "_text");
  for (const char* key :
       {"torch_dtype", "dtype", "bos_token_id", "eos_token_id", "tie_word_embeddings"})
    if (const Setting* value = settings.find(key)) all.set(key, *value);
  return all;
}

const Family& family_of_folder(const Settings& settings) {
  const std::string model_type = settings.text("model_type");
  if (const Family* family = find_family(model_type)) return *family;
  std::string known;
  for (const Family* family : families())
    known += (known.empty() ? "\"" : ", \"") + std::string(family->model_type) + "\"";
  settings.fail_expected("model_type", known);
}

// ---- values under wick's names

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

/// The entries of config.json that the family reads.
Settings folder_values(const Family& family, const Settings& settings,
                       std::vector<std::string>* ignored) {
  Settings values(settings.where());
  for (const Settings::Entry& entry : settings.entries()) {
    const auto& [key, value] = entry;
    bool is_read = false;
    for (const auto& [file, wick] : family.renamed_keys)
      if (file == key && !file.empty()) values.set(std::string(wick), value), is_read = true;
    for (const ConfigField& field : config_fields())
      if (field.key == key && !is_read && has_own_name(family, field))
        values.set(key, value), is_read = true;
    if (!is_read) pass_over(settings, entry, family, ignored);
  }
  return values;
}

/// The values of fields by a GGUF file's keys and tensors.
Settings gguf_values(const GgufFile& file, std::vector<std::string>* ignored) {
  Settings values(file.metadata.where());
  std::vector<std::string_view> known(std::begin(kOtherGgufKeys), std::end(kOtherGgufKeys));
  for (const ConfigField& field : config_fields()) {
    const GgufKey& key = field.gguf;
    if (!key.key.empty()) known.push_back(key.key);
    if (lacks_key(file.family, field)) continue;
    OptionalSetting value;
    if (key.read)
      value = key.read(key, file);
    else if (const Setting* own = key.key.empty() ? nullptr : file.find(key.key))
      value = *own;
    if (!value) continue;
    if (key.is_of_all || reads_key(file.family, field))
      values.set(std::string(field.key), *value);
    else
      pass_over(file.metadata, {std::string(field.key), *value}, file.family, ignored);
  }
  for (const auto& [key, value] : file.keys())
    if (!contains(known, key)) ignored->push_back(file.name(key));
  return values;
}

void require_heads_fit(const Settings& settings, const DecoderConfig& c, const Family& family) {
  if (c.num_attention_heads % c.num_key_value_heads != 0)
    settings.fail_expected("num_key_value_heads", "a divisor of num_attention_heads " +
                                                      std::to_string(c.num_attention_heads));
  if (!settings.has("head_dim") && family.defaults.head_dim == 0 && c.kv_lora_rank == 0 &&
      c.hidden_size % c.num_attention_heads != 0)
    settings.fail_expected("num_attention_heads",
                           "a divisor of hidden_size " + std::to_string(c.hidden_size));
  if (c.head_dim % 2 != 0)
    fail(ErrorCode::kFormat, settings.where(), "\"head_dim\": expected an even number, got ",
         c.head_dim);
  for (const LayerType type : {LayerType::kSliding, LayerType::kFull})
    for (const int64_t heads : {c.num_attention_heads, key_value_heads_of(c, type)})
      check(heads * head_dim_of(c, type) <= kLargestSize, ErrorCode::kFormat, settings.where(),
            heads, " heads of ", head_dim_of(c, type), " exceed ", kLargestSize);
}

/// Checks that the config is one of a folder.
void require_folders_form(const DecoderConfig& c, const Family& family) {
  const bool has_own_pairs =
      c.rope_pairs == family.defaults.rope_pairs || contains(family.keys, "rope_interleave");
  const bool has_own_divisors = family.proportional_rope > 0 && is_proportional(c.rope_scaling);
  check(has_own_pairs && (c.rope_scaling.divisors.empty() || has_own_divisors) &&
            c.norm_adds_one == family.defaults.norm_adds_one && !c.linear_heads_tiled,
        ErrorCode::kUnsupported, "config",
        "expected weights as in folders of transformers, got those of a GGUF file");
  const bool output_bias = has_output_bias(family, c.attention_bias);
  const bool has_key =
      std::any_of(family.renamed_keys.begin(), family.renamed_keys.end(),
                  [](const Rename& rename) { return rename.wick == "attention_output_bias"; });
  check(has_key || c.attention_output_bias == output_bias, ErrorCode::kUnsupported, "config",
        "attention_output_bias: expected ", output_bias ? "true" : "false", " in ",
        family.model_type, " models beside an attention_bias of ",
        c.attention_bias ? "true" : "false");
  check(!family.derives_head_dim || c.head_dim * c.num_attention_heads == c.hidden_size,
        ErrorCode::kUnsupported, "config", "head_dim: expected the share of ",
        c.num_attention_heads, " heads in a hidden_size of ", c.hidden_size, ", got ", c.head_dim);
}

/// Reads the fields from values under wick's names. c: has the defaults.
DecoderConfig read_fields(const Family& family, const Settings& values, DecoderConfig c) {
  c.model_type = family.model_type;
  for (const ConfigField& field : config_fields())
    if (field.read) field.read(field, values, family, c);
  require_heads_fit(values, c, family);
  return c;
}

}  // namespace

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

DecoderConfig decoder_config(const Settings& file) {
  const Settings settings = text_settings(file);
  const Family& family = family_of_folder(settings);
  DecoderConfig defaults = family.defaults;
  const Settings values = folder_values(family, settings, &defaults.ignored_keys);
  return read_fields(family, values, std::move(defaults));
}

DecoderConfig decoder_config_of_gguf(const Settings& metadata, const TensorSource& tensors) {
  const GgufFile file(metadata, tensors);
  const Family& family = file.family;
  DecoderConfig defaults = family.defaults;
  defaults.rope_pairs = family.gguf_pairs;
  defaults.rope_scaling = {};
  defaults.norm_adds_one = false;  // the files' weights have it added
  defaults.norm_topk_prob = family.gguf_norm_topk_prob;
  defaults.rope_scaling = {};
  const Settings values = gguf_values(file, &defaults.ignored_keys);
  DecoderConfig c = read_fields(family, values, std::move(defaults));
  c.linear_heads_tiled =
      family.gguf_tiled_heads && c.linear_num_key_heads != c.linear_num_value_heads;
  const char* const divisors = "rope_freqs.weight";
  if (!file.has_tensor(divisors)) {
    check(family.proportional_rope == 0, ErrorCode::kFormat, metadata.where(),
          "expected a tensor \"", divisors, "\"");
    return c;
  }
  c.rope_scaling.divisors = file.elements(divisors);
  const int64_t pairs = (c.rotary_dim > 0 ? c.rotary_dim : head_dim_of(c, LayerType::kFull)) / 2;
  check(int64_t(c.rope_scaling.divisors.size()) == pairs, ErrorCode::kFormat, metadata.where(),
        "tensor \"", divisors, "\": expected ", pairs, " elements, got ",
        c.rope_scaling.divisors.size());
  // All pairs turn.
  if (family.proportional_rope > 0 &&
      std::count(c.rope_scaling.divisors.begin(), c.rope_scaling.divisors.end(), 1.0) == pairs)
    c.rope_scaling.divisors.clear();
  return c;
}

Settings to_settings(const DecoderConfig& c) {
  const Family* family = find_family(c.model_type);
  check(family, ErrorCode::kInvalidArgument, "config", "unknown model_type \"", c.model_type, "\"");
  require_folders_form(c, *family);
  Settings s;
  s.set("architectures", Setting::List{family->architecture});
  s.set("model_type", c.model_type);
  for (const ConfigField& field : config_fields()) {
    if (!field.write || !reads_key(*family, field)) continue;
    const OptionalSetting value = field.write(c, *family);
    if (!value) continue;
    for (const auto& [file, wick] : family->renamed_keys)
      if (wick == field.key) s.set(std::string(file), *value);
    if (has_own_name(*family, field)) s.set(std::string(field.key), *value);
  }
  return s;
}

Settings gguf_settings(const DecoderConfig& c) {
  const Family& family = *find_family(c.model_type);
  check(!family.gguf.empty(), ErrorCode::kUnsupported, "config", "GGUF has no architecture for ",
        c.model_type, " models");
  require_folders_form(c, family);
  check(c.kv_lora_rank == 0 || c.rope_pairs == family.gguf_pairs, ErrorCode::kUnsupported, "config",
        "\"rope_interleave\": expected true in a GGUF file, got false");
  Settings s("config");
  for (const ConfigField& field : config_fields()) {
    const GgufKey& key = field.gguf;
    if (key.key.empty() || (key.is_rare && !has_gguf_key(family, key.key))) continue;
    if (lacks_key(family, field)) {
      if (key.is_needed) s.set(std::string(key.key), int64_t{0});
      continue;
    }
    const auto write = key.write ? key.write : reads_key(family, field) ? field.write : nullptr;
    const OptionalSetting value = write ? write(c, family) : std::nullopt;
    const bool is_null = !value || std::holds_alternative<std::nullptr_t>(value->value);
    if (!is_null) s.set(std::string(key.key), *value);
  }
  return s;
}

}  // namespace wick
