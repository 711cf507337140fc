// How a command ends when it does not end well; main.cpp makes exit codes of it.
#pragma once
#include <csignal>
#include <stdexcept>
#include <string>

#include "wick/base/error.h"

namespace wick::cli {

/// The user stopped it: exit code 130.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

/// The input is bad, what() says what and where: exit code 2.
template <class... Parts>
[[noreturn]] void fail_input(std::string_view where, const Parts&... parts) {
  fail(ErrorCode::kInvalidArgument, where, parts...);
}

/// While one lives, Ctrl-C and SIGTERM are only noted; the second one ends the program at once.
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
