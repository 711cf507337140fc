// Tests: VALUE is NAME(arguments).
#pragma once
#include "text/jinja/arguments.h"

namespace wick::jinja {

struct Test {
  Signature signature;
  bool (*run)(Interpreter& interpreter, const Value& input, const Items& arguments);
};

/// nullptr if there is no test of this name.
const Test* find_test(std::string_view name);
bool apply_test(Interpreter& interpreter, const Test& test, const Value& input,
                Arguments&& arguments);

}  // namespace wick::jinja
