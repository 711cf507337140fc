#include "absent.h"

namespace wick::test {

bool is_absent(const Error& error, const BackendStatus& backend) {
  switch (error.code()) {
    case ErrorCode::kModuleMissing:
      return backend.module.empty();  // else it is there, and cannot be loaded or used
    case ErrorCode::kDeviceMissing:
      return backend.unusable.empty();
    case ErrorCode::kRuntimeMissing:
      return true;
    default:
      return false;
  }
}

std::optional<Device> find_device(const std::string& name, std::string* why) {
  try {
    return Device::parse(name);
  } catch (const Error& error) {
    const std::string kind = name.substr(0, name.find(':'));
#ifdef WICK_TESTS_HAVE_EMULATOR
    if (kind == "emu") throw;
#endif
    for (const BackendStatus& backend : backend_status()) {
      if (backend.name != kind || !is_absent(error, backend)) continue;
      *why = error.what();
      return std::nullopt;
    }
    throw;
  }
}

}  // namespace wick::test
