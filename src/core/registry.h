// Backends by kind: the CPU's, the modules', and what users register.
#pragma once
#include <string>

#include "wick/abi/backend.h"
#include "wick/core/device.h"

namespace wick {

/// Loads the kind's module at the first call. nullptr if there is none; why then says what would
/// help.
const Backend* find_backend(DeviceKind kind, std::string* why);
/// "rocm" and so on; also of registered ones.
std::string kind_name(DeviceKind kind);
/// The kind of this name; false if there is none.
bool find_kind(std::string_view name, DeviceKind* kind);
/// The one state of a device. Errors as Device::at's.
DeviceState& device_state(DeviceLocation location);

}  // namespace wick
