// The rows of the registry, each of which its own file defines.
#pragma once
#include <array>

#include "wick/models/registry.h"

namespace wick {

extern const Architecture kDecoders;
extern const Architecture kMamba;
extern const Architecture kPaliGemma;
extern const Architecture kColPali;
extern const Architecture kBased;

inline const std::array kArchitectures = {&kDecoders, &kMamba, &kPaliGemma, &kColPali, &kBased};

}  // namespace wick
