// A model's weights, from its files to its parameters.
#pragma once
#include <memory>
#include <string>

#include "load/split.h"
#include "wick/core/tensor_source.h"
#include "wick/load/load_model.h"
#include "wick/nn/parameters.h"

namespace wick {

/// Errors: kInvalidArgument unless models compute in the dtype.
void require_computation(DType dtype);

/// The parameters that a model takes from its tensors. ranks: the ranks that share them; nullptr
/// for one process. Errors: kOutOfMemory, before a tensor is read, if this rank's exceed a device's
/// free memory.
Parameters parameters_of(const std::string& path, const TensorSource& tensors,
                         const LoadOptions& options, const Placement& placement,
                         const std::shared_ptr<const Ranks>& ranks = {});

/// Errors: kFormat if a tensor is left that the model has not taken.
void require_all_taken(const std::string& path, const Parameters& parameters,
                       const std::string& model_type);

}  // namespace wick
