// Lines typed in earlier runs.
#pragma once
#include <string>
#include <vector>

namespace wick::cli {

/// The file of `wick chat`'s history: XDG_STATE_HOME/wick/chat_history, else
/// ~/.local/state/wick/chat_history; "" if neither variable names an absolute folder.
std::string history_place();

/// A file with a JSON string on each line, which only its owner can read (0600). Each line is added
/// at once, so that programs that run at the same time keep each other's.
class TypedLines {
 public:
  static constexpr size_t kMaxLines = 1000;

  /// Reads the newest kMaxLines lines. A missing file is empty; lines that are no JSON string are
  /// skipped. Files of more than twice as many lines are cut to kMaxLines. path: "" keeps nothing.
  explicit TypedLines(const std::string& path);
  const std::vector<std::string>& lines() const { return lines_; }
  /// Adds a line. Errors: kIo for the first line that cannot be written; later ones are dropped.
  void add(const std::string& line);

 private:
  std::string path_;
  std::vector<std::string> lines_;
};

}  // namespace wick::cli
