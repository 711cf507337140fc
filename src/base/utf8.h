// UTF-8: validity, and code points to bytes and back.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace wick {

/// The number of bytes before the first that is not UTF-8.
size_t valid_utf8_bytes(std::string_view text);
inline bool is_utf8(std::string_view text) { return valid_utf8_bytes(text) == text.size(); }
/// The text with each maximal part of a character that is not UTF-8 replaced by U+FFFD.
/// Source: Unicode 15, section 3.9, "U+FFFD Substitution of Maximal Subparts".
std::string with_valid_utf8(std::string_view text);

/// The bytes of the maximal part of a character that a text starts with which is not UTF-8 there.
size_t invalid_utf8_bytes(std::string_view text);

/// Moves the complete characters of `bytes` to `to`, with U+FFFD for bytes that are not UTF-8.
/// Bytes that begin a character at the end stay in `bytes`.
void move_characters(std::string& bytes, std::string& to);

/// The bytes of the character that starts with this byte, in valid UTF-8.
inline size_t character_length(char first) {
  const uint8_t c = uint8_t(first);
  return c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}
inline bool starts_character(char byte) { return (uint8_t(byte) & 0xc0) != 0x80; }
/// The code point at byte `at` of valid UTF-8; `at` moves to the next. U+FFFD if it is cut off.
char32_t next_code_point(std::string_view text, size_t& at);
void append_code_point(std::string& to, char32_t code);
/// The number of code points of valid UTF-8.
int64_t count_code_points(std::string_view text);

inline constexpr std::string_view kReplacement = "\uFFFD";

}  // namespace wick
