// Source: https://github.com/ggml-org/llama.cpp (MIT), whose conversion writes the same keys and
// tensors.
#include "load/gguf_of_folder.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numbers>

#include "load/file_types.h"
#include "load/folder_texts.h"
#include "load/gguf_tokenizer.h"
#include "models/gguf_names.h"
#include "wick/io/file.h"
#include "wick/io/json.h"
#include "wick/io/safetensors.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

/// Rows are verified against llama.cpp's files.
constexpr GgufArchitecture kArchitectures[] = {{"llama", "llama", true},
                                               {"mistral", "llama", true},
                                               {"qwen2", "qwen2", false},
                                               {"qwen3", "qwen3", false},
                                               {"gemma3_text", "gemma3", false}};

const GgufArchitecture& architecture_of(const std::string& folder, const DecoderConfig& config) {
  const GgufArchitecture* const row = gguf_architecture(config.model_type);
  check(row, ErrorCode::kUnsupported, folder,
        "wick does not write GGUF files of a model of type \"", config.model_type, "\"");
  return *row;
}

// ---- tensors

/// Rows of heads, whose rope pairs elements i and i + D/2, ordered so that the pairs are neighbours.
Tensor with_adjacent_pairs(const Tensor& x, int64_t heads) {
  const int64_t rows = x.size(0), columns = x.numel() / rows;
  return reshape(transpose(reshape(x, {heads, 2, rows / heads / 2, columns}), 1, 2), x.shape());
}

DType dtype_of(const std::string& name, const TensorInfo& info, std::optional<DType> dtype) {
  if (info.shape.size() <= 1 || name.ends_with("_norm.weight")) return DType::kF32;
  if (dtype) return *dtype;
  const bool is_kept =
      info.dtype == DType::kF32 || info.dtype == DType::kF16 || info.dtype == DType::kBf16;
  return is_kept ? info.dtype : DType::kF32;
}

Tensor converted(const Tensor& x, const std::string& hub, DType dtype, const DecoderConfig& config,
                 bool adjacent_pairs) {
  Tensor y = x;
  if (config.norm_adds_one && is_norm_weight(hub)) y = add(cast(y, DType::kF32), 1.0);
  const int64_t heads = heads_of(hub, config);
  if (adjacent_pairs && heads > 0) y = with_adjacent_pairs(y, heads);
  return cast(y, dtype);
}

TensorSource tensors_of(const TensorSource& folder, const DecoderConfig& config,
                        const GgufArchitecture& architecture, std::optional<DType> dtype) {
  constexpr const char* kDivisors = "rope_freqs.weight";
  const TensorSource source = decoder_tensors(folder, config);
  TensorSource result{source.where, {}, {}};
  std::map<std::string, std::string> hubs;  // by GGUF's name
  for (const auto& [hub, info] : source.tensors) {
    const std::optional<std::string> name = gguf_tensor_name(hub, config);
    check(name.has_value(), ErrorCode::kFormat, source.where, "tensor \"", hub,
          "\" is not part of a model of type ", config.model_type);
    const int64_t heads = heads_of(hub, config);
    check(heads == 0 || (info.shape.size() > 0 && info.shape[0] == heads * config.head_dim),
          ErrorCode::kFormat, source.where, "tensor \"", hub, "\": expected ",
          heads * config.head_dim, " rows, got ", info.shape);
    result.tensors[*name] = {dtype_of(*name, info, dtype), info.shape};
    hubs[*name] = hub;
  }
  Tensor divisors;
  if (config.rope_scaling.type == RopeScalingType::kLlama3) {
    divisors = llama3_divisors(config);
    result.tensors[kDivisors] = {DType::kF32, divisors.shape()};
  }
  result.load = [source, hubs, divisors, config, infos = result.tensors,
                 adjacent = architecture.adjacent_pairs](const std::string& name,
                                                         const Device& device) {
    if (name == kDivisors) return divisors.to(device);
    const std::string& hub = hubs.at(name);
    return converted(source.load(hub, Device::cpu()), hub, infos.at(name).dtype, config, adjacent)
        .to(device);
  };
  return result;
}

// ---- metadata

/// "135M" for a number of parameters, as llama.cpp writes it.
std::string size_label(double parameters) {
  const auto [unit, letter] = parameters > 1e12  ? std::pair(1e12, "T")
                              : parameters > 1e9 ? std::pair(1e9, "B")
                              : parameters > 1e6 ? std::pair(1e6, "M")
                                                 : std::pair(1e3, "K");
  const double scaled = parameters / unit;
  const int digits = std::nearbyint(scaled) >= 10 ? 0 : std::nearbyint(scaled) >= 1 ? 1 : 2;
  char text[64];
  std::snprintf(text, sizeof text, "%.*f%s", digits, scaled, letter);
  return text;
}

class Fields {
 public:
  explicit Fields(const char* architecture) : prefix_(std::string(architecture) + ".") {}

