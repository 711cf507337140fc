// Converts models from folders as the HuggingFace hub has them to GGUF files.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "wick/abi/dtype.h"
#include "wick/base/export.h"

namespace wick {

struct ConvertOptions {
  /// f32, f16 or bf16, of the weights that are matrices; missing: as the folder has them.
  std::optional<DType> dtype = {};
  /// Called after each tensor with the bytes written so far and the bytes of all tensors; may throw
  /// to stop, which leaves no file.
  std::function<void(int64_t done, int64_t total)> progress = {};
};

struct ConvertReport {
  int64_t tensors = 0, bytes = 0;
  std::vector<std::string> warnings;  // one line each: what the file lacks
};

/// Writes the model of a folder (as load_model) to a GGUF file, with the keys and tensors that
/// llama.cpp's conversion writes: norms and vectors in f32, rows of llama's queries and keys
/// reordered, 1 added to gemma's norms. A folder without tokenizer.json gives a file without
/// tokenizer, and a warning.
///
/// Only one tensor is in memory at a time. The file appears under its name only when complete.
/// Errors: those of load_model and save_gguf; kUnsupported for a model_type other than llama,
/// mistral, qwen2, qwen3 and gemma3, for an option of it that GGUF files cannot say, and for a tokenizer
/// other than BPE or whose ids no pre-tokenization that wick knows gives; kInvalidArgument for
/// another dtype.
/// Source: https://github.com/ggml-org/llama.cpp (MIT).
WICK_API ConvertReport convert_to_gguf(const std::string& folder, const std::string& out,
                                       const ConvertOptions& options = {});

}  // namespace wick
