// The machine's devices.
#pragma once
#include <vector>

#include "wick/core/device.h"

namespace wick::python {

/// All devices of this machine, the emulators included.
std::vector<Device> all_devices();

}  // namespace wick::python
