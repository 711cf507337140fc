// The names of a Decoder's tensors in GGUF files.
#pragma once
#include <optional>
#include <string>

#include "wick/models/decoder.h"

namespace wick {

/// GGUF's name of a tensor that the Decoder has under `name`; missing if there is none.
std::optional<std::string> gguf_tensor_name(const std::string& name, const DecoderConfig& config);

}  // namespace wick
