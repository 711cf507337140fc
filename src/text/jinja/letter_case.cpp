// Letter case as Python's methods of str change it.
#include <utf8proc.h>

#include <algorithm>
#include <numeric>

#include "text/jinja/unicode.h"

#include "base/utf8.h"

namespace wick::jinja {
namespace {

bool is_cased(char32_t code) { return is_upper(code) || is_lower(code) || is_title(code); }

/// Whether case rules look past this when they search for a neighbouring letter.
bool is_case_ignorable(char32_t code) {
  switch (utf8proc_category(utf8proc_int32_t(code))) {
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
  for (int i = 0; i < n; i++) append_code_point(to, char32_t(folded[i]));
}

void append_upper(std::string& to, char32_t code) {
  std::string folded;
  if (!is_upper(code)) append_folded(folded, code);
  // A letter without a capital of its own has its folding's capitals: U+00DF becomes "SS".
  if (count_code_points(folded) > 1)
    for (size_t at = 0; at < folded.size();)
      append_code_point(to,
                        char32_t(utf8proc_toupper(utf8proc_int32_t(next_code_point(folded, at)))));
  else
    append_code_point(to, char32_t(utf8proc_toupper(utf8proc_int32_t(code))));
}

void append_title(std::string& to, char32_t code) {
  // Unicode's capital of U+00DF is no title case of it.
  const auto title = code == 0xdf ? code : char32_t(utf8proc_totitle(utf8proc_int32_t(code)));
  std::string folded;
  if (title == code && !is_upper(code) && !is_title(code)) append_folded(folded, code);
  size_t at = 0;
  if (count_code_points(folded) > 1) {
    append_code_point(to,
                      char32_t(utf8proc_totitle(utf8proc_int32_t(next_code_point(folded, at)))));
    to += folded.substr(at);
  } else
    append_code_point(to, title);
}

/// Whether the capital sigma at [start, end) ends a word.
bool is_final_sigma(std::string_view text, size_t start, size_t end) {
  bool after_letter = false;
  while (start > 0) {
    const size_t before = start_of_last(text, start);
    size_t at = before;
    const char32_t code = next_code_point(text, at);
    start = before;
    if (is_case_ignorable(code)) continue;
    after_letter = is_cased(code);
    break;
  }
  while (end < text.size()) {
    const char32_t code = next_code_point(text, end);
    if (is_case_ignorable(code)) continue;
    return after_letter && !is_cased(code);
  }
  return after_letter;
}

/// Appends the lower case of the code point at [start, end).
void append_lower(std::string& to, std::string_view text, size_t start, size_t end) {
  size_t at = start;
  const char32_t code = next_code_point(text, at);
  if (code == 0x3a3)
    append_code_point(to, is_final_sigma(text, start, end) ? 0x3c2 : 0x3c3);
  else if (code == 0x130)
    to += "i\u0307";
  else
    append_code_point(to, char32_t(utf8proc_tolower(utf8proc_int32_t(code))));
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return uint8_t(c) < 0x80; });
}

char ascii_upper(char c) { return 'a' <= c && c <= 'z' ? char(c - 32) : c; }
char ascii_lower(char c) { return 'A' <= c && c <= 'Z' ? char(c + 32) : c; }

/// Applies write(out, code, start, end) to each code point.
template <class F>
std::string map_code_points(std::string_view text, Places* places, const F& write) {
  std::string out;
  out.reserve(text.size());
  if (places) places->assign(text.size() + 1, 0);
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    const char32_t code = next_code_point(text, at);
    write(out, code, start, at);
    if (places) (*places)[at] = out.size();
  }
  return out;
}

/// Applies change(byte) to each byte of ASCII.
std::string map_ascii(std::string_view text, Places* places, char (*change)(char)) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), change);
  if (places) {
    places->resize(text.size() + 1);
    std::iota(places->begin(), places->end(), size_t(0));
  }
  return out;
}

}  // namespace

std::string to_upper(std::string_view text, Places* places) {
  if (is_ascii(text)) return map_ascii(text, places, ascii_upper);
  return map_code_points(text, places, [](std::string& out, char32_t code, size_t, size_t) {
    append_upper(out, code);
  });
}

std::string to_lower(std::string_view text, Places* places) {
  if (is_ascii(text)) return map_ascii(text, places, ascii_lower);
  return map_code_points(text, places, [&](std::string& out, char32_t, size_t start, size_t end) {
    append_lower(out, text, start, end);
  });
}

std::string to_title(std::string_view text, Places* places) {
  bool in_word = false;
  return map_code_points(text, places,
                         [&](std::string& out, char32_t code, size_t start, size_t end) {
                           if (in_word)
                             append_lower(out, text, start, end);
                           else
                             append_title(out, code);
                           in_word = is_cased(code);
                         });
}

std::string to_capitalized(std::string_view text, Places* places) {
  return map_code_points(text, places,
                         [&](std::string& out, char32_t code, size_t start, size_t end) {
                           if (start > 0)
                             append_lower(out, text, start, end);
                           else
                             append_title(out, code);
                         });
}

std::string to_swapped_case(std::string_view text, Places* places) {
  return map_code_points(text, places,
                         [&](std::string& out, char32_t code, size_t start, size_t end) {
                           if (is_upper(code))
                             append_lower(out, text, start, end);
                           else if (is_lower(code))
                             append_upper(out, code);
                           else
                             append_code_point(out, code);
                         });
}

std::string to_folded_case(std::string_view text, Places* places) {
  return map_code_points(text, places, [](std::string& out, char32_t code, size_t, size_t) {
    append_folded(out, code);
  });
}

}  // namespace wick::jinja
