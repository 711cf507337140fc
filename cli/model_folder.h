// A folder of config.json and safetensors as a model.
#pragma once
#include <memory>
#include <string>

#include "wick/io/safetensors.h"
#include "wick/models/decoder.h"

namespace wick::cli {

/// The tensors whose names begin with the prefix, without it. where: what errors begin with.
TensorSource source_of(const std::shared_ptr<const SafetensorsReader>& reader,
                       const std::string& where, const std::string& prefix = "");

/// Opens the model of a folder in this dtype on the device. positions: how many there will be at
/// most. Errors of input: no such folder, a file that is missing; kFormat for what is in them.
Decoder open_model(const std::string& folder, DType dtype, const Device& device, int64_t positions);
/// The folder's config.json. Errors as above.
DecoderConfig read_config(const std::string& path);

/// Requires a model that reads and writes bytes, with 256 tokens and no tokenizer beside it; else
/// it throws an error that says so.
void require_bytes(const std::string& folder, const DecoderConfig& config);

}  // namespace wick::cli
