// Numbers from texts and other numbers, as Python's int(), float() and round() make them.
#pragma once
#include "text/jinja/value.h"

namespace wick::jinja {

/// int(x) of a float. Errors: Python's for inf and nan, and overflow.
int64_t truncate(const Meter& meter, double x);
/// int(text, base), with base 2 to 36, or 0 for Python's prefixes; nullopt where it raises
/// ValueError.
std::optional<int64_t> parse_integer(const Meter& meter, std::string_view text, int base);
/// float(text); nullopt where it raises ValueError.
std::optional<double> parse_real(std::string_view text);
/// round(value, digits).
Value round_number(Meter& meter, const Value& value, int64_t digits);

}  // namespace wick::jinja
