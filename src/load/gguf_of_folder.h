// A model of a folder as a GGUF file has it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "wick/io/gguf.h"

namespace wick {

struct GgufModel {
  std::vector<GgufField> fields;
  TensorSource tensors;  // under GGUF's names; converted as they are loaded
  std::vector<std::string> warnings;
};

/// Opens a folder (as load_model). dtype: f32, f16 or bf16, of the weights that are matrices; missing:
/// as the folder has them. Norms and vectors become f32.
/// Errors: those of the readers; kUnsupported for a model_type, an option of it, or a tokenizer that
/// GGUF files cannot hold or that wick does not write.
GgufModel gguf_of_folder(const std::string& folder, std::optional<DType> dtype);

}  // namespace wick
