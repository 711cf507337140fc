// The error type for failures caused by users, files and devices. A bug in wick trips WICK_ASSERT
// instead.
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

#include "wick/base/export.h"

namespace wick {

enum class ErrorCode {
  kInvalidArgument,
  kShapeMismatch,
  kDTypeMismatch,
  kDeviceMismatch,
  kOutOfRange,   // an index or id beyond its dimension
  kUnsupported,  // no kernel or composite accepts the call
  kOutOfMemory,
  kModuleMissing,   // the backend's module is not installed
  kRuntimeMissing,  // the vendor's runtime is not installed
  kDeviceMissing,   // the device does not exist
  kRocm,            // the AMD runtime or device failed
  kCuda,            // the NVIDIA runtime or device failed
  kKernelNotFound,  // a kernel has no code for the device's architecture
  kKernelModuleNotLoaded,
  kKernelError,      // a kernel failed while running
  kModifiedInPlace,  // a tensor that the gradient needs was overwritten
  kNoGradient,
  kIo,
  kFormat,  // invalid file content
};

/// The code as text, such as "shape mismatch".
WICK_API const char* error_code_name(ErrorCode code);

/// what() is one line: the op, then the expected and the given value.
class WICK_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& text) : std::runtime_error(text), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

namespace detail {
/// Appends a value as text, without <sstream> in this header.
WICK_API void append(std::string& to, std::string_view text);
WICK_API void append(std::string& to, long long value);
WICK_API void append(std::string& to, unsigned long long value);
WICK_API void append(std::string& to, double value);
inline void append(std::string& to, const char* text) { append(to, std::string_view(text)); }
inline void append(std::string& to, const std::string& text) { append(to, std::string_view(text)); }
inline void append(std::string& to, bool value) {
  append(to, std::string_view(value ? "true" : "false"));
}
inline void append(std::string& to, int value) { append(to, static_cast<long long>(value)); }
inline void append(std::string& to, long value) { append(to, static_cast<long long>(value)); }
inline void append(std::string& to, unsigned value) {
  append(to, static_cast<unsigned long long>(value));
}
inline void append(std::string& to, unsigned long value) {
  append(to, static_cast<unsigned long long>(value));
}
/// For types that have a free function to_string.
template <class T>
requires requires(const T& value) { to_string(value); }
void append(std::string& to, const T& value) { append(to, std::string_view(to_string(value))); }
}  // namespace detail

namespace detail {
/// The op that the user called on this thread, if one is set (src/base/calling.h), else `where`.
WICK_API std::string_view called(std::string_view where);
}  // namespace detail

/// Throws Error with the text "where: parts...".
template <class... Parts>
[[noreturn]] void fail(ErrorCode code, std::string_view where, const Parts&... parts) {
  std::string text(detail::called(where));
  text += ": ";
  (detail::append(text, parts), ...);
  throw Error(code, text);
}

/// Calls fail unless the condition holds.
template <class... Parts>
void check(bool condition, ErrorCode code, std::string_view where, const Parts&... parts) {
  if (!condition) [[unlikely]]
    fail(code, where, parts...);
}

}  // namespace wick
