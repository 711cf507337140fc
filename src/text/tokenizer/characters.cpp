#include "text/tokenizer/characters.h"

#include <cstdio>

namespace wick::tokenization {

std::string in_quotes(std::string_view text) {
  constexpr size_t kMax = 80;
  std::string result = "\"";
  for (const char byte : with_valid_utf8(text.substr(0, kMax))) {
    if (uint8_t(byte) < 0x20 || byte == 0x7f) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", unsigned(uint8_t(byte)));
      result += escaped;
    } else {
      result += byte;
    }
  }
  return result + (text.size() > kMax ? "...\"" : "\"");
}

bool is_white_space(char32_t code) {
  return (code >= 0x09 && code <= 0x0d) || code == 0x20 || code == 0x85 || code == 0xa0 ||
         code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 ||
         code == 0x202f || code == 0x205f || code == 0x3000;
}

}  // namespace wick::tokenization
