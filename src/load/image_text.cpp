#include "wick/load/image_text.h"

#include <algorithm>

#include "load/finite_rows.h"
#include "load/folder_files.h"
#include "load/folder_texts.h"
#include "load/weights.h"
#include "wick/io/file.h"
#include "wick/io/gguf.h"
#include "wick/ops/autograd.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/compare.h"
#include "wick/ops/shape.h"
#include "wick/ops/statistics.h"
#include "wick/ops/unary.h"

namespace wick {
namespace {

/// The features with length 1. Errors: kFormat if one is not finite, or all of a row are 0.
Tensor embeddings_of(const char* op, const char* item, const Tensor& features) {
  const Tensor wide = cast(features, DType::kF32);
  const Tensor result = (wide / norm(wide, 2, {.dims = {-1}, .keepdim = true})).to(Device::cpu());
  require_finite_rows(op, item, result, features.dtype());
  return result;
}

}  // namespace

TextRows LoadedImageText::rows(const std::vector<std::string>& texts) const {
  check(tokenizer.has_value(), ErrorCode::kUnsupported, "rows", "the model has no tokenizer");
  check(!texts.empty(), ErrorCode::kInvalidArgument, "rows", "expected at least one text");
  const TextTowerConfig& config = model->config().text;
  std::vector<std::vector<int64_t>> encoded;
  size_t longest = 1;
  for (const std::string& text : texts) {
    encoded.push_back(tokenizer->encode_ids(text));
    longest = std::max(longest, encoded.back().size());
  }
  check(int64_t(longest) <= config.max_position_embeddings, ErrorCode::kOutOfRange, "rows",
        "expected texts of at most ", config.max_position_embeddings,
        " tokens, the model's positions, got one of ", longest);
  const bool pads_all = config.pooling == TextPooling::kLast;
  const size_t length = pads_all ? size_t(config.max_position_embeddings) : longest;
  std::vector<int64_t> ids, mask;
  for (const std::vector<int64_t>& row : encoded) {
    ids.insert(ids.end(), row.begin(), row.end());
    ids.insert(ids.end(), length - row.size(), pad_id);
    mask.insert(mask.end(), row.size(), 1);
    mask.insert(mask.end(), length - row.size(), 0);
  }
  const Shape shape = {int64_t(texts.size()), int64_t(length)};
  const Device device = model->options().device;
  return {.ids = Tensor::from(ids, shape, device),
          .mask = pads_all ? Tensor() : Tensor::from(mask, shape, device)};
}

Tensor LoadedImageText::embed_images(std::span<const Image> images) const {
  check(image_processor.has_value(), ErrorCode::kUnsupported, "embed_images",
        "the model has no image processor");
  const NoGrad off;
  const Tensor pixels = (*image_processor)(images, {.dtype = DType::kF32});
  return embeddings_of("embed_images", "image", model->image_features(pixels));
}

Tensor LoadedImageText::embed_texts(const std::vector<std::string>& texts) const {
  const NoGrad off;
  const TextRows texts_rows = rows(texts);
  return embeddings_of("embed_texts", "text",
                       model->text_features(texts_rows.ids, texts_rows.mask));
}

Tensor LoadedImageText::scores(const Tensor& texts, const Tensor& images) const {
  const NoGrad off;
  const Device device = model->options().device;
  const Tensor logits =
      cast(transpose(model->logits_per_image(images.to(device), texts.to(device))), DType::kF32);
  return (model->config().logit_bias ? sigmoid(logits) : logits).to(Device::cpu());
}

ModelKind load_kind(const std::string& path) {
  const std::string place = model_path(path);
  if (is_folder(place)) return kind_of_folder(read_config(place));
  architecture_of_gguf(GgufReader(place).metadata());  // all of them are causal
  return ModelKind::kCausal;
}

ImageProcessor load_image_processor(const std::string& path) {
  std::optional<ImageProcessor> processor = folder_image_processor(path);
  check(processor.has_value(), ErrorCode::kFormat, path,
        "expected preprocessor_config.json or processor_config.json in the folder");
  return *std::move(processor);
}

LoadedImageText load_image_text(const std::string& path, const LoadOptions& options) {
  if (options.dtype) require_computation(*options.dtype);
  check(options.positions == 0 && options.tokenizer_pre.empty(), ErrorCode::kInvalidArgument,
        "load_image_text", "positions and tokenizer_pre: expected neither, got ", options.positions,
        " and \"", options.tokenizer_pre, "\"");
  const SplitOptions& split = options.split;
  check(split.devices.empty() && split.layers.empty() && split.cpu_experts == 0,
        ErrorCode::kUnsupported, "load_image_text",
        "split: a model that compares images with texts is on one device");
  const std::string place = model_path(path);
  check(is_folder(place), ErrorCode::kUnsupported, path,
        "expected the folder of a model that compares images with texts, got a GGUF file");
  const Settings settings = read_config(place);
  require_kind(settings, ModelKind::kImageText);
  const ImageTextConfig config = image_text_config(settings);  // before the weights
  Parameters parameters = parameters_of(path, image_text_tensors(folder_source(place)), options,
                                        placed_on(options.device));
  LoadedImageText loaded{.model = std::make_shared<const ImageTextModel>(config, parameters),
                         .tokenizer = folder_tokenizer(place),
                         .image_processor = folder_image_processor(place),
                         .pad_id = config.text.pad_token_id,
                         .weights = parameters.taken(),
                         .warnings = {}};
  require_all_taken(path, parameters, config.model_type);
  for (const std::string& key : config.ignored_keys)
    loaded.warnings.push_back(path + ": unknown key \"" + key + "\" is ignored");
  if (!loaded.tokenizer) return loaded;
  const std::vector<std::string>& warnings = loaded.tokenizer->warnings();
  loaded.warnings.insert(loaded.warnings.end(), warnings.begin(), warnings.end());
  const std::string pad = read_folder_texts(place).token("pad_token");
  if (const auto id = pad.empty() ? std::nullopt : loaded.tokenizer->id_of(pad))
    loaded.pad_id = *id;
  check(loaded.pad_id < config.text.vocab_size, ErrorCode::kFormat, path, "the padding's id ",
        loaded.pad_id, " is outside the vocabulary of ", config.text.vocab_size);
  return loaded;
}

}  // namespace wick
