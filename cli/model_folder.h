// Loads a model from a folder with config.json and safetensors files.
#pragma once
#include <memory>
#include <string>

#include "wick/io/safetensors.h"
#include "wick/models/decoder.h"

namespace wick::cli {

/// Opens the model in a folder, in this dtype and on this device. positions: the maximum number of
/// positions. Input errors: missing folder or file; kFormat for invalid content.
Decoder open_model(const std::string& folder, DType dtype, const Device& device, int64_t positions);
/// Reads a config.json. Errors: as open_model.
DecoderConfig read_config(const std::string& path);

/// Throws kUnsupported unless the model reads and writes bytes: 256 tokens and no tokenizer in the
/// folder.
void require_bytes(const std::string& folder, const DecoderConfig& config);

}  // namespace wick::cli
