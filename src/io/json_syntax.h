// JSON as Python's json module writes and reads it, and the place where a text stops being JSON.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace wick {

/// What a list of one string stands for in marked_json().
inline constexpr std::string_view kNan = "NaN", kInfinity = "Infinity",
                                  kMinusInfinity = "-Infinity";

/// The text as strict JSON. NaN, Infinity, -Infinity and reals beyond f64 become lists of one string,
/// such as ["NaN"]; every string of the text has a '~' put before it, so that it is none of those.
/// Integers beyond int64_t become reals. A text that Python refuses stays refused.
std::string marked_json(std::string_view text);
inline constexpr char kStringMark = '~';

/// The first character that cannot be there.
struct JsonFault {
  size_t at;             // byte offset; the text's size if the text ends too early
  std::string expected;  // "a value"
};
inline constexpr std::string_view kJsonEnd = "the end";  // expected where more follows
/// nullopt if the text is JSON, with Python's additions.
std::optional<JsonFault> find_json_fault(std::string_view text);

/// "line 3, column 7", counted from 1, columns in code points.
std::string line_and_column(std::string_view text, size_t at);

}  // namespace wick
