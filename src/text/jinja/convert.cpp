#include "text/jinja/convert.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/utf8.h"
#include "text/jinja/number.h"
#include "text/jinja/text.h"
#include "text/jinja/unicode.h"

namespace wick::jinja {

int64_t truncate(const Meter& meter, double x) {
  if (!std::isfinite(x)) meter.fail("cannot convert ", x, " to an integer");
  if (x >= 0x1p63 || x < -0x1p63) fail_overflow(meter);
  return int64_t(x);
}

std::optional<int64_t> parse_integer(const Meter& meter, std::string_view text, int base) {
  std::string digits;  // in ASCII, lower case, without underscores
  text = strip_spaces(text);
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  bool after_digit = false;  // underscores stand between digits
  for (size_t at = 0; at < text.size();) {
    const char32_t code = next_code_point(text, at);
    if (code == '_') {
      const bool after_prefix = digits == "0x" || digits == "0o" || digits == "0b";
      if (!(after_digit || after_prefix) || at == text.size()) return std::nullopt;
      after_digit = false;
      continue;
    }
    after_digit = true;
    if (code >= 0x80 && is_decimal(code))
      digits += char('0' + decimal_value(code));
    else if (code < 0x80)
      digits += char('A' <= code && code <= 'Z' ? code + 32 : code);
    else
      return std::nullopt;
  }
  const int prefix = digits.size() < 2 || digits[0] != '0' ? 0
                     : digits[1] == 'x'                    ? 16
                     : digits[1] == 'o'                    ? 8
                     : digits[1] == 'b'                    ? 2
                                                           : 0;
  if (prefix != 0 && (base == 0 || base == prefix)) {
    digits.erase(0, 2);
    base = prefix;
  } else if (base == 0) {
    base = 10;
    if (digits.size() > 1 && digits[0] == '0' && digits.find_first_not_of('0') != digits.npos)
      return std::nullopt;
  }
  if (digits.empty() || digits[0] == '-') return std::nullopt;
  if (negative) digits.insert(0, "-");
  int64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, base);
  if (stop != end || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) fail_overflow(meter);
  return value;
}

std::optional<double> parse_real(std::string_view text) {
  text = strip_spaces(text);
  std::string digits;
  bool after_digit = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t code = next_code_point(text, at);
    if (code == '_') {
      const bool before_digit = at < text.size() && '0' <= text[at] && text[at] <= '9';
      if (!after_digit || !before_digit) return std::nullopt;
      continue;
    }
    after_digit = is_decimal(code);
    if (after_digit)
      digits += char('0' + decimal_value(code));
    else if (code < 0x80)
      digits += char('A' <= code && code <= 'Z' ? code + 32 : code);
    else
      return std::nullopt;
  }
  std::string_view rest = digits;
  bool negative = false;
  if (!rest.empty() && (rest[0] == '+' || rest[0] == '-')) {
    negative = rest[0] == '-';
    rest.remove_prefix(1);
  }
  double value = 0;
  if (rest == "inf" || rest == "infinity")
    value = HUGE_VAL;
  else if (rest == "nan")
    value = NAN;
  else {
    if (rest.empty() || !(rest[0] == '.' || ('0' <= rest[0] && rest[0] <= '9')))
      return std::nullopt;
    const char* const end = rest.data() + rest.size();
    const auto [stop, error] = std::from_chars(rest.data(), end, value);
    if (stop != end || error == std::errc::invalid_argument) return std::nullopt;
    // from_chars leaves the value alone; strtod gives inf or 0.
    if (error == std::errc::result_out_of_range)
      value = std::strtod(std::string(rest).c_str(), nullptr);
  }
  return negative ? -value : value;
}

Value round_number(Meter& meter, const Value& value, int64_t digits) {
  if (const double* x = value.real()) {
    if (!std::isfinite(*x) || digits > 323) return *x;
    if (digits < -308) return *x * 0.0;
    if (digits >= 0) {
      char buffer[700];  // 309 digits, a point, 323 digits
      std::snprintf(buffer, sizeof buffer, "%.*f", int(digits), *x);
      return std::strtod(buffer, nullptr);
    }
    // Half a unit rounds to even, exactly: x, the unit and the quotient's floor are exact.
    const double unit = std::pow(10.0, double(-digits));
    const double low = std::floor(*x / unit), rest = std::fmod(std::fabs(*x), unit);
    const double twice = (*x < 0 ? (rest == 0 ? 0 : unit - rest) : rest) * 2;
    const bool up = twice > unit || (twice == unit && std::fmod(low, 2.0) != 0);
    return std::copysign((low + (up ? 1 : 0)) * unit, *x);
  }
  const auto integer = value.index();
  if (!integer) meter.fail("type ", value.type_name(), " doesn't define __round__ method");
  if (digits >= 0) return *integer;
  if (digits < -19) return 0;
  __int128 unit = 1;
  for (int64_t i = 0; i < -digits; i++) unit *= 10;
  const __int128 rest = (*integer % unit + unit) % unit, low = *integer - rest;
  const bool up = 2 * rest > unit || (2 * rest == unit && low / unit % 2 != 0);
  const __int128 rounded = low + (up ? unit : 0);
  if (int64_t(rounded) != rounded) fail_overflow(meter);
  return int64_t(rounded);
}

}  // namespace wick::jinja
