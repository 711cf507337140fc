// Reads a notation character by character, and says where an error is.
#pragma once
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "wick/base/error.h"

namespace wick::grammars {

class TextReader {
 public:
  /// Expressions within one another.
  static constexpr int kMaxNesting = 200;

  /// Errors: kFormat if the text is not UTF-8.
  TextReader(std::string_view text, const std::string& where) : text_(text), where_(where) {
    at_ = valid_utf8_bytes(text);
    if (at_ < text.size()) fail_format("expected UTF-8");
    at_ = 0;
  }

  bool at_end() const { return at_ == text_.size(); }
  size_t at() const { return at_; }
  void go_to(size_t at) { at_ = at; }
  /// The byte at a distance; '\0' after the end.
  char peek(size_t distance = 0) const {
    return at_ + distance < text_.size() ? text_[at_ + distance] : '\0';
  }
  bool next_is(std::string_view expected) const { return text_.substr(at_).starts_with(expected); }
  /// Passes the text if it is next.
  bool take(std::string_view expected) {
    if (!next_is(expected)) return false;
    at_ += expected.size();
    return true;
  }
  std::string_view since(size_t begin) const { return text_.substr(begin, at_ - begin); }
  /// The next character. Errors: kFormat at the end.
  char32_t take_character() {
    if (at_end()) fail_expected("a character");
    return next_code_point(text_, at_);
  }
  /// The number of up to 8 hexadecimal digits. Errors: kFormat.
  char32_t take_hex_digits(int digits) {
    char32_t code = 0;
    for (int i = 0; i < digits; i++) {
      const char c = peek();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) fail_expected(std::to_string(digits) + " hexadecimal digits");
      code = code << 4 | char32_t(digit);
      at_++;
    }
    return code;
  }
  /// The character of this number. Errors: kFormat.
  char32_t take_hex(int digits) {
    const size_t begin = at_;
    const char32_t code = take_hex_digits(digits);
    check_character(code, begin);
    return code;
  }
  /// Errors: kFormat if the number, which began at `begin`, is no character's.
  void check_character(char32_t code, size_t begin) const {
    if (code > 0x10ffff) fail_at(begin, ErrorCode::kFormat, "expected a character up to U+10FFFF");
    if (code >= 0xd800 && code <= 0xdfff)
      fail_at(begin, ErrorCode::kFormat, "a surrogate is no character");
  }
  bool next_is_digit() const { return peek() >= '0' && peek() <= '9'; }
  /// A count. Errors: kFormat without a digit; kUnsupported from 2^31 on.
  uint32_t take_count() {
    const size_t begin = at_;
    if (!next_is_digit()) fail_expected("a number");
    uint64_t count = 0;
    for (; next_is_digit(); at_++) {
      count = count * 10 + uint64_t(peek() - '0');
      if (count >> 31) fail_at(begin, ErrorCode::kUnsupported, "a count of 2^31 or more");
    }
    return uint32_t(count);
  }

  [[noreturn]] void fail_expected(std::string_view expected) const {
    std::string got = "the end";
    if (!at_end()) {
      size_t end = at_;
      next_code_point(text_, end);
      got = "\"" + std::string(text_.substr(at_, end - at_)) + "\"";
      if (peek() == '\n') got = "the end of the line";
    }
    fail_format("expected ", expected, ", got ", got);
  }
  template <class... Parts>
  [[noreturn]] void fail_format(const Parts&... parts) const {
    fail_at(at_, ErrorCode::kFormat, parts...);
  }
  /// "WHERE: line 2, column 7: parts".
  template <class... Parts>
  [[noreturn]] void fail_at(size_t at, ErrorCode code, const Parts&... parts) const {
    size_t line = 1, begin = 0;
    for (size_t i = 0; i < at; i++)
      if (text_[i] == '\n') line++, begin = i + 1;
    size_t column = 1;
    for (size_t i = begin; i < at; i++) column += starts_character(text_[i]);
    fail(code, where_, "line ", line, ", column ", column, ": ", parts...);
  }

 private:
  std::string_view text_;
  std::string where_;
  size_t at_ = 0;
};

}  // namespace wick::grammars
