// Loads a model that compares images with texts, from a folder as the HuggingFace hub has it.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wick/load/load_model.h"
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
  std::optional<Tokenizer> tokenizer;  // missing if the files lack it
  int64_t pad_id = 0;                  // tokenizer_config.json's "pad_token", else the config's
  std::map<std::string, TensorInfo> weights;  // as they lie on the device
  std::vector<std::string> warnings;          // one line each, such as keys that wick does not know

  /// The tokens of texts with the beginning and end that the files ask for, padded to the right: to
  /// max_position_embeddings without a mask if the model pools by the last token, as it was
  /// trained, else to the longest text.
  /// Errors: kUnsupported if there is no tokenizer; kInvalidArgument without a text; kOutOfRange
  /// for more tokens than the model has positions.
  TextRows rows(const std::vector<std::string>& texts) const;
};

/// The kind of a folder's or a GGUF file's model, from its config alone. Errors: as load_model.
WICK_API ModelKind load_kind(const std::string& path);

/// Loads a folder with config.json, model.safetensors or its shards, and, as far as they are there,
/// tokenizer.json and tokenizer_config.json.
/// options: without positions and tokenizer_pre.
/// Errors: as load_model; kUnsupported for a model of another kind; kInvalidArgument for positions
/// or tokenizer_pre.
WICK_API LoadedImageText load_image_text(const std::string& path, const LoadOptions& options = {});

}  // namespace wick
