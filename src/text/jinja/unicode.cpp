#include "text/jinja/unicode.h"

#include <utf8proc.h>

#include <algorithm>

namespace wick::jinja {
namespace {

utf8proc_category_t category(char32_t code) { return utf8proc_category(utf8proc_int32_t(code)); }

bool is_cased(char32_t code) { return is_upper(code) || is_lower(code) || is_title(code); }

/// Whether case rules look past this when they search for a neighbouring letter.
bool is_case_ignorable(char32_t code) {
  switch (category(code)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return code == '\'' || code == '.' || code == ':' || code == 0xb7 || code == 0x2019;
  }
}

/// Appends the full case folding.
void append_folded(std::string& to, char32_t code) {
  utf8proc_int32_t folded[4];
  int bound_class = 0;
  const auto n =
      utf8proc_decompose_char(utf8proc_int32_t(code), folded, 4, UTF8PROC_CASEFOLD, &bound_class);
  for (int i = 0; i < n; i++) encode(to, char32_t(folded[i]));
}

void append_upper(std::string& to, char32_t code) {
  std::string folded;
  if (!is_upper(code)) append_folded(folded, code);
  // A letter without a capital of its own has those of its folding: "SS" of U+00DF.
  if (count_code_points(folded) > 1)
    for (size_t at = 0; at < folded.size();)
      encode(to, char32_t(utf8proc_toupper(utf8proc_int32_t(decode(folded, at)))));
  else
    encode(to, char32_t(utf8proc_toupper(utf8proc_int32_t(code))));
}

void append_title(std::string& to, char32_t code) {
  const auto title = char32_t(utf8proc_totitle(utf8proc_int32_t(code)));
  std::string folded;
  if (title == code && !is_upper(code) && !is_title(code)) append_folded(folded, code);
  size_t at = 0;
  if (count_code_points(folded) > 1) {
    encode(to, char32_t(utf8proc_totitle(utf8proc_int32_t(decode(folded, at)))));
    to += folded.substr(at);
  } else
    encode(to, title);
}

/// Whether the capital sigma at [start, end) ends a word.
bool is_final_sigma(std::string_view text, size_t start, size_t end) {
  bool after_letter = false;
  while (start > 0) {
    const size_t before = start_of_last(text, start);
    size_t at = before;
    const char32_t code = decode(text, at);
    start = before;
    if (is_case_ignorable(code)) continue;
    after_letter = is_cased(code);
    break;
  }
  while (end < text.size()) {
    const char32_t code = decode(text, end);
    if (is_case_ignorable(code)) continue;
    return after_letter && !is_cased(code);
  }
  return after_letter;
}

/// Appends the lower case of the code point at [start, end).
void append_lower(std::string& to, std::string_view text, size_t start, size_t end) {
  size_t at = start;
  const char32_t code = decode(text, at);
  if (code == 0x3a3)
    encode(to, is_final_sigma(text, start, end) ? 0x3c2 : 0x3c3);
  else if (code == 0x130)
    to += "i\u0307";
  else
    encode(to, char32_t(utf8proc_tolower(utf8proc_int32_t(code))));
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return uint8_t(c) < 0x80; });
}

char ascii_upper(char c) { return 'a' <= c && c <= 'z' ? char(c - 32) : c; }
char ascii_lower(char c) { return 'A' <= c && c <= 'Z' ? char(c + 32) : c; }

/// Applies write(out, code, start, end) to each code point.
template <class F>
std::string map_code_points(std::string_view text, const F& write) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    const char32_t code = decode(text, at);
    write(out, code, start, at);
  }
  return out;
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    utf8proc_int32_t code;
    const auto n = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data() + at),
                                    utf8proc_ssize_t(text.size() - at), &code);
    if (n < 0) return false;
    at += size_t(n);
  }
  return true;
}

std::string with_valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    utf8proc_int32_t code;
    const auto n = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data() + at),
                                    utf8proc_ssize_t(text.size() - at), &code);
    if (n < 0)
      out += "\ufffd";
    else
      out += text.substr(at, size_t(n));
    at += n < 0 ? 1 : size_t(n);
  }
  return out;
}

int64_t count_code_points(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (uint8_t(c) & 0xc0) != 0x80; });
}

char32_t decode(std::string_view text, size_t& at) {
  const uint8_t first = uint8_t(text[at]);
  const size_t n = sequence_length(text[at]);
  char32_t code = n == 1 ? first : first & (0x7fu >> n);
  for (size_t i = 1; i < n; i++) code = code << 6 | (uint8_t(text[at + i]) & 0x3f);
  at += n;
  return code;
}

size_t start_of_last(std::string_view text, size_t end) {
  do end--;
  while ((uint8_t(text[end]) & 0xc0) == 0x80);
  return end;
}

