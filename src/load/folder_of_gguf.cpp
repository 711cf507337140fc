#include "load/folder_of_gguf.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "load/gguf_of_folder.h"
#include "load/gguf_tokenizer.h"
#include "load/overflow.h"
#include "models/names/decoder_names.h"
#include "models/names/state_tensors.h"
#include "wick/io/file.h"
#include "wick/io/gguf.h"
#include "wick/load/load_model.h"
#include "wick/models/decoder.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

/// Rows of heads, whose rope pairs neighbouring elements, ordered so that elements i and i + D/2
/// are the pairs.
Tensor with_half_pairs(const Tensor& x, int64_t heads) {
  const int64_t rows = x.size(0), columns = x.numel() / rows;
  return reshape(transpose(reshape(x, {heads, rows / heads / 2, 2, columns}), 1, 2), x.shape());
}

/// Llama 3's scaling of rope that gives the divisors of a file. Errors: kUnsupported.
RopeScaling llama3_scaling(const DecoderConfig& config, const std::string& where) {
  const std::vector<double>& divisors = config.rope_scaling.divisors;
  DecoderConfig tried = config;
  tried.rope_scaling = {.type = RopeScalingType::kLlama3,
                        .factor = *std::max_element(divisors.begin(), divisors.end()),
                        .low_freq_factor = 1,
                        .high_freq_factor = 4};
  // Files do not say the context of the pre-training, which is a power of two. Llama 4's divisors
  // have no values between 1 and the factor.
  for (const double high : {4.0, 1.0})
    for (int64_t context = 1 << 24; context >= 1; context /= 2) {
      tried.rope_scaling.high_freq_factor = high;
      tried.rope_scaling.original_max_position_embeddings = context;
      if (cast(llama3_divisors(tried), DType::kF64).to_vector<double>() == divisors)
        return tried.rope_scaling;
    }
  fail(ErrorCode::kUnsupported, where,
       "tensor \"rope_freqs.weight\": expected Llama 3's scaling of rope, with the factors 1 and 4 "
       "of low and high frequencies, or 1 of both");
}

/// The shortest decimal number with the same f32, of numbers that are one: files hold 1e-5 as an
/// f32.
double shortest(double value) {
  if (double(float(value)) != value) return value;
  char text[64];
  *std::to_chars(text, text + sizeof text - 1, float(value)).ptr = '\0';
  return std::strtod(text, nullptr);
}

/// The config of the folder.
DecoderConfig config_of(const DecoderConfig& of_file, DType dtype, const std::string& where) {
  DecoderConfig config = folder_config(of_file);
  if (!config.rope_scaling.divisors.empty() &&
      find_family(config.model_type)->proportional_rope == 0)
    config.rope_scaling = llama3_scaling(config, where);
  for (double* real : reals_of(config)) *real = shortest(*real);
  config.dtype = dtype;
  return config;
}

TensorSource tensors_of(const TensorSource& file, const DecoderConfig& of_file,
                        const DecoderConfig& config, bool allow_overflow) {
  const bool reorders = of_file.rope_pairs != config.rope_pairs;
  const bool subtracts_one = config.norm_adds_one && !of_file.norm_adds_one;
  TensorPlan plan = decoder_plan(file, of_file);
  take_parts(plan, config);
  if (of_file.linear_heads_tiled) order_value_heads(plan, config, false);
  for (const std::string& name : plan.names()) {
    require_rows_of_heads(plan, name, config);
    const int64_t heads = reorders ? heads_of(name, config) : 0;
    const bool is_norm = subtracts_one && is_norm_weight(name);
    plan.change(name, {config.dtype, plan.info(name).shape},
                [=, dtype = config.dtype, where = plan.where()](const std::vector<Tensor>& inputs) {
                  Tensor x = inputs[0];
                  if (is_block(x.dtype())) x = cast(x, DType::kF32);
                  if (is_norm) x = add(cast(x, DType::kF32), -1.0);
                  if (heads > 0) x = with_half_pairs(x, heads);
                  return cast_weights(x, dtype, where, name, allow_overflow);
                });
  }
  take_folder_names(plan, config);
  return plan.source();
}

Setting ids_setting(const std::vector<int64_t>& ids) {
  if (ids.empty()) return nullptr;
  return ids.size() == 1 ? Setting(ids[0]) : Setting(Setting::List(ids.begin(), ids.end()));
}

}  // namespace

FolderModel folder_of_gguf(const std::string& path, std::optional<DType> dtype,
                           bool allow_overflow) {
  const std::string place = model_path(path);
  check(!is_folder(place), ErrorCode::kFormat, path, "expected a GGUF file");
  const GgufReader reader(place);
  const Settings& metadata = reader.metadata();
  const TensorSource source = reader.source();
  const DecoderConfig of_file = decoder_config_of_gguf(metadata, source);
  const DType embedding = source.tensors.at("token_embd.weight").dtype;
  const DecoderConfig config =
      config_of(of_file, dtype.value_or(is_block(embedding) ? DType::kF16 : embedding), place);

  FolderModel model;
  for (const std::string& key : of_file.ignored_keys)
    model.warnings.push_back(path + ": unknown key \"" + key + "\" is ignored");
  model.tensors = tensors_of(source, of_file, config, allow_overflow);
  std::optional<Tokenizer> tokenizer;
  if (has_gguf_tokenizer(metadata)) {
    tokenizer = Tokenizer::from_gguf(metadata);
    for (const std::string& warning : tokenizer->warnings()) model.warnings.push_back(warning);
    model.files.emplace_back("tokenizer.json", json_tokenizer(metadata));
    model.files.emplace_back("tokenizer_config.json", json_tokenizer_config(metadata, *tokenizer));
  } else {
    model.warnings.push_back(path + ": no tokenizer, so the folder has no tokenizer.json");
  }
  if (const std::vector<int64_t> stop_ids = gguf_stop_ids(metadata, tokenizer); !stop_ids.empty())
    model.files.emplace_back("generation_config.json",
                             Settings()
                                 .set("bos_token_id", ids_setting(config.bos_token_ids))
                                 .set("eos_token_id", ids_setting(stop_ids)));
  model.files.emplace_back("config.json", to_settings(config));
  return model;
}

}  // namespace wick
