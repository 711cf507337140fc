// The one error type. Users, files and devices cause it; a bug of our own trips WICK_ASSERT
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
  kUnsupported,  // no kernel and no composite takes the call
  kOutOfMemory,
  kModuleMissing,   // the backend's module is not installed
  kRuntimeMissing,  // the vendor's runtime is not installed
  kDeviceMissing,   // no such card
  kRocm,            // the AMD runtime or card failed
  kCuda,            // the NVIDIA runtime or card failed
  kKernelNotFound,  // no code of a kernel for the card's architecture
  kKernelModuleNotLoaded,
  kKernelError,      // a kernel failed while it ran
  kModifiedInPlace,  // what the gradient needs was overwritten
  kNoGradient,
  kIo,
  kFormat,  // a file's content
};

/// The code in words: "shape mismatch" and the like.
WICK_API const char* error_code_name(ErrorCode code);

/// what() is "op: what was expected, what came", one line.
class WICK_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& text) : std::runtime_error(text), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

namespace detail {
/// Text of anything that streams, without <sstream> in this header.
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
/// A type of ours says its text by a free function to_string.
template <class T>
requires requires(const T& value) { to_string(value); }
void append(std::string& to, const T& value) { append(to, std::string_view(to_string(value))); }
}  // namespace detail

namespace detail {
/// The op that this thread's user called, if it said so (src/base/calling.h), else `where`.
WICK_API std::string_view called(std::string_view where);
}  // namespace detail

/// Throws Error "where: parts...".
template <class... Parts>
[[noreturn]] void fail(ErrorCode code, std::string_view where, const Parts&... parts) {
  std::string text(detail::called(where));
  text += ": ";
  (detail::append(text, parts), ...);
  throw Error(code, text);
}

/// Fails unless the condition holds.
template <class... Parts>
void check(bool condition, ErrorCode code, std::string_view where, const Parts&... parts) {
  if (!condition) [[unlikely]]
    fail(code, where, parts...);
}

}  // namespace wick
