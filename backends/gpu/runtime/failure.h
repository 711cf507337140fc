// Why something failed, in parts of a runtime that do not know the Backend table.
#pragma once
#include <string>

#include "wick/abi/call.h"

namespace wick::gpu {

/// An error code and a text of one line.
struct Failure {
  StatusCode code = StatusCode::kOk;
  std::string text;
  bool ok() const { return code == StatusCode::kOk; }
};

}  // namespace wick::gpu