void encode(std::string& to, char32_t code) {
  utf8proc_uint8_t bytes[4];
  const auto n = utf8proc_encode_char(utf8proc_int32_t(code), bytes);
  to.append(reinterpret_cast<const char*>(bytes), size_t(n));
}

bool is_space(char32_t code) {
  return (0x09 <= code && code <= 0x0d) || (0x1c <= code && code <= 0x20) || code == 0x85 ||
         code == 0xa0 || code == 0x1680 || (0x2000 <= code && code <= 0x200a) || code == 0x2028 ||
         code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

bool is_alpha(char32_t code) {
  const auto c = category(code);
  return UTF8PROC_CATEGORY_LU <= c && c <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal(char32_t code) { return category(code) == UTF8PROC_CATEGORY_ND; }

bool is_digit(char32_t code) {
  // Superscripts, subscripts and digits in circles, of which No has many that are no digits.
  return is_decimal(code) || code == 0xb2 || code == 0xb3 || code == 0xb9 || code == 0x2070 ||
         (0x2074 <= code && code <= 0x2079) || (0x2080 <= code && code <= 0x2089) ||
         (0x2460 <= code && code <= 0x2468) || (0x2474 <= code && code <= 0x247c) ||
         (0x2488 <= code && code <= 0x2490) || (0x2776 <= code && code <= 0x277e);
}

bool is_numeric(char32_t code) {
  const auto c = category(code);
  return c == UTF8PROC_CATEGORY_ND || c == UTF8PROC_CATEGORY_NL || c == UTF8PROC_CATEGORY_NO;
}

bool is_printable(char32_t code) {
  switch (category(code)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    case UTF8PROC_CATEGORY_ZS:
      return code == ' ';
    default:
      return true;
  }
}

bool is_upper(char32_t code) { return category(code) == UTF8PROC_CATEGORY_LU; }
bool is_lower(char32_t code) { return category(code) == UTF8PROC_CATEGORY_LL; }
bool is_title(char32_t code) { return category(code) == UTF8PROC_CATEGORY_LT; }

bool is_lower_case(std::string_view text) {
  bool any = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t code = decode(text, at);
    if (is_upper(code) || is_title(code)) return false;
    any |= is_lower(code);
  }
  return any;
}

bool is_upper_case(std::string_view text) {
  bool any = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t code = decode(text, at);
    if (is_lower(code) || is_title(code)) return false;
    any |= is_upper(code);
  }
  return any;
}

bool is_name_start(char32_t code) {
  return code == '_' || is_alpha(code) || category(code) == UTF8PROC_CATEGORY_NL;
}

bool is_name_part(char32_t code) {
  const auto c = category(code);
  return is_name_start(code) || c == UTF8PROC_CATEGORY_ND || c == UTF8PROC_CATEGORY_MN ||
         c == UTF8PROC_CATEGORY_MC || c == UTF8PROC_CATEGORY_PC;
}

int decimal_value(char32_t code) {
  // The decimal digits of a script are a run of ten that starts at its zero.
  if (code < 0x80) return int(code - '0');
  if (0x1d7ce <= code && code <= 0x1d7ff) return int(code - 0x1d7ce) % 10;  // five runs in a row
  int value = 0;
  while (value < 9 && is_decimal(code - 1)) code--, value++;
  return value;
}

std::string to_upper(std::string_view text) {
  if (is_ascii(text)) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), ascii_upper);
    return out;
  }
  return map_code_points(
      text, [](std::string& out, char32_t code, size_t, size_t) { append_upper(out, code); });
}

std::string to_lower(std::string_view text) {
  if (is_ascii(text)) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), ascii_lower);
    return out;
  }
  return map_code_points(text, [&](std::string& out, char32_t, size_t start, size_t end) {
    append_lower(out, text, start, end);
  });
}

std::string to_title(std::string_view text) {
  bool in_word = false;
  return map_code_points(text, [&](std::string& out, char32_t code, size_t start, size_t end) {
    if (in_word)
      append_lower(out, text, start, end);
    else
      append_title(out, code);
    in_word = is_cased(code);
  });
}

std::string to_capitalized(std::string_view text) {
  return map_code_points(text, [&](std::string& out, char32_t code, size_t start, size_t end) {
    if (start > 0)
      append_lower(out, text, start, end);
    else
      append_title(out, code);
  });
}

std::string to_swapped_case(std::string_view text) {
  return map_code_points(text, [&](std::string& out, char32_t code, size_t start, size_t end) {
    if (is_upper(code))
      append_lower(out, text, start, end);
    else if (is_lower(code))
      append_upper(out, code);
    else
      encode(out, code);
  });
}

std::string to_folded_case(std::string_view text) {
  return map_code_points(
      text, [](std::string& out, char32_t code, size_t, size_t) { append_folded(out, code); });
}

}  // namespace wick::jinja
