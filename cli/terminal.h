// Texts of models on a terminal, and lines read from one.
#pragma once
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace wick::cli {

bool is_terminal(FILE* file);
/// The text without control characters other than newline and tab, which could move the cursor,
/// change the title or answer as if typed. text: UTF-8.
std::string without_controls(std::string_view text);
/// Prints a model's text on stdout at once; on a terminal, only its printable part.
void print_text(std::string_view text);

/// Reads lines from stdin: on a terminal with editing and history, else as they are.
class LineReader {
 public:
  explicit LineReader(const std::string& prompt);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// The next line without its newline; nullopt at the end. Ctrl-C on a terminal discards the line
  /// and gives "".
  std::optional<std::string> next();

 private:
  struct Editor;
  std::unique_ptr<Editor> editor_;  // null if stdin is no terminal
};

}  // namespace wick::cli
