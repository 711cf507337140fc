// UTF-8 and the classes of code points.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace wick::tokenization {

/// The bytes of the text up to the first that is not UTF-8.
size_t valid_prefix(std::string_view text);
/// The text with each maximal part of a character that is not UTF-8 replaced by U+FFFD.
std::string with_valid_utf8(std::string_view text);

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
int64_t count_code_points(std::string_view text);

inline constexpr std::string_view kReplacement = "\uFFFD";
inline constexpr std::string_view kSpaceMark = "\u2581";  // SentencePiece's space

/// The text in quotes on one line, for errors: cut if it is long, with control characters escaped.
std::string in_quotes(std::string_view text);

/// Unicode's White_Space.
bool is_white_space(char32_t code);

}  // namespace wick::tokenization
