#include "base/base64.h"

#include <array>
#include <cstdint>

namespace wick {
namespace {

constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The value of each byte as a letter, -1 if it is not one.
constexpr std::array<int8_t, 256> kValues = [] {
  std::array<int8_t, 256> values{};
  values.fill(-1);
  for (size_t i = 0; i < kLetters.size(); i++) values[uint8_t(kLetters[i])] = int8_t(i);
  return values;
}();

}  // namespace

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t at = 0; at < text.size(); at += 4) {
    const bool last = at + 4 == text.size();
    const size_t padding = !last || text[at + 3] != '=' ? 0 : text[at + 2] != '=' ? 1 : 2;
    uint32_t group = 0;
    for (size_t i = 0; i < 4 - padding; i++) {
      const int8_t value = kValues[uint8_t(text[at + i])];
      if (value < 0) return std::nullopt;
      group |= uint32_t(value) << (18 - 6 * i);
    }
    const uint32_t rest = padding == 0 ? 0 : padding == 1 ? 0xff : 0xffff;
    if ((group & rest) != 0) return std::nullopt;
    for (size_t i = 0; i < 3 - padding; i++) bytes += char(group >> (16 - 8 * i));
  }
  return bytes;
}

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t count = bytes.size() - at < 3 ? bytes.size() - at : 3;
    uint32_t group = 0;
    for (size_t i = 0; i < count; i++) group |= uint32_t(uint8_t(bytes[at + i])) << (16 - 8 * i);
    for (size_t i = 0; i < 4; i++)
      text += i <= count ? kLetters[(group >> (18 - 6 * i)) & 63] : '=';
  }
  return text;
}

}  // namespace wick
