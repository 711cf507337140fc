// JSON string escaping.
#pragma once
#include <string>
#include <string_view>

namespace wick {

/// Quotes and escapes a string for JSON; escapes all control characters, U+007F to U+009F too, so
/// that terminals may print it. Bytes that are not UTF-8 become U+FFFD.
std::string json_quote(std::string_view text);
/// The bytes before the first that is not UTF-8.
size_t valid_utf8_bytes(std::string_view text);
inline bool is_utf8(std::string_view text) { return valid_utf8_bytes(text) == text.size(); }

}  // namespace wick
