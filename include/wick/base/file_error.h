// The error of a file that the system refuses.
#pragma once
#include <string>
#include <string_view>

#include "wick/base/error.h"

namespace wick {

/// An Error of code kIo that keeps the system's reason.
class WICK_API FileError : public Error {
 public:
  /// reason: the errno of the call that failed.
  FileError(int reason, const std::string& text) : Error(ErrorCode::kIo, text), reason_(reason) {}
  /// ENOENT if there is no such file, EACCES if it may not be read, and so on.
  int reason() const { return reason_; }

 private:
  int reason_;
};

/// Throws FileError with the text "path: parts...".
template <class... Parts>
[[noreturn]] void fail_file(int reason, std::string_view path, const Parts&... parts) {
  std::string text(path);
  text += ": ";
  (detail::append(text, parts), ...);
  throw FileError(reason, text);
}

}  // namespace wick
