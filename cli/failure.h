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

/// Calls f, which reads files that the user named. One that cannot be read is bad input, not a
/// failure of the machine: kIo becomes kInvalidArgument.
template <class F>
auto reading_input(const F& f) {
  try {
    return f();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kIo) throw;
    throw Error(ErrorCode::kInvalidArgument, error.what());
  }
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
