// Numbers by a format specification.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/utf8.h"
#include "text/jinja/convert.h"
#include "text/jinja/format.h"
#include "text/jinja/number.h"
#include "text/jinja/print.h"
#include "text/jinja/text.h"
#include "text/jinja/unicode.h"

namespace wick::jinja {
namespace {

/// Precisions beyond this many digits are refused.
constexpr int64_t kMaxPrecision = 1000;

std::string digits_in_base(uint64_t value, unsigned base, bool upper) {
  std::string digits;
  do digits += "0123456789abcdef"[value % base];
  while (value /= base);
  std::reverse(digits.begin(), digits.end());
  return upper ? to_upper(digits) : digits;
}

bool has_base_ten(const FormatSpec& spec) {
  return std::string_view("xXob").find(spec.type) == std::string::npos || spec.type == 0;
}

/// The number of digits before a point or exponent.
size_t whole_digits(std::string_view number, const FormatSpec& spec) {
  const char* const digits = has_base_ten(spec) ? "0123456789" : "0123456789abcdefABCDEF";
  return std::min(number.find_first_not_of(digits), number.size());
}

/// The number with separators between groups of digits before its point or exponent.
std::string grouped(const std::string& number, const FormatSpec& spec) {
  const size_t whole = whole_digits(number, spec), group = has_base_ten(spec) ? 3 : 4;
  std::string out;
  for (size_t i = 0; i < whole; i++) {
    if (i > 0 && (whole - i) % group == 0) out += spec.grouping;
    out += number[i];
  }
  return out + number.substr(whole);
}

/// The digits of |x|, by printf's type.
std::string real_digits(const Meter& meter, double x, char type, const FormatSpec& spec) {
  if (spec.precision > kMaxPrecision)
    meter.refuse("a precision of more than ", kMaxPrecision, " digits");
  const int precision = spec.precision < 0 ? 6 : int(spec.precision);
  const std::string format = std::string(spec.is_alternate ? "%#.*" : "%.*") + type;
  char buffer[kMaxPrecision + 400];  // 309 digits before the point
  std::snprintf(buffer, sizeof buffer, format.c_str(), precision, std::fabs(x));
  return buffer;
}

/// |x| with a precision and without a type: as by 'g', but with a digit after the point of a
/// number without an exponent.
std::string general_digits(const Meter& meter, double x, const FormatSpec& spec) {
  const int64_t digits = std::max<int64_t>(spec.precision, 1);
  FormatSpec part = spec;
  part.precision = digits - 1;
  std::string text = real_digits(meter, x, 'e', part);
  const size_t e = text.find('e');
  const int exponent = std::stoi(text.substr(e + 1));
  std::string tail = text.substr(e);
  const bool has_exponent = exponent < -4 || exponent + 1 > digits - 1;
  if (has_exponent)
    text.erase(e);
  else {
    part.precision = digits - 1 - exponent;
    text = real_digits(meter, x, 'f', part);
    tail.clear();
  }
  if (text.find('.') != text.npos && !spec.is_alternate) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  if (!has_exponent && text.find('.') == text.npos) text += ".0";
  return text + tail;
}

std::string format_real(const Meter& meter, double x, const FormatSpec& spec) {
  const bool upper = spec.type == 'E' || spec.type == 'F' || spec.type == 'G';
  if (!std::isfinite(x)) {
    const std::string name = std::isnan(x) ? "nan" : "inf";
    return (upper ? to_upper(name) : name) + (spec.type == '%' ? "%" : "");
  }
  if (spec.type == '%') return real_digits(meter, x * 100, 'f', spec) + "%";
  if (spec.type != 0) return real_digits(meter, x, spec.type == 'n' ? 'g' : spec.type, spec);
  if (spec.precision >= 0) return general_digits(meter, x, spec);
  std::string text = real_text(std::fabs(x));
  if (spec.is_alternate && text.find('.') == text.npos) text.insert(text.find('e'), ".");
  return text;
}

/// Sign, prefix and digits in a field.
std::string laid_out(Meter& meter, const std::string& sign, std::string digits,
                     const FormatSpec& spec) {
  const char align = spec.align == 0 ? '>' : spec.align;
  if (align != '=') {
    FormatSpec field = spec;
    field.align = align;
    field.precision = -1;
    return format_text(meter, MarkedView::unmarked(sign + digits), field).bytes();
  }
  const int64_t room = spec.width - int64_t(sign.size());
  if (spec.grouping && spec.fill == "0") {
    // Zeros are grouped with the digits.
    digits.erase(std::remove(digits.begin(), digits.end(), spec.grouping), digits.end());
    const int64_t group = has_base_ten(spec) ? 3 : 4, whole = int64_t(whole_digits(digits, spec));
    const int64_t tail = int64_t(digits.size()) - whole;
    const int64_t width = std::max<int64_t>(room, 0);
    meter.check_room(size_t(width));
    meter.step(width);
    int64_t count = whole;
    while (count + (count - 1) / group + tail < width) count++;
    return sign + grouped(std::string(size_t(count - whole), '0') + digits, spec);
  }
  const auto unmarked = [](std::string_view text) { return MarkedView::unmarked(text); };
  return sign + padded(meter, unmarked(digits), room, Align::kRight, unmarked(spec.fill)).bytes();
}

}  // namespace

MarkedString format_text(Meter& meter, const MarkedView& text, const FormatSpec& spec) {
  MarkedView shown = text;
  const MarkedView fill = MarkedView::unmarked(spec.fill);
  if (spec.precision >= 0) {
    int64_t n = 0;
    size_t at = 0;
    for (; at < text.size() && n < spec.precision; n++) at += character_length(text.bytes()[at]);
    shown = shown.substr(0, at);
  }
  if (spec.align == '^') {
    const int64_t room = std::max<int64_t>(0, spec.width - count_code_points(shown.bytes()));
    const MarkedString left =
        padded(meter, shown, spec.width - (room - room / 2), Align::kRight, fill);
    return padded(meter, left, spec.width, Align::kLeft, fill);
  }
  return padded(meter, shown, spec.width, spec.align == '>' ? Align::kRight : Align::kLeft, fill);
}

std::string format_number(Meter& meter, const Value& value, const FormatSpec& spec) {
  const auto integer = value.index();
  if (spec.type == 'n' ? spec.grouping != 0 : spec.grouping == ',' && !has_base_ten(spec))
    meter.fail("cannot specify '", std::string(1, spec.grouping), "' with '",
               std::string(1, spec.type), "'");
  const bool as_real =
      spec.type != 0 && std::string_view("eEfFgG%").find(spec.type) != std::string::npos;
  if (integer && !as_real) {
    if (spec.precision >= 0) meter.fail("precision not allowed in integer format specifier");
    const uint64_t magnitude = *integer < 0 ? 0 - uint64_t(*integer) : uint64_t(*integer);
    std::string sign = *integer < 0 ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
    unsigned base = 10;
    switch (spec.type) {
      case 'x':
      case 'X':
        base = 16;
        break;
      case 'o':
        base = 8;
        break;
      case 'b':
        base = 2;
        break;
      case 'd':
      case 'n':
      case 0:
        break;
      default:
        meter.fail("unknown format code '", std::string(1, spec.type), "' for an int");
    }
    if (spec.is_alternate && base != 10) (sign += '0') += spec.type;
    std::string digits = digits_in_base(magnitude, base, spec.type == 'X');
    if (spec.grouping) digits = grouped(digits, spec);
    return laid_out(meter, sign, digits, spec);
  }
  const double x = *real_of(value);
  if (!as_real && spec.type != 0 && spec.type != 'n')
    meter.fail("unknown format code '", std::string(1, spec.type), "' for a float");
  const bool negative = std::signbit(x) && !std::isnan(x);
  const std::string sign = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  std::string digits = format_real(meter, x, spec);
  FormatSpec field = spec;
  if (!std::isfinite(x)) field.grouping = 0;
  if (field.grouping) digits = grouped(digits, field);
  return laid_out(meter, sign, digits, field);
}

}  // namespace wick::jinja
