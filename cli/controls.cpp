#include "controls.h"

#include <array>
#include <cstdint>
#include <cstdio>

namespace wick::cli {
namespace {

constexpr const char* kReplacement = "\xef\xbf\xbd";  // U+FFFD

bool is_control(uint32_t point) {
  if (point == '\n' || point == '\t') return false;
  constexpr std::array<std::array<uint32_t, 2>, 6> kRanges = {{{0, 0x1f},
                                                               {0x7f, 0x9f},
                                                               {0x61c, 0x61c},
                                                               {0x200e, 0x200f},
                                                               {0x202a, 0x202e},
                                                               {0x2066, 0x2069}}};
  for (const auto& [first, last] : kRanges)
    if (first <= point && point <= last) return true;
  return false;
}

enum class Form { kWhole, kBegun, kBad };

/// The character at the beginning of a text that is not empty.
struct Character {
  Form form;
  size_t bytes;  // of a bad one: those to be replaced
  uint32_t point;
};

/// Source: Unicode 15, table 3-7.
Character first_of(std::string_view text) {
  const auto byte = [&](size_t i) { return uint32_t(static_cast<unsigned char>(text[i])); };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {Form::kWhole, 1, lead};
  const size_t bytes = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (bytes == 0) return {Form::kBad, 1, 0};
  uint32_t point = lead & (0xffu >> (bytes + 1));
  for (size_t i = 1; i < bytes; i++) {
    if (i == text.size()) return {Form::kBegun, i, 0};
    uint32_t low = 0x80, high = 0xbf;
    if (i == 1 && lead == 0xe0) low = 0xa0;
    if (i == 1 && lead == 0xed) high = 0x9f;
    if (i == 1 && lead == 0xf0) low = 0x90;
    if (i == 1 && lead == 0xf4) high = 0x8f;
    if (byte(i) < low || byte(i) > high) return {Form::kBad, i, 0};
    point = point << 6 | (byte(i) & 0x3f);
  }
  return {Form::kWhole, bytes, point};
}

/// Appends the whole characters of text to `out`, controls as on_control gives them. Returns the
/// bytes of a character that the end cuts.
template <class F>
std::string_view copy_characters(std::string_view text, std::string* out, const F& on_control) {
  while (!text.empty()) {
    const Character c = first_of(text);
    if (c.form == Form::kBegun) break;
    if (c.form == Form::kBad)
      *out += kReplacement;
    else if (is_control(c.point))
      *out += on_control(c.point);
    else
      *out += text.substr(0, c.bytes);
    text.remove_prefix(c.bytes);
  }
  return text;
}

}  // namespace

std::string ControlEscaper::push(std::string_view piece) {
  std::string out;
  begun_ += piece;
  const std::string_view rest = copy_characters(begun_, &out, [](uint32_t point) {
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\u%04x", unsigned(point) & 0xffff);
    return std::string(escape);
  });
  begun_.erase(0, begun_.size() - rest.size());
  return out;
}

std::string ControlEscaper::finish() {
  const bool cut = !begun_.empty();
  begun_.clear();
  return cut ? kReplacement : "";
}

std::string escaped_controls(std::string_view text) {
  ControlEscaper escaper;
  const std::string whole = escaper.push(text);
  return whole + escaper.finish();
}

std::string without_controls(std::string_view text) {
  std::string out;
  const std::string_view rest = copy_characters(text, &out, [](uint32_t) { return ""; });
  return rest.empty() ? out : out + kReplacement;
}

}  // namespace wick::cli
