#include "wick/base/error.h"

#include <charconv>

#include "base/calling.h"

namespace wick {
namespace {
thread_local const char* calling = nullptr;
}

Calling::Calling(const char* op) : before_(calling) {
  if (!calling) calling = op;
}
Calling::~Calling() { calling = before_; }

std::string_view detail::called(std::string_view where) { return calling ? calling : where; }

const char* error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid argument";
    case ErrorCode::kShapeMismatch:
      return "shape mismatch";
    case ErrorCode::kDTypeMismatch:
      return "dtype mismatch";
    case ErrorCode::kDeviceMismatch:
      return "device mismatch";
    case ErrorCode::kOutOfRange:
      return "out of range";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kOutOfMemory:
      return "out of memory";
    case ErrorCode::kModuleMissing:
      return "module missing";
    case ErrorCode::kRuntimeMissing:
      return "runtime missing";
    case ErrorCode::kDeviceMissing:
      return "device missing";
    case ErrorCode::kRocm:
      return "ROCm error";
    case ErrorCode::kCuda:
      return "CUDA error";
    case ErrorCode::kKernelNotFound:
      return "kernel not found";
    case ErrorCode::kKernelModuleNotLoaded:
      return "kernel module not loaded";
    case ErrorCode::kKernelError:
      return "kernel error";
    case ErrorCode::kModifiedInPlace:
      return "modified in place";
    case ErrorCode::kNoGradient:
      return "no gradient";
    case ErrorCode::kIo:
      return "input/output error";
    case ErrorCode::kFormat:
      return "format error";
  }
  return "unknown error";
}

namespace detail {
namespace {
template <class T>
void append_number(std::string& to, T value) {
  char buffer[32];
  to.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}
}  // namespace
void append(std::string& to, std::string_view text) { to += text; }
void append(std::string& to, long long value) { append_number(to, value); }
void append(std::string& to, unsigned long long value) { append_number(to, value); }
void append(std::string& to, double value) { append_number(to, value); }
}  // namespace detail
}  // namespace wick
