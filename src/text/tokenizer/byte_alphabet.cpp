#include "text/tokenizer/byte_alphabet.h"

#include <cstdio>

#include "base/utf8.h"

namespace wick::tokenization {
namespace {

struct Alphabet {
  std::array<std::string, 256> letters;
  std::array<int16_t, 256 + 68> bytes;  // by code point; -1 for no letter

  Alphabet() {
    bytes.fill(-1);
    char32_t next = 256;
    for (int byte = 0; byte < 256; byte++) {
      const bool printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad);
      const char32_t letter = printable ? char32_t(byte) : next++;
      append_code_point(letters[size_t(byte)], letter);
      bytes[letter] = int16_t(byte);
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet the;
  return the;
}

}  // namespace

std::string_view letter_of(uint8_t byte) { return alphabet().letters[byte]; }

std::optional<uint8_t> byte_of(char32_t letter) {
  const auto& bytes = alphabet().bytes;
  if (letter >= bytes.size() || bytes[letter] < 0) return std::nullopt;
  return uint8_t(bytes[letter]);
}

std::string spelling_of_byte(uint8_t byte) {
  char text[8];
  std::snprintf(text, sizeof text, "<0x%02X>", unsigned(byte));
  return text;
}

std::string to_letters(std::string_view bytes) {
  std::string letters;
  letters.reserve(bytes.size() * 2);
  for (const char byte : bytes) letters += letter_of(uint8_t(byte));
  return letters;
}

bool append_bytes(std::string_view letters, std::string& to) {
  const size_t before = to.size();
  for (size_t at = 0; at < letters.size();) {
    const std::optional<uint8_t> byte = byte_of(next_code_point(letters, at));
    if (!byte) {
      to.resize(before);
      return false;
    }
    to += char(*byte);
  }
  return true;
}

}  // namespace wick::tokenization