  void size(const std::string& key, int64_t value) { add(prefix_ + key, value, GgufType::kU32); }
  void real(const std::string& key, double value) { add(prefix_ + key, value, GgufType::kF32); }
  void text(const std::string& key, const char* value) {
    add(prefix_ + key, value, GgufType::kText);
  }
  void add(const std::string& key, Setting value, GgufType type) {
    fields.push_back({key, std::move(value), type});
  }

  std::vector<GgufField> fields;

 private:
  std::string prefix_;
};

/// The values of a text model; those of a model of text and images have them in a group.
const Settings& text_settings(const Settings& config) {
  const Settings* const text = config.group("text_config");
  return text ? *text : config;
}

/// The group that states how rope is scaled, in transformers 4 or 5; nullptr if there is none.
const Settings* rope_settings(const Settings& config) {
  for (const char* key : {"rope_parameters", "rope_scaling"})
    if (const Settings* const rope = config.group(key)) {
      const Settings* const full = rope->group("full_attention");
      return full ? full : rope;
    }
  return nullptr;
}

void add_scaling(const DecoderConfig& config, const Settings& raw, Fields& fields) {
  const RopeScaling& s = config.rope_scaling;
  const Settings* const rope = rope_settings(raw);
  switch (s.type) {
    case RopeScalingType::kNone:
    case RopeScalingType::kLlama3:  // a tensor
      return;
    case RopeScalingType::kLinear:
      fields.text("rope.scaling.type", "linear");
      fields.real("rope.scaling.factor", s.factor);
      return;
    case RopeScalingType::kYarn:
      check(s.truncate, ErrorCode::kUnsupported, raw.where(),
            "GGUF files do not hold rope's \"truncate\": false");
      fields.text("rope.scaling.type", "yarn");
      fields.real("rope.scaling.factor", s.factor);
      fields.size("rope.scaling.original_context_length", s.original_max_position_embeddings);
      if (rope && rope->has("attention_factor"))
        fields.real("rope.scaling.yarn_attn_factor", s.attention_factor);
      if (rope && rope->has("beta_fast")) fields.real("rope.scaling.yarn_beta_fast", s.beta_fast);
      if (rope && rope->has("beta_slow")) fields.real("rope.scaling.yarn_beta_slow", s.beta_slow);
      return;
    default:
      break;
  }
  fail(ErrorCode::kUnsupported, raw.where(), "GGUF files do not hold this scaling of rope");
}

/// The distance of the layers that do not slide, all others sliding. Errors: kUnsupported if the
/// layers have no such pattern.
int64_t sliding_pattern(const DecoderConfig& config, const std::string& where) {
  const std::vector<LayerType>& types = config.layer_types;
  int64_t pattern = 1;
  while (pattern <= int64_t(types.size()) && types[size_t(pattern - 1)] == LayerType::kSliding)
    pattern++;
  for (size_t i = 0; i < types.size(); i++)
    check((types[i] == LayerType::kSliding) == ((int64_t(i) + 1) % pattern != 0),
          ErrorCode::kUnsupported, where, "\"layer_types\": expected every ", pattern,
          "th layer to be full, as GGUF files have it");
  return pattern;
}

bool slides(const DecoderConfig& config) {
  return std::find(config.layer_types.begin(), config.layer_types.end(), LayerType::kSliding) !=
         config.layer_types.end();
}

/// Keys of gemma 3, and the errors of what its files cannot say.
void add_gemma3(const DecoderConfig& config, const Settings& raw, Fields& fields) {
  constexpr int64_t kUsualPattern = 6, kLargestLayers = 62;
  check(config.attn_logit_softcapping == 0, ErrorCode::kUnsupported, raw.where(),
        "\"attn_logit_softcapping\": a gemma 3 of a GGUF file has none");
  const double scalar = config.num_hidden_layers == kLargestLayers
                            ? double(config.hidden_size / config.num_attention_heads)
                            : double(config.head_dim);
  check(config.query_pre_attn_scalar == scalar, ErrorCode::kUnsupported, raw.where(),
        "\"query_pre_attn_scalar\": a gemma 3 of a GGUF file has ", scalar, ", got ",
        config.query_pre_attn_scalar);
  if (config.final_logit_softcapping > 0)
    fields.real("final_logit_softcapping", config.final_logit_softcapping);
  if (!slides(config)) return;
  fields.size("attention.sliding_window", config.sliding_window);
  if (const int64_t pattern = sliding_pattern(config, raw.where()); pattern != kUsualPattern)
    fields.size("attention.sliding_window_pattern", pattern);
}

int64_t file_type_number(DType dtype) {
  for (const FileType& type : kFileTypes)
    if (type.dtype == dtype) return type.number;
  return 0;
}

