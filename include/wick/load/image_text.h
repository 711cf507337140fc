// Loads a model that compares images with texts, from a folder as the HuggingFace hub has it.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wick/load/load_model.h"
#include "wick/media/image_processor.h"
#include "wick/models/image_text_model.h"
#include "wick/models/registry.h"
#include "wick/text/tokenizer.h"

namespace wick {

/// Texts as ImageTextModel::text_features reads them.
struct TextRows {
  Tensor ids;   // [B, T] i64
  Tensor mask;  // [B, T] i64: 0 for padding; empty if the model attends to padding
};

/// A model that compares images with texts, and its files' settings.
struct WICK_API LoadedImageText {
  std::shared_ptr<const ImageTextModel> model;
  std::optional<Tokenizer> tokenizer;             // missing if the files lack it
  std::optional<ImageProcessor> image_processor;  // missing if the files lack it
  int64_t pad_id = 0;  // tokenizer_config.json's "pad_token", else the config's
  std::map<std::string, TensorInfo> weights;  // as they lie on the device
  std::vector<std::string> warnings;          // one line each, such as keys that wick does not know

  /// The tokens of texts with the beginning and end that the files ask for, padded to the right: to
  /// max_position_embeddings without a mask if the model pools by the last token, as it was
  /// trained, else to the longest text.
  /// Errors: kUnsupported if there is no tokenizer; kInvalidArgument without a text; kOutOfRange
  /// for more tokens than the model has positions.
  TextRows rows(const std::vector<std::string>& texts) const;
  /// The features of images [N, projection_dim], f32 on the CPU, of length 1.
  /// Errors: kUnsupported if there is no image processor; as of ImageProcessor and
  /// ImageTextModel::image_features; kFormat if features are not finite.
  Tensor embed_images(std::span<const Image> images) const;
  /// The features of texts [B, projection_dim], f32 on the CPU, of length 1.
  /// Errors: as of rows and ImageTextModel::text_features; kFormat if features are not finite.
  Tensor embed_texts(const std::vector<std::string>& texts) const;
  /// How well images fit texts, better with a higher score: for a model that was trained with a
  /// sigmoid loss (SigLIP), the probability that the two belong together; for one that was trained
  /// with a softmax (CLIP), the cosine times the model's scale, so that a score depends on no other
  /// image.
  ///
  /// texts   [B, projection_dim], from embed_texts
  /// images  [N, projection_dim], from embed_images
  /// Returns [B, N] f32 on the CPU. Errors: kShapeMismatch; kDTypeMismatch.
  Tensor scores(const Tensor& texts, const Tensor& images) const;
};

/// The kind of a folder's or a GGUF file's model, from its config alone. Errors: as load_model.
WICK_API ModelKind load_kind(const std::string& path);

/// The image processor of a folder: of processor_config.json, whose "image_processor" has it, else
/// of preprocessor_config.json. Errors: FileError; kFormat if the folder has neither; as of
/// ImageProcessor.
WICK_API ImageProcessor load_image_processor(const std::string& path);

/// Loads a folder with config.json, model.safetensors or its shards, and, as far as they are there,
/// tokenizer.json or spiece.model, tokenizer_config.json, and processor_config.json or
/// preprocessor_config.json.
/// options: without positions and tokenizer_pre.
/// Errors: as load_model; kUnsupported for a model of another kind; kInvalidArgument for positions
/// or tokenizer_pre.
WICK_API LoadedImageText load_image_text(const std::string& path, const LoadOptions& options = {});

}  // namespace wick
