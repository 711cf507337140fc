// A model of a folder as a GGUF file has it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "models/names/tensor_plan.h"
#include "wick/io/gguf.h"
#include "wick/models/decoder.h"

namespace wick {

struct GgufModel {
  std::vector<GgufField> fields;
  TensorSource tensors;  // under GGUF's names; converted as they are loaded
  std::vector<std::string> warnings;
};

/// Whether the Decoder's tensor of this name multiplies normalized values.
bool is_norm_weight(const std::string& name);
/// The heads that a query's or key's weight or bias has in its rows; 0: it is neither.
int64_t heads_of(const std::string& name, const DecoderConfig& config);
/// Checks that a query's or key's weight or bias has the rows of its heads. Errors: kFormat.
void require_rows_of_heads(const TensorPlan& plan, const std::string& name,
                           const DecoderConfig& config);
/// The config of a GGUF file as one of a folder, but for rope's divisors.
DecoderConfig folder_config(DecoderConfig config);
/// The numbers of a config that files hold as f32.
std::vector<double*> reals_of(DecoderConfig& config);
/// The divisors of rope's frequencies that files have as a tensor, computed in f32 as llama.cpp
/// does.
Tensor llama3_divisors(const DecoderConfig& config);

/// Opens a folder (as load_model). dtype: f32, f16 or bf16, of the weights that are matrices;
/// missing: as the folder has them. Norms and vectors become f32.
/// Errors: as of the readers; kUnsupported for an option of the model, or a tokenizer, that GGUF
/// files cannot hold or that wick does not write.
GgufModel gguf_of_folder(const std::string& folder, std::optional<DType> dtype,
                         bool allow_overflow = false);

}  // namespace wick
