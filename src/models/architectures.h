// The rows of the registry, each of which its own file defines.
#pragma once
#include <array>

#include "wick/models/registry.h"

namespace wick {

extern const Architecture kDecoders;

inline const std::array kArchitectures = {&kDecoders};

}  // namespace wick
