// The page to chat in.
#pragma once
#include <string_view>

namespace wick {

/// page.html, one file with its styles and its script.
extern const std::string_view kPage;

}  // namespace wick
