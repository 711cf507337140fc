// Names in C++ source.
#pragma once
#include <string_view>

namespace wick {

/// Whether text is a C identifier: letters, digits and _, not starting with a digit.
constexpr bool is_identifier(std::string_view text) {
  for (const char c : text) {
    const bool letter = ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || c == '_';
    if (!letter && !('0' <= c && c <= '9')) return false;
  }
  return !text.empty() && !('0' <= text[0] && text[0] <= '9');
}

}  // namespace wick
