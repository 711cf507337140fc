// Models whose config ties the output layer to the embedding, while their file has one of its own.
#pragma once
#include <string>
#include <vector>

#include "wick/models/decoder.h"

namespace wick {

/// Unties the config if the file's output layer differs from its embedding, as transformers does.
/// Adds a warning then. Reads both tensors, if both are there.
void keep_own_head(const TensorSource& file, DecoderConfig& config,
                   std::vector<std::string>& warnings);

}  // namespace wick
