// Literals of a template: numbers and the escapes of strings.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "text/jinja/meter.h"

namespace wick::jinja {

struct NumberLiteral {
  size_t size = 0;  // in bytes
  bool is_real = false;
  bool fits = true;  // false: the integer exceeds 64 bits
  int64_t integer = 0;
  double real = 0;
};

/// The number at the start of the text, which starts with a digit. after_dot: a dot stands before
/// it, so it is an integer.
NumberLiteral number_literal(std::string_view text, bool after_dot);

/// A string's content with Python's escapes read. Errors: kFormat for a malformed escape;
/// kUnsupported for a surrogate or a character by name.
std::string unescape(std::string_view content, const std::string& where, SourcePosition place);

}  // namespace wick::jinja
