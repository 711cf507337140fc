// Source: https://github.com/ggml-org/llama.cpp (MIT), whose conversion writes the same keys and
// tensors.
#include "load/gguf_of_folder.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numbers>
#include <string_view>

#include "load/file_types.h"
#include "load/folder_files.h"
#include "load/folder_texts.h"
#include "load/generation_config.h"
#include "load/gguf_tokenizer.h"
#include "load/overflow.h"
#include "models/decoder/layer_sizes.h"
#include "models/names/decoder_names.h"
#include "models/names/state_tensors.h"
#include "wick/io/file.h"
#include "wick/io/json.h"
#include "wick/io/safetensors.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

// ---- tensors

/// Rows of heads, whose rope pairs elements i and i + D/2, ordered so that the pairs are
/// neighbours.
Tensor with_adjacent_pairs(const Tensor& x, int64_t heads) {
  const int64_t rows = x.size(0), columns = x.numel() / rows;
  return reshape(transpose(reshape(x, {heads, 2, rows / heads / 2, columns}), 1, 2), x.shape());
}

/// The dtype of a tensor in the file, by its name there.
DType dtype_of(const std::string& name, const TensorInfo& info, std::optional<DType> dtype) {
  if (info.shape.size() <= 1 || !name.ends_with(".weight")) return DType::kF32;
  for (const char* ending : {"_norm.weight", "ffn_gate_inp.weight", "ffn_gate_inp_shexp.weight",
                             "position_embd.weight", "ssm_conv1d.weight", "shortconv.conv.weight"})
    if (name.ends_with(ending)) return DType::kF32;
  if (is_block(info.dtype)) return info.dtype;
  if (dtype) return *dtype;
  const bool is_kept =
      info.dtype == DType::kF32 || info.dtype == DType::kF16 || info.dtype == DType::kBf16;
  return is_kept ? info.dtype : DType::kF32;
}

/// Gives a Decoder's tensors the rows and norms that GGUF files have.
void convert_values(TensorPlan& plan, const DecoderConfig& config) {
  const bool reorders = find_family(config.model_type)->gguf_pairs != config.rope_pairs;
  for (const std::string& name : plan.names()) {
    TensorInfo info = plan.info(name);
    if (config.norm_adds_one && is_norm_weight(name)) {
      info.dtype = DType::kF32;
      plan.change(name, info, [](const std::vector<Tensor>& inputs) {
        return add(cast(inputs[0], DType::kF32), 1.0);
      });
    }
    const int64_t heads = heads_of(name, config);
    require_rows_of_heads(plan, name, config);
    if (reorders && heads > 0)
      plan.change(name, info, [heads](const std::vector<Tensor>& inputs) {
        return with_adjacent_pairs(inputs[0], heads);
      });
  }
}

/// The tensors that hold the divisors of rope's frequencies.
std::map<std::string, Tensor> rope_tensors(const DecoderConfig& config) {
  const RopeScaling& s = config.rope_scaling;
  const auto tensor = [](const std::vector<double>& factors) {
    return cast(Tensor::from(factors), DType::kF32);
  };
  if (s.type == RopeScalingType::kLlama3) return {{"rope_freqs.weight", llama3_divisors(config)}};
  if (s.type == RopeScalingType::kLongRope)
    return {{"rope_factors_long.weight", tensor(s.long_factor)},
            {"rope_factors_short.weight", tensor(s.short_factor)}};
  if (find_family(config.model_type)->proportional_rope > 0) {
    const std::vector<double> all_turn(size_t(head_dim_of(config, LayerType::kFull) / 2), 1.0);
    return {{"rope_freqs.weight", tensor(s.divisors.empty() ? all_turn : s.divisors)}};
  }
  return {};
}

TensorSource tensors_of(const TensorSource& folder, const DecoderConfig& config,
                        std::optional<DType> dtype, bool allow_overflow) {
  TensorPlan plan = decoder_plan(folder, config);
  convert_values(plan, config);
  if (find_family(config.model_type)->gguf_tiled_heads) order_value_heads(plan, config, true);
  take_gguf_names(plan, config);
  for (const std::string& name : plan.names()) {
    const TensorInfo info = plan.info(name);
    const DType written = dtype_of(name, info, dtype);
    plan.change(name, {written, info.shape},
                [=, where = plan.where()](const std::vector<Tensor>& inputs) {
                  return cast_weights(inputs[0], written, where, name, allow_overflow);
                });
  }
  for (const auto& [name, tensor] : rope_tensors(config))
    plan.add(name, {}, {tensor.dtype(), tensor.shape()},
             [tensor = tensor](const std::vector<Tensor>&) { return tensor; });
  return plan.source();
}

