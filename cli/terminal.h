// Output on terminals: texts of models, files and arguments do not control them.
#pragma once
#include <cstdio>
#include <memory>
#include <string_view>

namespace wick::cli {

/// Whether stdin, stdout or stderr, by their numbers 0, 1 and 2, is a terminal.
bool is_terminal(int descriptor);

/// While an instance lives, `stdout` and `stderr` escape control characters if they are terminals
/// (ControlEscaper), whoever prints to them. raw_stdout and raw_stderr do not.
class TerminalGuard {
 public:
  TerminalGuard();
  ~TerminalGuard();
  TerminalGuard(const TerminalGuard&) = delete;
  TerminalGuard& operator=(const TerminalGuard&) = delete;

 private:
  struct Escaping;
  std::unique_ptr<Escaping> out_, err_;  // null if it is no terminal
};

/// The process's own streams, for the program's control sequences alone. Flush stdout before.
FILE* raw_stdout();
FILE* raw_stderr();

/// Prints a model's text on stdout at once; on a terminal without its control characters.
void print_text(std::string_view text);

}  // namespace wick::cli