std::vector<GgufField> fields_of(const DecoderConfig& config, const Settings& whole,
                                 const GgufArchitecture& architecture, const TensorSource& tensors,
                                 const std::string& name) {
  const Settings& raw = text_settings(whole);
  const bool is_gemma3 = config.model_type == "gemma3_text";
  double parameters = 0;
  for (const auto& [tensor, info] : tensors.tensors) parameters += double(numel(info.shape));

  Fields f(architecture.gguf);
  f.add("general.architecture", architecture.gguf, GgufType::kText);
  f.add("general.type", "model", GgufType::kText);
  f.add("general.name", name, GgufType::kText);
  f.add("general.size_label", size_label(parameters), GgufType::kText);
  f.size("block_count", config.num_hidden_layers);
  f.size("context_length", config.max_position_embeddings);
  f.size("embedding_length", config.hidden_size);
  f.size("feed_forward_length", config.intermediate_size);
  f.size("attention.head_count", config.num_attention_heads);
  f.size("attention.head_count_kv", config.num_key_value_heads);
  add_scaling(config, raw, f);
  f.real("rope.freq_base", config.rope_theta);
  if (config.rope_local_base_freq > 0) f.real("rope.freq_base_swa", config.rope_local_base_freq);
  f.real("attention.layer_norm_rms_epsilon", config.rms_norm_eps);
  if (raw.has("head_dim") || is_gemma3 ||
      config.head_dim * config.num_attention_heads != config.hidden_size) {
    f.size("attention.key_length", config.head_dim);
    f.size("attention.value_length", config.head_dim);
  }
  f.add("general.file_type", file_type_number(tensors.tensors.at("token_embd.weight").dtype),
        GgufType::kU32);
  if (is_gemma3) add_gemma3(config, raw, f);
  if (architecture.adjacent_pairs) {
    f.size("vocab_size", config.vocab_size);
    f.size("rope.dimension_count", config.head_dim);
  }
  f.add("general.quantization_version", 2, GgufType::kU32);
  return std::move(f.fields);
}

}  // namespace

const GgufArchitecture* gguf_architecture(std::string_view model_type) {
  for (const GgufArchitecture& row : kArchitectures)
    if (row.model_type == model_type) return &row;
  return nullptr;
}

bool is_norm_weight(const std::string& name) { return name.ends_with("norm.weight"); }

int64_t heads_of(const std::string& hub, const DecoderConfig& config) {
  if (hub.find(".q_proj.") != hub.npos) return config.num_attention_heads;
  return hub.find(".k_proj.") != hub.npos ? config.num_key_value_heads : 0;
}

Tensor llama3_divisors(const DecoderConfig& config) {
  const RopeScaling& s = config.rope_scaling;
  const double context = double(s.original_max_position_embeddings),
               longest = context / s.low_freq_factor, shortest = context / s.high_freq_factor;
  std::vector<float> divisors;
  for (int64_t i = 0; i < config.head_dim; i += 2) {
    const float exponent = float(i) / float(config.head_dim),
                frequency = 1 / std::pow(float(config.rope_theta), exponent),
                length = float(2 * std::numbers::pi) / frequency;
    if (double(length) < shortest) {
      divisors.push_back(1);
    } else if (double(length) > longest) {
      divisors.push_back(float(s.factor));
    } else {
      const float smooth = (float(context) / length - float(s.low_freq_factor)) /
                           float(s.high_freq_factor - s.low_freq_factor);
      divisors.push_back(1 / ((1 - smooth) / float(s.factor) + smooth));
    }
  }
  return Tensor::from(divisors);
}

GgufModel gguf_of_folder(const std::string& folder, std::optional<DType> dtype) {
  const auto file = [&](const char* name) { return (fs::path(folder) / name).string(); };
  check(is_there(file("config.json")), ErrorCode::kFormat, folder,
        "expected config.json in the folder");
  const Settings raw = read_json(file("config.json"));
  const DecoderConfig config = decoder_config(raw);
  const GgufArchitecture& architecture = architecture_of(folder, config);
  GgufModel model;
  for (const std::string& key : config.ignored_keys)
    model.warnings.push_back(folder + ": unknown key \"" + key + "\" is ignored");
  model.tensors = tensors_of(SafetensorsReader(folder).source(), config, architecture, dtype);
  check(model.tensors.tensors.count("token_embd.weight") > 0, ErrorCode::kFormat, folder,
        "expected a tensor \"model.embed_tokens.weight\"");
  const std::string name = fs::weakly_canonical(folder).filename().string();
  model.fields = fields_of(config, raw, architecture, model.tensors, name);
  if (config.model_type != "gemma3_text" && slides(config) &&
      config.sliding_window < config.max_position_embeddings)
    model.warnings.push_back(folder + ": \"sliding_window\" of " +
                             std::to_string(config.sliding_window) + " is lost: a GGUF file of " +
                             architecture.gguf + " has none");
  if (is_there(file("tokenizer.json"))) {
    const std::vector<GgufField> tokenizer =
        gguf_tokenizer(read_json(file("tokenizer.json")), read_folder_texts(folder),
                       text_settings(raw), config.vocab_size);
    model.fields.insert(model.fields.end(), tokenizer.begin(), tokenizer.end());
  } else {
    model.warnings.push_back(folder + ": no tokenizer.json, so the file has no tokenizer");
  }
  return model;
}

}  // namespace wick
