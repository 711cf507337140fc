// Failures of a command; main.cpp maps them to exit codes.
#pragma once
#include <csignal>
#include <iterator>
#include <stdexcept>
#include <string>

#include "wick/base/error.h"

namespace wick::cli {

/// The user interrupted the command: exit code 130.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

/// The command has printed an answer that lists problems: exit code 1, without a text on stderr.
struct ProblemsFound : std::exception {
  const char* what() const noexcept override { return "problems were found"; }
};

/// The process has computed its part of another rank's command: exit code 0.
struct Followed : std::exception {
  const char* what() const noexcept override { return "followed another rank"; }
};

/// Throws for bad input; what() gives the place and the reason. Exit code 2.
template <class... Parts>
[[noreturn]] void fail_input(std::string_view where, const Parts&... parts) {
  fail(ErrorCode::kInvalidArgument, where, parts...);
}

/// Calls f, which reads files that the user named. One that cannot be read is bad input, not a
/// failure of the machine: kIo becomes kInvalidArgument, unless it is about `written`, the output.
template <class F>
auto reading_input(const F& f, const std::string& written = "") {
  try {
    return f();
  } catch (const Error& error) {
    const bool about_output = !written.empty() && std::string(error.what()).starts_with(written);
    if (error.code() != ErrorCode::kIo || about_output) throw;
    throw Error(ErrorCode::kInvalidArgument, error.what());
  }
}

/// While an instance lives, the first Ctrl-C or SIGTERM is only recorded; the second ends the
/// program. SIGHUP is recorded each time, because a terminal that closes sends it twice (the kernel
/// and the shell), unless it was ignored before (nohup).
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  static bool asked();
  /// Acts as a signal does.
  static void ask();

 private:
  static constexpr int kWatched[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before_[std::size(kWatched)];
};

/// From now on, to the end of the program, writing to a reader that went away is an error (EPIPE)
/// instead of the end.
void survive_readers();
/// Whether the reader of stdout or stderr went away: the other end of a pipe or socket, or the
/// terminal.
bool reader_gone();

}  // namespace wick::cli
