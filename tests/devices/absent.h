// A device that is not there, and one that is and fails.
#pragma once
#include <optional>
#include <string>

#include "wick/core/backend.h"

namespace wick::test {

/// Whether an error of Device::parse says that there is no such device here. A module that is there
/// and cannot be used, or a card that fails, is not absent but broken.
bool is_absent(const Error& error, const BackendStatus& backend);

/// The device of that name ("rocm:0"); none, and why, if it is absent. Throws what Device::parse
/// throws of one that is broken, and of an emulator that is absent though this build has it.
std::optional<Device> find_device(const std::string& name, std::string* why);

}  // namespace wick::test
