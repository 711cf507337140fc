// The files that folders with models have.
#pragma once
#include <optional>
#include <string>

#include "wick/base/settings.h"
#include "wick/core/tensor_source.h"
#include "wick/media/image_processor.h"
#include "wick/text/tokenizer.h"

namespace wick {

/// Errors: kFormat if the folder has no config.json.
Settings read_config(const std::string& folder);
/// Checks that a config.json's model is a Decoder of text alone. Errors: kUnsupported, naming the
/// model's type; as require_kind.
void require_decoder(const Settings& config);
/// The tensors of model.safetensors or of its shards. Errors: kFormat if the folder has neither.
TensorSource folder_source(const std::string& folder);
/// The tokenizer of tokenizer.json, else of a SigLIP's spiece.model, if there is one: of a folder
/// whose tokenizer_config.json names the class SiglipTokenizer, or, without a class, whose model is
/// a SigLIP.
std::optional<Tokenizer> folder_tokenizer(const std::string& folder);
/// The image processor of processor_config.json, whose "image_processor" has it, else of
/// preprocessor_config.json; missing if the folder has neither. Errors: as of ImageProcessor.
std::optional<ImageProcessor> folder_image_processor(const std::string& folder);

}  // namespace wick
