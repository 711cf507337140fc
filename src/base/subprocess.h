// Runs programs from an argument list, never through a shell.
#pragma once
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
/// Runs arguments[0], a path, with empty standard input, and waits. Errors: kIo, naming the path.
Finished run_program(const std::vector<std::string>& arguments);

}  // namespace wick
