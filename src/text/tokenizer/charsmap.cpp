#include "text/tokenizer/charsmap.h"

#include <algorithm>

#include "base/utf8.h"
#include "wick/base/error.h"

namespace wick::tokenization {
namespace {

uint32_t little_endian(std::string_view bytes) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; i--) value = value << 8 | uint8_t(bytes[size_t(i)]);
  return value;
}

// A unit: bits 0 to 7 the label, the byte that leads here; bit 8 whether a value lies at the unit's
// children with label 0; bit 9 whether the offset counts 256 units; bits 10 to 31 the offset.
// In a unit of a value bit 31 is set, and bits 0 to 30 are the value.
bool has_value(uint32_t unit) { return unit >> 8 & 1; }
uint32_t value_of(uint32_t unit) { return unit & 0x7fffffff; }
uint32_t label_of(uint32_t unit) { return unit & 0x800000ff; }
size_t offset_of(uint32_t unit) { return size_t(unit >> 10) << ((unit & 0x200) >> 6); }

}  // namespace

Charsmap::Charsmap(std::string_view blob, std::string where) : where_(std::move(where)) {
  const auto check_blob = [&](bool good, const char* text) {
    check(good, ErrorCode::kFormat, where_, text);
  };
  check_blob(blob.size() > 4, "expected the rules of a normalizer, got fewer than 5 bytes");
  const size_t bytes = little_endian(blob);
  blob.remove_prefix(4);
  check_blob(bytes > 0 && bytes % 4 == 0 && bytes <= blob.size(),
             "the normalizer's double array does not fit");
  units_.reserve(bytes / 4);
  for (size_t at = 0; at < bytes; at += 4) units_.push_back(little_endian(blob.substr(at)));
  replacements_ = blob.substr(bytes);
  check_blob(is_utf8(replacements_), "the normalizer's texts are not UTF-8");
}

std::optional<Charsmap::Match> Charsmap::find(std::string_view text, bool first) const {
  std::optional<Match> found;
  size_t at = offset_of(units_[0]);
  for (size_t i = 0; i < text.size() && text[i] != 0; i++) {
    const uint8_t byte = uint8_t(text[i]);
    at ^= byte;
    if (at >= units_.size() || label_of(units_[at]) != byte) break;
    const uint32_t unit = units_[at];
    at ^= offset_of(unit);
    if (!has_value(unit)) continue;
    check(at < units_.size(), ErrorCode::kFormat, where_,
          "a value lies outside the normalizer's double array");
    found = {i + 1, replacement(value_of(units_[at]))};
    if (first) break;
  }
  return found;
}

std::string_view Charsmap::replacement(size_t at) const {
  constexpr size_t kMaxBytes = 1024;
  const bool starts = at < replacements_.size() && starts_character(replacements_[at]);
  check(starts, ErrorCode::kFormat, where_, "a normalizer's text starts at byte ", at, " of ",
        replacements_.size(), ", expected the start of a character");
  const std::string_view text =
      std::string_view(replacements_)
          .substr(at, std::min(replacements_.find('\0', at), replacements_.size()) - at);
  check(text.size() <= kMaxBytes, ErrorCode::kFormat, where_, "a normalizer's text has ",
        text.size(), " bytes, expected at most ", kMaxBytes);
  return text;
}

}  // namespace wick::tokenization
