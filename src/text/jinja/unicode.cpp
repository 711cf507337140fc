#include "text/jinja/unicode.h"

#include <utf8proc.h>

#include <algorithm>

#include "base/utf8.h"

namespace wick::jinja {
namespace {

utf8proc_category_t category(char32_t code) { return utf8proc_category(utf8proc_int32_t(code)); }

struct CodeRange {
  char32_t first, last;
};
/// Digits that are no decimal digits.
constexpr CodeRange kDigits[] = {
    {0xb2, 0xb3},       {0xb9, 0xb9},       {0x1369, 0x1371},   {0x19da, 0x19da},
    {0x2070, 0x2070},   {0x2074, 0x2079},   {0x2080, 0x2089},   {0x2460, 0x2468},
    {0x2474, 0x247c},   {0x2488, 0x2490},   {0x24ea, 0x24ea},   {0x24f5, 0x24fd},
    {0x24ff, 0x24ff},   {0x2776, 0x277e},   {0x2780, 0x2788},   {0x278a, 0x2792},
    {0x10a40, 0x10a43}, {0x10e60, 0x10e68}, {0x11052, 0x1105a}, {0x1f100, 0x1f10a}};
/// Lower and upper case beside the categories Ll and Lu: Unicode's Other_Lowercase and
/// Other_Uppercase.
constexpr CodeRange kOtherLower[] = {
    {0xaa, 0xaa},       {0xba, 0xba},       {0x2b0, 0x2b8},     {0x2c0, 0x2c1},    {0x2e0, 0x2e4},
    {0x345, 0x345},     {0x37a, 0x37a},     {0x1d2c, 0x1d6a},   {0x1d78, 0x1d78},  {0x1d9b, 0x1dbf},
    {0x2071, 0x2071},   {0x207f, 0x207f},   {0x2090, 0x209c},   {0x2170, 0x217f},  {0x24d0, 0x24e9},
    {0x2c7c, 0x2c7d},   {0xa69c, 0xa69d},   {0xa770, 0xa770},   {0xa7f8, 0xa7f9},  {0xab5c, 0xab5f},
    {0x10780, 0x10780}, {0x10783, 0x10785}, {0x10787, 0x107b0}, {0x107b2, 0x107ba}};
constexpr CodeRange kOtherUpper[] = {
    {0x2160, 0x216f}, {0x24b6, 0x24cf}, {0x1f130, 0x1f149}, {0x1f150, 0x1f169}, {0x1f170, 0x1f189}};
/// Letters that are numbers.
constexpr std::u32string_view kNumeralLetters =
    U"㐅㒃㠪㭍一七万三九二五亖亿什仟仨伍佰億兆兩八六十千卄卅卌叁参參叄四壱壹幺廾廿弌弍弎弐拾捌柒漆"
    U"玖百肆萬貮貳贰阡陆陌陸零"
    U"\uf96b\uf973\uf978\uf9b2\uf9d1\uf9d3\uf9fd𠀁𠁤𠃢𠄡𠤪𠦃𠦌𠦜𠫪𠫽𠬙𢎐𢦘𣬛𦉭\U0002f890";

template <size_t n>
bool is_in(const CodeRange (&ranges)[n], char32_t code) {
  return std::any_of(ranges, ranges + n,
                     [&](const CodeRange& r) { return r.first <= code && code <= r.last; });
}

}  // namespace

size_t start_of_last(std::string_view text, size_t end) {
  do end--;
  while (!starts_character(text[end]));
  return end;
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

bool is_digit(char32_t code) { return is_decimal(code) || is_in(kDigits, code); }

bool is_numeric(char32_t code) {
  const auto c = category(code);
  return c == UTF8PROC_CATEGORY_ND || c == UTF8PROC_CATEGORY_NL || c == UTF8PROC_CATEGORY_NO ||
         kNumeralLetters.find(code) != kNumeralLetters.npos;
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

bool is_upper(char32_t code) {
  return category(code) == UTF8PROC_CATEGORY_LU || is_in(kOtherUpper, code);
}
bool is_lower(char32_t code) {
  return category(code) == UTF8PROC_CATEGORY_LL || is_in(kOtherLower, code);
}
bool is_title(char32_t code) { return category(code) == UTF8PROC_CATEGORY_LT; }

bool is_lower_case(std::string_view text) {
  bool any = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t code = next_code_point(text, at);
    if (is_upper(code) || is_title(code)) return false;
    any |= is_lower(code);
  }
  return any;
}

bool is_upper_case(std::string_view text) {
  bool any = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t code = next_code_point(text, at);
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

}  // namespace wick::jinja
