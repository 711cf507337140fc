// Models whose config ties the output layer to the embedding, while their file has one of its own.
#pragma once
#include <string>
#include <vector>

#include "wick/core/tensor_source.h"

namespace wick {

/// Whether the tensors, under the model's names, have a "lm_head.weight" that differs from the
/// embedding, which transformers then uses despite a config that ties them. Adds a warning then.
/// Reads both tensors, if both are there.
bool has_own_head(const TensorSource& tensors, const std::string& embedding,
                  std::vector<std::string>& warnings);

}  // namespace wick
