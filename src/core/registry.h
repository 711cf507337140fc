// Backends by kind: the CPU, loaded modules, and those that users register.
#pragma once
#include <string>
#include <vector>

#include "wick/abi/backend.h"
#include "wick/core/device.h"

namespace wick {

/// Returns the backend of a kind, loading its module on the first call. Returns nullptr if there is
/// none, and sets *why to the reason and a remedy.
const Backend* find_backend(DeviceKind kind, std::string* why);
/// The folders in which modules are searched: those of WICK_BACKEND_PATH, then libwick's.
std::vector<std::string> module_folders();
/// The name of a kind, such as "rocm"; also for registered kinds.
std::string kind_name(DeviceKind kind);
/// Looks up a kind by name; returns false if there is none.
bool find_kind(std::string_view name, DeviceKind* kind);
/// The state of a device, shared by all Device objects for it. Errors: as Device::at.
DeviceState& device_state(DeviceLocation location);

}  // namespace wick