// ---- metadata

/// "135M" for a number of parameters, as llama.cpp writes it.
std::string rounded(double parameters) {
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

/// The number of parameters; of a model with experts, their number and the parameters with one.
std::string size_label(const TensorSource& tensors, const DecoderConfig& config) {
  double parameters = 0;
  for (const auto& [name, info] : tensors.tensors) {
    const bool is_of_experts = name.ends_with("_exps.weight");
    parameters += double(numel(info.shape) / (is_of_experts ? config.num_experts : 1));
  }
  return (config.num_experts > 0 ? std::to_string(config.num_experts) + "x" : "") +
         rounded(parameters);
}

class Fields {
 public:
  explicit Fields(std::string_view architecture) : prefix_(std::string(architecture) + ".") {}

  void size(const std::string& key, int64_t value) { add(prefix_ + key, value, GgufType::kU32); }
  void real(const std::string& key, double value) { add(prefix_ + key, value, GgufType::kF32); }
  void text(const std::string& key, const char* value) {
    add(prefix_ + key, value, GgufType::kText);
  }
  void all(const Settings& settings) {
    for (const auto& [key, value] : settings.entries()) {
      const auto* const list = std::get_if<Setting::List>(&value.value);
      const Setting& element = list && !list->empty() ? list->front() : value;
      const bool is_real = std::holds_alternative<double>(element.value),
                 is_flag = std::holds_alternative<bool>(element.value),
                 is_text = std::holds_alternative<std::string>(element.value);
      add(prefix_ + key, value,
          is_real   ? GgufType::kF32
          : is_flag ? GgufType::kBool
          : is_text ? GgufType::kText
          : list    ? GgufType::kI32
                    : GgufType::kU32);
    }
  }
  void add(const std::string& key, Setting value, GgufType type) {
    fields.push_back({key, std::move(value), type});
  }

  std::vector<GgufField> fields;

 private:
  std::string prefix_;
};

/// The values of a text model; a model of text and images has them in a group.
const Settings& text_settings(const Settings& config) {
  const Settings* const text = config.group("text_config");
  return text ? *text : config;
}

/// The group that states how rope is scaled, in transformers 4 or 5; nullptr without one.
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
    case RopeScalingType::kLongRope:
      fields.real("rope.scaling.attn_factor", s.attention_factor);
      return;
    case RopeScalingType::kYarn:
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

/// Whether files of the family lack the window of its layers.
bool loses_window(const DecoderConfig& config) {
  return config.sliding_window > 0 && !config.chunked_windows &&
         !has_gguf_key(*find_family(config.model_type), "attention.sliding_window");
}

int64_t file_type_number(const TensorSource& tensors) {
  DType dtype = tensors.tensors.at("token_embd.weight").dtype;
  for (const auto& [name, info] : tensors.tensors)
    if (info.dtype == DType::kMXFP4) dtype = info.dtype;  // the folder's experts
  for (const FileType& type : kFileTypes)
    if (type.dtype == dtype) return type.number;
  return 0;
}

std::vector<GgufField> fields_of(const DecoderConfig& config, const Settings& whole,
                                 const TensorSource& tensors, const std::string& name) {
  const Settings& raw = text_settings(whole);
  const Family& family = *find_family(config.model_type);
  Fields f(family.gguf);
  f.add("general.architecture", std::string(family.gguf), GgufType::kText);
  f.add("general.type", "model", GgufType::kText);
  f.add("general.name", name, GgufType::kText);
  f.add("general.size_label", size_label(tensors, config), GgufType::kText);
  f.all(gguf_settings(config));
  add_scaling(config, raw, f);
  const char* const key = "rope.scaling.original_context_length";
  if (has_gguf_key(family, key) && config.rope_scaling.type != RopeScalingType::kYarn)
    f.size(key, config.rope_scaling.type == RopeScalingType::kLongRope
                    ? config.rope_scaling.original_max_position_embeddings
                    : raw.integer_or("original_max_position_embeddings",
                                     config.max_position_embeddings, 1));
  const bool has_head_dim =
      raw.has("head_dim") || config.head_dim * config.num_attention_heads != config.hidden_size;
  if ((has_head_dim || config.full_head_dim > 0) && config.kv_lora_rank == 0) {
    f.size("attention.key_length", head_dim_of(config, LayerType::kFull));
    f.size("attention.value_length", head_dim_of(config, LayerType::kFull));
  }
  f.add("general.file_type", file_type_number(tensors), GgufType::kU32);
  f.add("general.quantization_version", 2, GgufType::kU32);
  return std::move(f.fields);
}

/// The values of config.json with reals as f32, as files hold them.
Settings rounded_settings(DecoderConfig config) {
  for (double* real : reals_of(config)) *real = double(float(*real));
  return to_settings(config);
}

/// Reads the file's config and compares it with the folder's. Errors: kUnsupported, naming the key
/// that the file cannot hold.
void require_config(const GgufModel& model, const DecoderConfig& config, const std::string& where) {
  DecoderConfig read = decoder_config_of_gguf(settings_of(model.fields, where), model.tensors);
  read.model_type = config.model_type;  // several families share an architecture
  read = folder_config(read);
  // Training, tokens, and dtypes are said elsewhere.
  read.initializer_range = config.initializer_range;
  read.bos_token_ids = config.bos_token_ids;
  read.eos_token_ids = config.eos_token_ids;
  read.pad_token_id = config.pad_token_id;
  read.dtype = config.dtype;
  if (loses_window(config)) {
    read.sliding_window = config.sliding_window;
    read.layer_types = config.layer_types;
  }
  // Files of models without rope say a number of their own.
  if (has_gguf_key(*find_family(config.model_type), "rope.scaling.finetuned") &&
      !config.rope_layers.empty())
    read.max_position_embeddings = config.max_position_embeddings;
  RopeScaling& rope = read.rope_scaling;
  if (!rope.divisors.empty()) rope = config.rope_scaling;  // they are its values
  if (rope.type == RopeScalingType::kLongRope) rope.factor = config.rope_scaling.factor;

  const Settings expected = rounded_settings(config), got = rounded_settings(read);
  const auto text = [](const Settings& settings, const std::string& key) {
    const Setting* const value = settings.find(key);
    return value ? to_json(*value, -1) : "null";
  };
  for (const Settings* settings : {&expected, &got})
    for (const auto& [key, value] : settings->entries())
      check(text(expected, key) == text(got, key), ErrorCode::kUnsupported, where, "\"", key,
            "\": a GGUF file of a ", config.model_type, " has ", text(got, key), ", got ",
            text(expected, key));
}

/// Writes the ids that end a text and that a reader of the file would not take for such without a
/// key of their own.
void add_stop_ids(const std::vector<int64_t>& ids, const std::optional<Tokenizer>& tokenizer,
                  const std::string& where, GgufModel& model) {
  for (const int64_t id : ids) {
    const Settings metadata = settings_of(model.fields, where);
    const std::vector<int64_t> known = gguf_stop_ids(metadata, tokenizer);
    if (std::find(known.begin(), known.end(), id) != known.end()) continue;
    std::string free;
    for (const char* name : {"eom", "eot", "eos"})
      if (const std::string key = std::string("tokenizer.ggml.") + name + "_token_id";
          !metadata.has(key))
        free = key;
    if (free.empty())
      model.warnings.push_back(where + ": token " + std::to_string(id) +
                               " ends a text: lost, as a GGUF file has place for three");
    else
      model.fields.push_back({free, id, GgufType::kU32});
  }
}

/// The types of tokenizer.json's normalizers that a GGUF file does not hold; those that spell
/// spaces are its "add_space_prefix".
std::string lost_normalizers(const Settings& json) {
  const Settings* const whole = json.group("normalizer");
  if (!whole) return "";
  const Setting* const parts = whole->find("normalizers");
  const auto* const list = parts ? std::get_if<Setting::List>(&parts->value) : nullptr;
  std::string lost;
  const auto add = [&lost](const Settings& part) {
    const std::string type = part.text_or("type", "");
    if (type != "Prepend" && type != "Replace") lost += (lost.empty() ? "" : ", ") + type;
  };
  if (!list) add(*whole);
  for (const Setting& part : list ? *list : Setting::List())
    if (const auto* const settings = std::get_if<Settings>(&part.value)) add(*settings);
  return lost;
}

/// The type of the layer that a Decoder's tensor belongs to; kFull without one.
LayerType type_of_layer(const std::string& name, const DecoderConfig& config) {
  constexpr std::string_view kLayers = "model.layers.";
  if (!name.starts_with(kLayers)) return LayerType::kFull;
  const int64_t layer = std::strtoll(name.c_str() + kLayers.size(), nullptr, 10);
  return layer >= 0 && layer < config.num_hidden_layers ? type_of(config, layer) : LayerType::kFull;
}

}  // namespace

