// Runs programs from an argument list, never through a shell.
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

/// The path of a program: `name` itself if it contains a slash, else found in PATH. nullopt if
/// there is no such file or it is not executable.
std::optional<std::string> find_program(const std::string& name);

struct Finished {
  int status;          // exit status, or 128 + the signal that ended it
  std::string output;  // standard output and error, at most 1 MiB
};
/// "exits with status 3" or "is ended by signal 9 (Killed)".
std::string ending_of(const Finished& finished);

struct ProgramLimits {
  std::chrono::milliseconds time = std::chrono::minutes(2);
  std::chrono::milliseconds silence = std::chrono::hours(1);  // without output
};

/// Runs arguments[0], a path, with empty standard input, and waits. SIGINT that reaches this process
/// meanwhile, or a limit, kills the program and what it has started. The process's own handler of
/// SIGINT runs too; without one the process ends as it would have. on_output gets the output as it
/// comes; Finished::output is then empty.
/// Errors: kIo, naming the path.
Finished run_program(const std::vector<std::string>& arguments, const ProgramLimits& limits,
                     const std::function<void(std::string_view)>& on_output = {});
inline Finished run_program(const std::vector<std::string>& arguments,
                            std::chrono::milliseconds limit = std::chrono::minutes(2)) {
  return run_program(arguments, ProgramLimits{.time = limit});
}

}  // namespace wick
