// Lines that the user types or pipes.
#pragma once
#include <memory>
#include <optional>
#include <string>

namespace wick::cli {

/// Reads lines from stdin: on a terminal with editing and history, else as they are.
class LineReader {
 public:
  /// history_file: keeps the lines between runs (see TypedLines); "" keeps no lines.
  LineReader(const std::string& prompt, const std::string& history_file);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// The next line without its newline; nullopt at the end. On a terminal, Ctrl-C discards the line
  /// and gives "", and a pasted text of several lines is one line.
  std::optional<std::string> next();

 private:
  struct Editor;
  std::unique_ptr<Editor> editor_;  // null if stdin is no terminal
};

}  // namespace wick::cli
