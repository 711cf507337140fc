// Base64, as files of text hold bytes. Source: RFC 4648, section 4.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace wick::tokenization {

/// The bytes; missing if the text is not base64 with padding.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace wick::tokenization
