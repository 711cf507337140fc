// Control characters, which could move a terminal's cursor, change its title, answer as if typed,
// or show text in another order: U+0000 to U+001F but newline and tab, U+007F to U+009F, and
// Unicode's bidirectional controls.
#pragma once
#include <string>
#include <string_view>

namespace wick::cli {

/// Copies text and writes control characters as in JSON ("\u001b"), bytes that are not UTF-8 as
/// U+FFFD. The text may come in pieces that end within a character.
class ControlEscaper {
 public:
  std::string push(std::string_view piece);
  /// The text of a character that has not been completed.
  std::string finish();

 private:
  std::string begun_;  // the first bytes of a character
};

/// The text as ControlEscaper gives it.
std::string escaped_controls(std::string_view text);
/// The text without control characters; bytes that are not UTF-8 become U+FFFD.
std::string without_controls(std::string_view text);

}  // namespace wick::cli
