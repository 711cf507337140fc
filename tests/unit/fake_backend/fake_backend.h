// A backend that nothing but this folder knows: one device on host memory, plain f32 loops.
#pragma once
#include "wick/abi/backend.h"

namespace fake {

/// The fake backend's table: to be passed to wick::register_backend. The device is "fake:0".
const wick::Backend* backend();

/// How many kernels have run.
int launches();

}  // namespace fake
