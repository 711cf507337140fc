// A model of a GGUF file as a folder has it.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wick/base/settings.h"
#include "wick/core/tensor_source.h"

namespace wick {

struct FolderModel {
  TensorSource tensors;  // under the folder's names; converted as they are loaded
  std::vector<std::pair<const char*, Settings>> files;  // names and contents; config.json last
  std::vector<std::string> warnings;
};

/// Opens a GGUF file (as load_model). dtype: f32, f16 or bf16, of all weights; missing: the
/// embedding's, or f16 if that is a block type.
/// Errors: as of the readers; kUnsupported for an architecture, an option of it, or a tokenizer
/// that folders cannot hold or that wick does not write.
FolderModel folder_of_gguf(const std::string& path, std::optional<DType> dtype,
                           bool allow_overflow = false);

}  // namespace wick
