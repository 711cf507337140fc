// Formatting: "%s" % value, and "{}".format(value).
#pragma once
#include "text/jinja/arguments.h"

namespace wick::jinja {

/// text % values, where values is a tuple, a dict or a single value. Errors: Python's.
Value percent_format(Meter& meter, const Value& text, const Value& values);
/// text.format(arguments). Errors: Python's.
Value format_fields(Interpreter& interpreter, const Value& text, const Arguments& arguments);

/// How a value is laid out.
struct FormatSpec {
  std::string fill = " ";
  char align = 0;  // '<', '>', '^', '=', or 0 for the type's own
  char sign = '-';
  bool is_alternate = false;
  int64_t width = 0;
  char grouping = 0;  // ',' or '_'
  int64_t precision = -1;
  char type = 0;
};
/// A number by one of the types d x X o b e E f F g G %. Errors: Python's.
std::string format_number(Meter& meter, const Value& value, const FormatSpec& spec);
/// The text in a field of the spec's width.
MarkedString format_text(Meter& meter, const MarkedView& text, const FormatSpec& spec);

}  // namespace wick::jinja
