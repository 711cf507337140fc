// Programs run from here: an argument list, never a shell.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace wick {

/// Where a program of this name lies: the name itself if it has a slash, else in a folder of PATH.
/// None: there is no such file, or it may not be run.
std::optional<std::string> find_program(const std::string& name);

struct Finished {
  int status;          // the exit status; 128 + the signal that ended it
  std::string output;  // what it wrote to its standard output and error, at most 1 MiB
};
/// Runs arguments[0], a path, with an empty standard input, and waits. Errors: kIo, which names it.
Finished run_program(const std::vector<std::string>& arguments);

}  // namespace wick
