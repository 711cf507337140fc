// Seeds of devices and sessions.
#pragma once
#include <cstdint>

#include "wick/core/device.h"

namespace wick::python {

/// Sets the device's seed, on which from now on the seeds of new sessions depend.
void seed_device(const Device& device, uint64_t seed);
/// A seed for a session without a seed of its own: drawn from the device's generator if the program
/// has seeded the device, so that manual_seed repeats the texts after it; else from the system,
/// another one each time.
uint64_t new_session_seed(const Device& device);

}  // namespace wick::python
