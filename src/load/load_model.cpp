#include "wick/load/load_model.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>

#include "load/folder_files.h"
#include "load/folder_texts.h"
#include "load/generation_config.h"
#include "load/gguf_tokenizer.h"
#include "load/group_ranks.h"
#include "load/model_folder.h"
#include "load/retrieval.h"
#include "load/weights.h"
#include "wick/io/file.h"
#include "wick/io/gguf.h"
#include "wick/io/json.h"
#include "wick/models/finite.h"
#include "wick/models/registry.h"
#include "wick/ops/autograd.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"
#include "wick/ops/statistics.h"

namespace wick {
namespace {

/// The only GGUF file in a folder, "" without one.
std::string gguf_in(const std::string& folder) {
  std::string found;
  std::error_code error;
  namespace fs = std::filesystem;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (!name.ends_with(".gguf") || is_later_part(name) || is_folder(entry->path())) continue;
    check(found.empty(), ErrorCode::kFormat, folder, "expected one GGUF file in the folder, found ",
          std::min(found, name), " and ", std::max(found, name));
    found = name;
  }
  if (error) fail_file(error.value(), folder, error.message());
  return found.empty() ? "" : folder + "/" + found;
}

/// The files of a model, opened but for the tensors.
struct Files {
  std::unique_ptr<ModelConfig> config;
  TensorSource tensors;
  std::optional<Tokenizer> tokenizer;
  std::optional<ChatTemplate> chat_template;
  std::optional<ImageProcessor> image_processor;
  std::string bos_token, eos_token;
  std::vector<int64_t> stop_ids;
  std::optional<Sampling> sampling;
  Pooling pooling = Pooling::kLast;
  RetrievalTexts retrieval;
  std::vector<std::string> warnings;
};

// ---- folders

/// Reads the configuration that sentence-transformers puts beside a model.
Pooling read_pooling(const std::string& path) {
  const Settings settings = read_json(path);
  for (const auto& [key, pooling] : {std::pair("pooling_mode_lasttoken", Pooling::kLast),
                                     {"pooling_mode_cls_token", Pooling::kFirst},
                                     {"pooling_mode_mean_tokens", Pooling::kMean}})
    if (settings.flag_or(key, false)) return pooling;
  fail(ErrorCode::kUnsupported, path, "expected pooling by the last token, the first or the mean");
}

Files open_folder(const std::string& folder) {
  Files files;
  const Settings settings = read_config(folder);
  const Architecture& architecture = architecture_of_folder(settings);
  files.config = architecture.of_folder(settings, nullptr, &files.warnings);  // before the weights
  files.tensors = folder_source(folder);
  files.config = architecture.of_folder(settings, &files.tensors, &files.warnings);
  GenerationConfig generation = read_generation_config(folder);
  files.sampling = generation.sampling;
  files.warnings.insert(files.warnings.end(), generation.warnings.begin(),
                        generation.warnings.end());
  if (const std::string path = folder + "/1_Pooling/config.json"; is_there(path))
    files.pooling = read_pooling(path);
  files.tokenizer = folder_tokenizer(folder);
  if (files.config->facts().images) files.image_processor = folder_image_processor(folder);
  const FolderTexts texts = read_folder_texts(folder);
  if (files.config->facts().embedding_dim > 0)
    files.retrieval = read_retrieval_texts(folder, settings, texts);
  files.bos_token = texts.token("bos_token");
  files.eos_token = texts.token("eos_token");
  files.stop_ids =
      folder_stop_ids(files.config->eos_token_ids(), generation, texts, files.tokenizer);
  if (!texts.template_source.empty())
    files.chat_template = ChatTemplate(texts.template_source, texts.template_where);
  return files;
}

// ---- GGUF

/// Reads the pooling, which is that by the last token unless the file asks for one. Source of the
/// numbers: llama.cpp (MIT), llama_pooling_type.
Pooling gguf_pooling(const Settings& metadata) {
  const std::string key = metadata.text("general.architecture") + ".pooling_type";
  constexpr int64_t kUnspecified = -1, kNone = 0, kMean = 1, kFirst = 2, kLast = 3, kRank = 4;
  const int64_t type = metadata.integer_or(key, kUnspecified, kUnspecified);
  switch (type) {
    case kUnspecified:
    case kNone:
    case kLast:
      return Pooling::kLast;
    case kMean:
      return Pooling::kMean;
    case kFirst:
      return Pooling::kFirst;
    default:
      break;
  }
  fail(ErrorCode::kUnsupported, metadata.where(), "\"", key,
       "\": expected pooling by the mean (1), the first token (2) or the last (3), got ", type,
       type == kRank ? ", a model that ranks texts" : "");
}

void require_gguf(const std::string& pre, const std::string& path) {
  check(pre.empty(), ErrorCode::kInvalidArgument, "tokenizer_pre",
        "only GGUF files name pre-tokenizers, not ", path);
}

Files open_gguf(const std::string& path, const std::string& pre) {
  const GgufReader reader(path);
  const Settings& metadata = reader.metadata();
  Files files;
  files.tensors = reader.source();
  files.config = architecture_of_gguf(metadata).of_gguf(metadata, files.tensors);
  if (has_gguf_tokenizer(metadata)) {
    const Tokenizer tokenizer = Tokenizer::from_gguf(metadata, pre);
    if (const auto bos = tokenizer.bos()) files.bos_token = tokenizer.token(*bos);
    if (const auto eos = tokenizer.eos()) files.eos_token = tokenizer.token(*eos);
    files.tokenizer = tokenizer;
  }
  files.stop_ids = gguf_stop_ids(metadata, files.tokenizer);
  files.pooling = gguf_pooling(metadata);
  if (const std::string source = metadata.text_or("tokenizer.chat_template", ""); !source.empty())
    files.chat_template = ChatTemplate(source, path + ": \"tokenizer.chat_template\"");
  return files;
}

// ---- both

Files open_files(const std::string& path, const std::string& pre) {
  const std::string place = model_path(path);
  if (!is_folder(place)) return open_gguf(place, pre);
  require_gguf(pre, path);
  return open_folder(place);
}

}  // namespace

