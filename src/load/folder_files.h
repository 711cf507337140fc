// The files that every folder with a model has.
#pragma once
#include <optional>
#include <string>

#include "wick/base/settings.h"
#include "wick/core/tensor_source.h"
#include "wick/text/tokenizer.h"

namespace wick {

/// Errors: kFormat if the folder has no config.json.
Settings read_config(const std::string& folder);
/// The tensors of model.safetensors or of its shards. Errors: kFormat if the folder has neither.
TensorSource folder_source(const std::string& folder);
/// The tokenizer of tokenizer.json, if there is one.
std::optional<Tokenizer> folder_tokenizer(const std::string& folder);

}  // namespace wick
