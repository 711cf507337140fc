// The CPU as a backend: always linked, one device.
#pragma once
#include "wick/abi/backend.h"

namespace wick::cpu {

/// Made at the first call. Errors: of isa(), when WICK_CPU asks for what is not there.
const Backend* cpu_backend();

}  // namespace wick::cpu
