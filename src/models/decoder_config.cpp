// Conversion between config.json and DecoderConfig.
#include <algorithm>
#include <limits>

#include "wick/models/decoder.h"

namespace wick {
namespace {

constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();  // for every size

/// Defaults of a model_type for keys missing from config.json, as in transformers.
struct Family {
  const char* model_type;
  const char* architecture;
  double rms_norm_eps;
  int64_t max_position_embeddings;
};
constexpr Family kFamilies[] = {
    {"llama", "LlamaForCausalLM", 1e-6, 2048},
};

const Family& family_of(const Settings& settings) {
  const std::string model_type = settings.text("model_type");
  for (const Family& family : kFamilies)
    if (family.model_type == model_type) return family;
  std::string known;
  for (const Family& family : kFamilies)
    known += (known.empty() ? "\"" : ", \"") + std::string(family.model_type) + "\"";
  settings.fail_expected("model_type", known);
}

int64_t size_of(const Settings& settings, const char* key, int64_t otherwise = 0,
                int64_t highest = kLargest) {
  const int64_t size =
      otherwise > 0 ? settings.integer_or(key, otherwise, 1) : settings.integer(key, 1);
  if (size > highest) settings.fail_expected(key, "at most " + std::to_string(highest));
  return size;
}

double positive(const Settings& settings, const char* key, double otherwise) {
  const double value = settings.real_or(key, otherwise);
  if (value <= 0) settings.fail_expected(key, "a number above 0");
  return value;
}

/// Reads "rope_theta". transformers 5 stores it in "rope_parameters", next to the scaling settings.
double rope_theta_of(const Settings& settings) {
  const Settings* rope = settings.group("rope_parameters");
  for (const Settings* scaling : {rope, settings.group("rope_scaling")}) {
    if (!scaling) continue;
    for (const char* key : {"rope_type", "type"})
      if (scaling->text_or(key, "default") != "default") scaling->fail_expected(key, "\"default\"");
  }
  return positive(rope && rope->has("rope_theta") ? *rope : settings, "rope_theta", 10000);
}

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

void require_heads_fit(const Settings& settings, const DecoderConfig& c) {
  if (c.num_attention_heads % c.num_key_value_heads != 0)
    settings.fail_expected("num_key_value_heads", "a divisor of num_attention_heads " +
                                                      std::to_string(c.num_attention_heads));
  if (!settings.has("head_dim") && c.hidden_size % c.num_attention_heads != 0)
    settings.fail_expected("num_attention_heads",
                           "a divisor of hidden_size " + std::to_string(c.hidden_size));
  if (c.head_dim % 2 != 0)
    fail(ErrorCode::kFormat, settings.where(), "\"head_dim\": expected an even number, got ",
         c.head_dim);
  for (const int64_t heads : {c.num_attention_heads, c.num_key_value_heads})
    check(heads * c.head_dim <= kLargest, ErrorCode::kFormat, settings.where(), heads, " heads of ",
          c.head_dim, " exceed ", kLargest);
}

}  // namespace

DecoderConfig decoder_config(const Settings& settings) {
  const Family& family = family_of(settings);
  DecoderConfig c;
  c.model_type = family.model_type;
  c.vocab_size = size_of(settings, "vocab_size");
  c.hidden_size = size_of(settings, "hidden_size");
  c.intermediate_size = size_of(settings, "intermediate_size");
  c.num_hidden_layers = size_of(settings, "num_hidden_layers", 0, DecoderConfig::kMostLayers);
  c.num_attention_heads = size_of(settings, "num_attention_heads");
  c.num_key_value_heads = size_of(settings, "num_key_value_heads", c.num_attention_heads);
  c.head_dim =
      size_of(settings, "head_dim", std::max<int64_t>(1, c.hidden_size / c.num_attention_heads));
  c.max_position_embeddings =
      size_of(settings, "max_position_embeddings", family.max_position_embeddings);
  c.rms_norm_eps = positive(settings, "rms_norm_eps", family.rms_norm_eps);
  c.rope_theta = rope_theta_of(settings);
  c.initializer_range = positive(settings, "initializer_range", 0.02);
  c.attention_bias = settings.flag_or("attention_bias", false);
  c.mlp_bias = settings.flag_or("mlp_bias", false);
  c.tie_word_embeddings = settings.flag_or("tie_word_embeddings", false);
  c.dtype = dtype_of(settings);
  c.bos_token_ids = settings.integers("bos_token_id");
  c.eos_token_ids = settings.integers("eos_token_id");
  if (settings.text_or("hidden_act", "silu") != "silu")
    settings.fail_expected("hidden_act", "\"silu\"");
  require_heads_fit(settings, c);
  return c;
}

Settings to_settings(const DecoderConfig& c) {
  const auto family = std::find_if(std::begin(kFamilies), std::end(kFamilies),
                                   [&](const Family& f) { return f.model_type == c.model_type; });
  check(family != std::end(kFamilies), ErrorCode::kInvalidArgument, "config",
        "unknown model_type \"", c.model_type, "\"");
  Settings s;
  s.set("architectures", Setting::List{family->architecture});
  s.set("model_type", c.model_type);
  s.set("vocab_size", c.vocab_size);
  s.set("hidden_size", c.hidden_size);
  s.set("intermediate_size", c.intermediate_size);
  s.set("num_hidden_layers", c.num_hidden_layers);
  s.set("num_attention_heads", c.num_attention_heads);
  s.set("num_key_value_heads", c.num_key_value_heads);
  s.set("head_dim", c.head_dim);
  s.set("max_position_embeddings", c.max_position_embeddings);
  s.set("hidden_act", "silu");
  s.set("rms_norm_eps", c.rms_norm_eps);
  s.set("rope_theta", c.rope_theta);
  s.set("initializer_range", c.initializer_range);
  s.set("attention_bias", c.attention_bias);
  s.set("mlp_bias", c.mlp_bias);
  s.set("tie_word_embeddings", c.tie_word_embeddings);
  s.set("torch_dtype", dtype_text(c.dtype));
  s.set("bos_token_id", ids_setting(c.bos_token_ids));
  s.set("eos_token_id", ids_setting(c.eos_token_ids));
  return s;
}

}  // namespace wick
