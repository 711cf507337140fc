// Failures of a command; main.cpp maps them to exit codes.
#pragma once
#include <csignal>
#include <stdexcept>
#include <string>

#include "wick/base/error.h"

namespace wick::cli {

/// The user interrupted the command: exit code 130.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

/// Throws for bad input; what() gives the place and the reason. Exit code 2.
template <class... Parts>
[[noreturn]] void fail_input(std::string_view where, const Parts&... parts) {
  fail(ErrorCode::kInvalidArgument, where, parts...);
}

/// While an instance lives, the first Ctrl-C or SIGTERM is only recorded; the second ends the
/// program.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  static bool asked();

 private:
  struct sigaction before_[2];
};

}  // namespace wick::cli