Sampling LanguageModel::default_sampling() const {
  return sampling.value_or(Sampling{.temperature = 0.3, .min_p = 0.2});
}

Tensor LanguageModel::embed(const std::string& text) const {
  check(facts().embedding_dim == 0, ErrorCode::kUnsupported, "embed", "a model of type ",
        facts().model_type, " has a vector for each token: embed_query and embed_image give them");
  check(tokenizer.has_value(), ErrorCode::kUnsupported, "embed", "the model has no tokenizer");
  std::vector<int64_t> ids = tokenizer->encode_ids(text);
  if (ids.empty()) ids = tokenizer->encode_ids("\n");
  const int64_t count = int64_t(ids.size()), most = model->positions();
  check(count > 0, ErrorCode::kUnsupported, "embed", "the text has no token");
  check(count <= most, ErrorCode::kOutOfRange, "embed", "expected at most ", most,
        " tokens, the model's positions, got ", count);
  const NoGrad off;
  const Device device = model->options().device;
  const Tensor hidden =
      model->hidden(Tensor::from(ids, {1, count}, device), positions_from_0(1, count, device));
  const Tensor states = cast(squeeze(hidden, 0), DType::kF32);
  const Tensor pooled = pooling == Pooling::kMean
                            ? mean(states, {.dims = {0}})
                            : select(states, 0, pooling == Pooling::kFirst ? 0 : -1);
  const Tensor embedding = (pooled / norm(pooled)).to(Device::cpu());
  if (!std::isfinite(sum(embedding).item<float>())) {
    const std::vector<float> sums = sum(states * 0, {.dims = {-1}}).to_vector<float>();
    const int64_t at =
        std::find_if(sums.begin(), sums.end(), [](float total) { return std::isnan(total); }) -
        sums.begin();
    if (at < count && facts().is_causal) fail_not_finite("embed", *model, ids);
    check(at == count, ErrorCode::kFormat, "embed", "the hidden states of token ", at, " (id ",
          ids[size_t(std::min(at, count - 1))],
          ") are not finite: a weight is not, or the computation overflows ",
          dtype_name(model->options().dtype));
    fail(ErrorCode::kFormat, "embed", "the hidden states are all 0 or too large to scale");
  }
  return embedding;
}

