// Converts models from folders as the HuggingFace hub has them to GGUF files, and back.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "wick/abi/dtype.h"
#include "wick/base/export.h"

namespace wick {

struct ConvertOptions {
  /// f32, f16 or bf16, of the weights in a folder, or of those that are matrices in a GGUF file;
  /// missing: as the input has them, and f16 in a folder from a GGUF file of block types.
  std::optional<DType> dtype = {};
  bool allow_overflow = false;  // weights too large for their dtype become infinite
  /// Called after each tensor with the bytes written and the bytes of all tensors; may throw
  /// to stop, which leaves no file.
  std::function<void(int64_t done, int64_t total)> progress = {};
};

struct ConvertReport {
  int64_t tensors = 0, bytes = 0;
  std::vector<std::string> warnings;  // one line for each thing that the file lacks
};

/// Writes the model of a folder (as load_model) to a GGUF file, with the keys and tensors that
/// llama.cpp's conversion writes: norms, vectors and routers of experts in f32, rows of llama's
/// queries and keys reordered, 1 added to gemma's norms, experts in one tensor. A folder without
/// tokenizer.json gives a file without tokenizer, and a warning.
///
/// Only one tensor is in memory at a time. The file appears under its name only when complete.
/// Errors: as of load_model and save_gguf; kUnsupported for an option of the model that such
/// GGUF files cannot say, and for a tokenizer other than BPE or whose ids no pre-tokenization that
/// wick knows gives; kInvalidArgument for another dtype, and if `out` is a file of the input;
/// kFormat for a finite weight that would become infinite, unless allow_overflow.
/// Source: https://github.com/ggml-org/llama.cpp (MIT).
WICK_API ConvertReport convert_to_gguf(const std::string& folder, const std::string& out,
                                       const ConvertOptions& options = {});

/// Writes the model of a GGUF file (as load_model) to a folder that transformers reads:
/// config.json, model.safetensors, and as far as the file has them tokenizer.json,
/// tokenizer_config.json with the chat template, and generation_config.json. Undoes the changes of
/// convert_to_gguf to the tensors; block types become floats. The result gives the same tokens as
/// the file.
///
/// Only one tensor is in memory at a time. Each file appears under its name only when complete; if
/// an error ends the conversion, no folder is left that was not there before.
/// Errors: as of load_model and save_safetensors; kUnsupported for a scaling of rope other than
/// config.json's, and for a tokenizer whose ids tokenizer.json cannot give; kInvalidArgument for
/// another dtype, and if a file of the folder is the input; kFormat for a finite weight that would
/// become infinite, unless allow_overflow.
WICK_API ConvertReport convert_to_folder(const std::string& gguf, const std::string& out,
                                         const ConvertOptions& options = {});

}  // namespace wick
