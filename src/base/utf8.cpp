#include "base/utf8.h"

#include <algorithm>
#include <cstring>

namespace wick {
namespace {

/// The bytes of the character at the start of the text, if it is whole and valid; otherwise 0, and
/// `part` is the length of the maximal part of a character there (at least 1).
size_t character_at(std::string_view text, size_t& part) {
  const auto byte = [&](size_t i) { return i < text.size() ? uint8_t(text[i]) : 0; };
  const auto continues = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const uint8_t first = byte(0);
  part = 1;
  if (first < 0x80) return 1;
  // The second byte's range excludes overlong forms, surrogates and code points above U+10FFFF.
  uint8_t low = 0x80, high = 0xbf;
  size_t length = 0;
  if (first >= 0xc2 && first <= 0xdf) length = 2;
  if (first >= 0xe0 && first <= 0xef) length = 3;
  if (first >= 0xf0 && first <= 0xf4) length = 4;
  if (first == 0xe0) low = 0xa0;
  if (first == 0xed) high = 0x9f;
  if (first == 0xf0) low = 0x90;
  if (first == 0xf4) high = 0x8f;
  if (length == 0 || byte(1) < low || byte(1) > high) return 0;
  for (part = 2; part < length; part++)
    if (!continues(part)) return 0;
  return length;
}

/// The bytes at the start that are ASCII, eight at a time.
size_t ascii_prefix(std::string_view text) {
  size_t at = 0;
  for (uint64_t word; at + 8 <= text.size(); at += 8) {
    std::memcpy(&word, text.data() + at, 8);
    if (word & 0x8080808080808080) break;
  }
  while (at < text.size() && uint8_t(text[at]) < 0x80) at++;
  return at;
}

}  // namespace

size_t valid_utf8_bytes(std::string_view text) {
  size_t at = 0;
  while (true) {
    at += ascii_prefix(text.substr(at));
    if (at == text.size()) return at;
    size_t part;
    const size_t length = character_at(text.substr(at), part);
    if (length == 0) return at;
    at += length;
  }
}

size_t invalid_utf8_bytes(std::string_view text) {
  size_t part;
  character_at(text, part);
  return std::min(part, text.size());
}

std::string with_valid_utf8(std::string_view text) {
  std::string bytes(text), result;
  move_characters(bytes, result);
  if (!bytes.empty()) result += kReplacement;
  return result;
}

void move_characters(std::string& bytes, std::string& to) {
  std::string_view rest = bytes;
  while (true) {
    const size_t valid = valid_utf8_bytes(rest);
    to.append(rest, 0, valid);
    rest.remove_prefix(valid);
    if (rest.empty()) break;
    size_t part;
    character_at(rest, part);
    // A part that ends with the bytes may still become a character, if its first byte begins one.
    const uint8_t first = uint8_t(rest[0]);
    if (part == rest.size() && (part > 1 || (first >= 0xc2 && first <= 0xf4))) break;
    to += kReplacement;
    rest.remove_prefix(part);
  }
  bytes.erase(0, bytes.size() - rest.size());
}

char32_t next_code_point(std::string_view text, size_t& at) {
  const uint8_t first = uint8_t(text[at]);
  const size_t length = character_length(char(first));
  if (length > text.size() - at) {
    at = text.size();
    return 0xfffd;
  }
  char32_t code = length == 1 ? first : first & (0x7f >> length);
  for (size_t i = 1; i < length; i++) code = code << 6 | (uint8_t(text[at + i]) & 0x3f);
  at += length;
  return code;
}

void append_code_point(std::string& to, char32_t code) {
  if (code < 0x80) {
    to += char(code);
  } else if (code < 0x800) {
    to += char(0xc0 | code >> 6);
    to += char(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    to += char(0xe0 | code >> 12);
    to += char(0x80 | (code >> 6 & 0x3f));
    to += char(0x80 | (code & 0x3f));
  } else {
    to += char(0xf0 | code >> 18);
    to += char(0x80 | (code >> 12 & 0x3f));
    to += char(0x80 | (code >> 6 & 0x3f));
    to += char(0x80 | (code & 0x3f));
  }
}

int64_t count_code_points(std::string_view text) {
  int64_t count = 0;
  for (const char byte : text) count += starts_character(byte);
  return count;
}

}  // namespace wick
