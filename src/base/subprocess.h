// Runs programs from an argument list, never through a shell.
#pragma once
#include <chrono>
#include <optional>
#include <string>
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

/// Runs arguments[0], a path, with empty standard input, and waits. SIGINT that reaches this process
/// meanwhile, or more than `limit` of time, kills the program and what it has started. The process's
/// own handler of SIGINT runs too; without one the process ends as it would have.
/// Errors: kIo, naming the path.
Finished run_program(const std::vector<std::string>& arguments,
                     std::chrono::milliseconds limit = std::chrono::minutes(2));

}  // namespace wick
