#include "text/jinja/literal.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/utf8.h"
#include "text/jinja/print.h"
#include "text/jinja/unicode.h"

namespace wick::jinja {
namespace {

int digit_value(char c) {
  if ('0' <= c && c <= '9') return c - '0';
  if ('a' <= c && c <= 'z') return c - 'a' + 10;
  if ('A' <= c && c <= 'Z') return c - 'A' + 10;
  return 99;
}

/// The end of digits from `at` on, which single underscores may separate; `at` without digits.
size_t end_of_digits(std::string_view text, size_t at, int base) {
  const auto is_digit = [&](size_t i) { return i < text.size() && digit_value(text[i]) < base; };
  if (!is_digit(at)) return at;
  while (is_digit(at) || (at < text.size() && text[at] == '_' && is_digit(at + 1))) at++;
  return at;
}

std::string without_underscores(std::string_view text) {
  std::string out(text);
  out.erase(std::remove(out.begin(), out.end(), '_'), out.end());
  return out;
}

int prefix_base(std::string_view text) {
  if (text.size() < 2 || text[0] != '0') return 10;
  switch (text[1] | 0x20) {
    case 'x':
      return 16;
    case 'o':
      return 8;
    case 'b':
      return 2;
    default:
      return 10;
  }
}

/// The end of a float at the start of the text; 0 if it starts with no float.
size_t end_of_real(std::string_view text) {
  size_t end = end_of_digits(text, 0, 10);
  bool is_real = false;
  if (end < text.size() && text[end] == '.') {
    const size_t fraction = end_of_digits(text, end + 1, 10);
    if (fraction > end + 1) {
      end = fraction;
      is_real = true;
    }
  }
  if (end < text.size() && (text[end] | 0x20) == 'e') {
    const size_t sign = end + 1;
    const bool has_sign = sign < text.size() && (text[sign] == '+' || text[sign] == '-');
    const size_t digits = sign + (has_sign ? 1 : 0);
    const size_t exponent = end_of_digits(text, digits, 10);
    if (exponent > digits) return exponent;
  }
  return is_real ? end : 0;
}

}  // namespace

NumberLiteral number_literal(std::string_view text, bool after_dot) {
  NumberLiteral literal;
  if (const size_t end = after_dot ? 0 : end_of_real(text)) {
    literal.size = end;
    literal.is_real = true;
    literal.real = std::strtod(without_underscores(text.substr(0, end)).c_str(), nullptr);
    return literal;
  }
  int base = prefix_base(text);
  size_t start = base == 10 ? 0 : 2;
  if (start > 0 && start < text.size() && text[start] == '_') start++;
  size_t end = end_of_digits(text, start, base);
  if (end == start && base != 10) {  // "0x" without digits is 0, and a name after it
    base = 10;
    start = 0;
    end = 1;
  }
  // A decimal number has no leading zeros: "00" is 0, "01" two numbers.
  if (base == 10 && text[0] == '0') {
    end = 1;
    while (end < text.size() && (text[end] == '0' || (text[end] == '_' && end + 1 < text.size() &&
                                                      text[end + 1] == '0')))
      end++;
  }
  literal.size = end;
  const std::string digits = without_underscores(text.substr(start, end - start));
  const auto result =
      std::from_chars(digits.data(), digits.data() + digits.size(), literal.integer, base);
  literal.fits = result.ec != std::errc::result_out_of_range;
  return literal;
}

std::string unescape(std::string_view content, const std::string& where, SourcePosition place) {
  if (content.find('\\') == content.npos) return std::string(content);
  // Python turns code points beyond ASCII into escapes first, which a backslash before them ends.
  const std::string text = ascii_only(content);
  std::string out;
  const auto append = [&](uint32_t code) {
    check(code <= 0x10ffff, ErrorCode::kFormat, where, place, ": illegal Unicode character");
    check(code < 0xd800 || code > 0xdfff, ErrorCode::kUnsupported, where, place,
          ": a surrogate in a string");
    append_code_point(out, code);
  };
  const auto hexadecimal = [&](size_t at, size_t digits) {
    uint32_t code = 0;
    for (size_t i = 0; i < digits; i++) {
      const int digit = at + i < text.size() ? digit_value(text[at + i]) : 99;
      check(digit < 16, ErrorCode::kFormat, where, place, ": an escape of a string is cut off");
      code = code << 4 | uint32_t(digit);
    }
    append(code);
    return at + digits;
  };
  for (size_t i = 0; i < text.size();) {
    if (text[i] != '\\') {
      out += text[i++];
      continue;
    }
    check(i + 1 < text.size(), ErrorCode::kFormat, where, place, ": \\ at the end of a string");
    const char c = text[i + 1];
    constexpr std::string_view kLetters = "\n\\'\"abfnrtv", kMeanings = "\n\\'\"\a\b\f\n\r\t\v";
    if ('0' <= c && c <= '7') {
      uint32_t code = 0;
      size_t end = i + 1;
      for (; end < std::min(i + 4, text.size()) && digit_value(text[end]) < 8; end++)
        code = code << 3 | uint32_t(digit_value(text[end]));
      append(code);
      i = end;
    } else if (c == 'x' || c == 'u' || c == 'U') {
      i = hexadecimal(i + 2, c == 'x' ? 2 : c == 'u' ? 4 : 8);
    } else if (c == 'N') {
      fail(ErrorCode::kUnsupported, where, place, ": \\N in a string");
    } else {
      const size_t letter = kLetters.find(c);
      if (letter == kLetters.npos)
        (out += '\\') += c;
      else if (c != '\n')  // a line that goes on
        out += kMeanings[letter];
      i += 2;
    }
  }
  return out;
}

}  // namespace wick::jinja
