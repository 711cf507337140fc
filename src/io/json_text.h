// Text as JSON writes it.
#pragma once
#include <string>
#include <string_view>

namespace wick {

/// The text in quotes, with what JSON wants escaped. Bytes that are no UTF-8 become U+FFFD.
std::string json_quote(std::string_view text);
bool is_utf8(std::string_view text);

}  // namespace wick
