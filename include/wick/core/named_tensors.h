// Tensors by name, as stored in files and models.
#pragma once
#include <map>
#include <string>

#include "wick/core/tensor.h"

namespace wick {

using NamedTensors = std::map<std::string, Tensor>;

}  // namespace wick
