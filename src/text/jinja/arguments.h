// The arguments of a call and the parameters that they are bound to.
#pragma once
#include "text/jinja/value.h"

namespace wick::jinja {

struct Arguments {
  Items positional;
  std::vector<std::pair<MarkedString, Value>> named;
};

/// The parameters of a built-in function.
struct Signature {
  std::string_view name;        // as templates say it
  std::string_view parameters;  // separated by spaces; after "/" they may be named
  int required = 0;
};

/// The value of each parameter, in order; missing if it was not given. Errors: Python's TypeError
/// for too many, too few, unknown and repeated arguments.
Items bind(const Meter& meter, const Signature& signature, Arguments&& arguments);

/// The argument, or `otherwise` if it was not given.
inline const Value& given_or(const Value& argument, const Value& otherwise) {
  return argument.is_missing() ? otherwise : argument;
}
/// The argument as an int. Errors: Python's TypeError.
int64_t index_or(const Meter& meter, const Value& argument, const char* name, int64_t otherwise);
/// The argument, which must be a str. Errors: Python's TypeError.
const Text& expect_text(const Meter& meter, const Value& argument, const char* name);

}  // namespace wick::jinja
