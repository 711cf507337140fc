// Base64, as texts hold bytes. Source: RFC 4648, section 4.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace wick {

/// The bytes; missing if the text is not base64 with padding.
std::optional<std::string> from_base64(std::string_view text);

/// The text of these bytes, with padding.
std::string to_base64(std::string_view bytes);

}  // namespace wick