std::string model_path(const std::string& path) {
  if (!is_there(path))
    fail_file(ENOENT, path,
              "no such file or folder; a model of the HuggingFace hub is ORG/NAME[:FILE or "
              "TYPE][@REVISION]");
  if (!is_folder(path) || is_there(path + "/model.safetensors") ||
      is_there(path + "/model.safetensors.index.json"))
    return path;
  const std::string file = gguf_in(path);
  return file.empty() ? path : file;
}

LanguageModel load_model(const std::string& path, const LoadOptions& options) {
  if (options.dtype) require_computation(*options.dtype);
  Files files = open_files(path, options.tokenizer_pre);
  const TensorSource tensors = files.config->tensors(files.tensors);
  const Placement placement = placement_of(path, *files.config, tensors, options);
  Parameters parameters =
      parameters_of(path, tensors, options, placement, ranks_of(path, *files.config, options));
  std::shared_ptr<const CausalModel> model = files.config->make(parameters, options.positions);
  require_all_taken(path, parameters, model->facts().model_type);
  std::vector<std::string> warnings = std::move(files.warnings);
  for (const std::string& key : files.config->ignored_keys())
    warnings.push_back(path + ": unknown key \"" + key + "\" is ignored");
  if (files.tokenizer)
    for (const std::string& warning : files.tokenizer->warnings()) warnings.push_back(warning);
  std::string split = text_of(placement, tensors, *model, options.split);
  return {.model = std::move(model),
          .tokenizer = std::move(files.tokenizer),
          .chat_template = std::move(files.chat_template),
          .image_processor = std::move(files.image_processor),
          .bos_token = std::move(files.bos_token),
          .eos_token = std::move(files.eos_token),
          .stop_ids = std::move(files.stop_ids),
          .sampling = files.sampling,
          .pooling = files.pooling,
          .retrieval = std::move(files.retrieval),
          .weights = parameters.taken(),
          .split = std::move(split),
          .warnings = std::move(warnings)};
}

ModelFacts load_facts(const std::string& path) {
  const std::string place = model_path(path);
  if (is_folder(place)) {
    const Settings settings = read_config(place);
    std::vector<std::string> warnings;
    return architecture_of_folder(settings).of_folder(settings, nullptr, &warnings)->facts();
  }
  const GgufReader reader(place);
  return architecture_of_gguf(reader.metadata())
      .of_gguf(reader.metadata(), reader.source())
      ->facts();
}

DecoderConfig load_config(const std::string& path) {
  const std::string place = model_path(path);
  if (is_folder(place)) {
    const Settings settings = read_config(place);
    require_decoder(settings);
    return decoder_config(settings);
  }
  const GgufReader reader(place);
  return decoder_config_of_gguf(reader.metadata(), reader.source());
}

Tokenizer load_tokenizer(const std::string& path, const std::string& pre) {
  if (std::optional<Tokenizer> tokenizer = folder_tokenizer(path)) {
    require_gguf(pre, path);
    return *std::move(tokenizer);
  }
  const std::string place = model_path(path);
  check(!is_folder(place), ErrorCode::kFormat, path,
        "expected tokenizer.json, a SigLIP's spiece.model or a GGUF file in the folder");
  const GgufReader reader(place);
  check(has_gguf_tokenizer(reader.metadata()), ErrorCode::kFormat, path,
        "the file has no tokenizer");
  return Tokenizer::from_gguf(reader.metadata(), pre);
}

}  // namespace wick
