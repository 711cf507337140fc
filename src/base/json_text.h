// Writing JSON: the quotes and escapes of strings, and the layout of lists and objects.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wick {

/// The characters of a string that JSON escapes, beside quotes, backslashes and U+0000 to U+001F.
enum class JsonEscapes {
  kPython,    // no others; \b \f \n \r \t have their short forms, as json.dumps writes them
  kAscii,     // U+007F and all beyond ASCII, as json.dumps does with ensure_ascii
  kControls,  // U+007F to U+009F, so that terminals may print the text; \n and \t alone are short
};

/// The text in quotes, escaped. Each maximal part of a character that is not UTF-8 becomes U+FFFD.
std::string json_quote(std::string_view text, JsonEscapes escapes = JsonEscapes::kControls);

struct JsonLayout {
  JsonEscapes escapes = JsonEscapes::kControls;
  bool entry_lines = false;  // each entry of an object has its own line
  bool item_lines = false;   // each item of a list has its own line
  std::string indent = {};   // of those lines, per level
  std::string entry_separator = ",", item_separator = ",", key_separator = ":";
};

/// Writes one value; lists and objects are begun, filled and ended. The caller keeps the order: an
/// object's keys and values alternate.
class JsonWriter {
 public:
  /// level: of the line that the value begins on. Lists and objects with lines add one each.
  explicit JsonWriter(JsonLayout layout, int level = 0)
      : layout_(std::move(layout)), level_(level) {}

  void begin_list();
  void end_list();
  void begin_object();
  void end_object();
  void key(std::string_view text);
  void string(std::string_view text);
  /// A value as it is written: a number, "true", "null".
  void literal(std::string_view text);

  const std::string& text() const { return text_; }
  /// The level of the next line.
  int level() const { return level_; }

 private:
  struct Open {
    bool is_object, is_empty = true;
  };
  void begin(char bracket, bool is_object);
  void end(char bracket);
  void separate();
  void line();
  bool has_lines(const Open& open) const {
    return open.is_object ? layout_.entry_lines : layout_.item_lines;
  }

  JsonLayout layout_;
  int level_;
  std::vector<Open> open_;
  bool after_key_ = false;
  std::string text_;
};

}  // namespace wick