bool is_norm_weight(const std::string& name) {
  return name.ends_with("norm.weight") && !name.ends_with(".linear_attn.norm.weight");
}

void require_rows_of_heads(const TensorPlan& plan, const std::string& name,
                           const DecoderConfig& config) {
  const int64_t rows = heads_of(name, config) * head_dim_of(config, type_of_layer(name, config));
  const Shape& shape = plan.info(name).shape;
  check(rows == 0 || (shape.size() > 0 && shape[0] == rows), ErrorCode::kFormat, plan.where(),
        "tensor \"", name, "\": expected ", rows, " rows, got ", shape);
}

int64_t heads_of(const std::string& hub, const DecoderConfig& config) {
  if (hub.find(".q_proj.") != hub.npos)
    return (config.attention_gate ? 2 : 1) * config.num_attention_heads;
  if (hub.find(".k_proj.") == hub.npos) return 0;
  return key_value_heads_of(config, type_of_layer(hub, config));
}

DecoderConfig folder_config(DecoderConfig config) {
  const Family& family = *find_family(config.model_type);
  config.rope_pairs = family.defaults.rope_pairs;
  config.norm_adds_one = family.defaults.norm_adds_one;
  config.linear_heads_tiled = false;
  return config;
}

std::vector<double*> reals_of(DecoderConfig& c) {
  RopeScaling& s = c.rope_scaling;
  std::vector<double*> reals = {&c.rms_norm_eps,
                                &c.rope_theta,
                                &c.rope_local_base_freq,
                                &c.rope_mscale_all_dim,
                                &c.llama_4_scaling_beta,
                                &c.clip_qkv,
                                &c.embedding_scale,
                                &c.residual_multiplier,
                                &c.logits_scaling,
                                &c.attention_multiplier,
                                &c.routed_scaling_factor,
                                &c.attn_logit_softcapping,
                                &c.final_logit_softcapping,
                                &s.factor,
                                &s.attention_factor,
                                &s.beta_fast,
                                &s.beta_slow};
  for (std::vector<double>* factors : {&s.short_factor, &s.long_factor})
    for (double& factor : *factors) reals.push_back(&factor);
  return reals;
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

GgufModel gguf_of_folder(const std::string& folder, std::optional<DType> dtype,
                         bool allow_overflow) {
  const auto file = [&](const char* name) { return (fs::path(folder) / name).string(); };
  check(is_there(file("config.json")), ErrorCode::kFormat, folder,
        "expected config.json in the folder");
  const Settings raw = read_json(file("config.json"));
  require_decoder(raw);
  DecoderConfig config = decoder_config(raw);
  GgufModel model;
  const TensorSource file_tensors = SafetensorsReader(folder).source();
  keep_own_head(file_tensors, config, model.warnings);
  for (const std::string& key : config.ignored_keys)
    model.warnings.push_back(folder + ": unknown key \"" + key + "\" is ignored");
  model.tensors = tensors_of(file_tensors, config, dtype, allow_overflow);
  check(model.tensors.tensors.count("token_embd.weight") > 0, ErrorCode::kFormat, folder,
        "expected a tensor \"model.embed_tokens.weight\"");
  const std::string name = fs::weakly_canonical(folder).filename().string();
  model.fields = fields_of(config, raw, model.tensors, name);
  require_config(model, config, file("config.json"));
  if (loses_window(config) && config.sliding_window < config.max_position_embeddings)
    model.warnings.push_back(folder + ": \"sliding_window\" of " +
                             std::to_string(config.sliding_window) + " is lost: a GGUF file of " +
                             config.model_type + " has none");
  const GenerationConfig generation = read_generation_config(folder);
  model.warnings.insert(model.warnings.end(), generation.warnings.begin(),
                        generation.warnings.end());
  if (generation.sampling)
    model.warnings.push_back(file("generation_config.json") +
                             ": how to sample is lost: the file does not hold it");
  const FolderTexts texts = read_folder_texts(folder);
  std::optional<Tokenizer> tokenizer;
  if (is_there(file("tokenizer.json"))) {
    const Settings json = read_json(file("tokenizer.json"));
    tokenizer = Tokenizer::from_json(json);
    const std::vector<GgufField> fields =
        gguf_tokenizer(json, texts, text_settings(raw), config.vocab_size);
    model.fields.insert(model.fields.end(), fields.begin(), fields.end());
    if (const std::string lost = lost_normalizers(json); !lost.empty())
      model.warnings.push_back(json.where() + ": the normalizer " + lost +
                               " is lost: GGUF files have none");
  } else {
    model.warnings.push_back(folder + ": no tokenizer.json, so the file has no tokenizer");
  }
  add_stop_ids(folder_stop_ids(config.eos_token_ids, generation, texts, tokenizer), tokenizer,
               folder, model);
  return model;
}

}  // namespace wick
