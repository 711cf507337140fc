// Tensors by name: what files hold and models are made of.
#pragma once
#include <map>
#include <string>

#include "wick/core/tensor.h"

namespace wick {

using NamedTensors = std::map<std::string, Tensor>;

}  // namespace wick
