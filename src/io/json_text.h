// JSON string escaping.
#pragma once
#include <string>
#include <string_view>

namespace wick {

/// Quotes and escapes a string for JSON. Bytes that are not UTF-8 become U+FFFD.
std::string json_quote(std::string_view text);
bool is_utf8(std::string_view text);

}  // namespace wick
