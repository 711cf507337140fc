// The ranks of a process group, as the layers of a model see them.
#pragma once
#include <memory>
#include <string>

#include "wick/dist/process_group.h"
#include "wick/load/load_model.h"
#include "wick/models/registry.h"
#include "wick/nn/ranks.h"

namespace wick {

/// The ranks that the options ask for; nullptr for one process. Errors: as load_model.
std::shared_ptr<const Ranks> ranks_of(const std::string& path, const ModelConfig& config,
                                      const LoadOptions& options);

}  // namespace wick
