#include "io/json_text.h"

#include <cstdint>
#include <cstdio>

namespace wick {
namespace {

/// The length of the UTF-8 sequence that starts at `at`; 0 if invalid.
int sequence_length(std::string_view text, size_t at) {
  const uint8_t first = uint8_t(text[at]);
  const int length = first < 0x80                    ? 1
                     : first >= 0xc2 && first < 0xe0 ? 2
                     : (first & 0xf0) == 0xe0        ? 3
                     : first >= 0xf0 && first < 0xf5 ? 4
                                                     : 0;
  if (length == 0 || at + size_t(length) > text.size()) return 0;
  uint32_t code = length == 1 ? first : first & (0x7fu >> length);
  for (int i = 1; i < length; i++) {
    const uint8_t next = uint8_t(text[at + size_t(i)]);
    if ((next & 0xc0) != 0x80) return 0;
    code = code << 6 | (next & 0x3f);
  }
  const bool overlong =
      (length == 3 && code < 0x800) || (length == 4 && (code < 0x10000 || code > 0x10ffff));
  const bool surrogate = 0xd800 <= code && code < 0xe000;
  return overlong || surrogate ? 0 : length;
}

/// The code of a control character, U+0000 to U+001F and U+007F to U+009F; -1 for others.
int control_code(std::string_view character) {
  if (character.size() == 1) {
    const int code = uint8_t(character[0]);
    return code < 0x20 || code == 0x7f ? code : -1;
  }
  const bool high = character.size() == 2 && character[0] == '\xc2' && uint8_t(character[1]) < 0xa0;
  return high ? uint8_t(character[1]) : -1;
}

}  // namespace

size_t valid_utf8_bytes(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const int length = sequence_length(text, at);
    if (length == 0) break;
    at += size_t(length);
  }
  return at;
}

std::string json_quote(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const int length = sequence_length(text, i);
    const char c = text[i];
    const int control = control_code(text.substr(i, size_t(length)));
    if (length == 0)
      out += "\xef\xbf\xbd";
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (control >= 0) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", unsigned(control));
      out += escape;
    } else if (length > 1)
      out += text.substr(i, size_t(length));
    else if (c == '"' || c == '\\')
      (out += '\\') += c;
    else
      out += c;
    i += size_t(length == 0 ? 1 : length);
  }
  return out += '"';
}

}  // namespace wick
