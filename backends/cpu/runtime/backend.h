// The CPU as a backend: always linked, one device.
#pragma once
#include "wick/abi/backend.h"

namespace wick::cpu {

/// Created by the first call. Errors: those of isa(), if WICK_CPU names an unavailable set.
const Backend* cpu_backend();

}  // namespace wick::cpu
