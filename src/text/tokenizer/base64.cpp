#include "text/tokenizer/base64.h"

#include <cstdint>

namespace wick::tokenization {

std::optional<std::string> from_base64(std::string_view text) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t at = 0; at < text.size(); at += 4) {
    const bool last = at + 4 == text.size();
    const size_t padding = !last || text[at + 3] != '=' ? 0 : text[at + 2] != '=' ? 1 : 2;
    uint32_t group = 0;
    for (size_t i = 0; i < 4 - padding; i++) {
      const size_t value = kLetters.find(text[at + i]);
      if (value == kLetters.npos) return std::nullopt;
      group |= uint32_t(value) << (18 - 6 * i);
    }
    const uint32_t rest = padding == 0 ? 0 : padding == 1 ? 0xff : 0xffff;
    if ((group & rest) != 0) return std::nullopt;
    for (size_t i = 0; i < 3 - padding; i++) bytes += char(group >> (16 - 8 * i));
  }
  return bytes;
}

}  // namespace wick::tokenization
