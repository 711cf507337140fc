#include "text/jinja/tests.h"

#include <algorithm>

#include "text/jinja/compare.h"
#include "text/jinja/filters.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/number.h"
#include "text/jinja/print.h"
#include "text/jinja/unicode.h"

namespace wick::jinja {
namespace {

/// value % by == rest.
bool has_rest(Interpreter& in, const Value& value, const Value& by, int rest) {
  return equal(in.meter, binary(in.meter, BinaryOp::kRemainder, value, by), rest);
}

bool is_odd(Interpreter& in, const Value& value, const Items&) { return has_rest(in, value, 2, 1); }
bool is_even(Interpreter& in, const Value& value, const Items&) {
  return has_rest(in, value, 2, 0);
}
bool is_divisible(Interpreter& in, const Value& value, const Items& by) {
  return has_rest(in, value, by[0], 0);
}

bool is_defined(Interpreter&, const Value& value, const Items&) { return !value.undefined(); }
bool is_undefined(Interpreter&, const Value& value, const Items&) { return value.undefined(); }
bool is_none(Interpreter&, const Value& value, const Items&) { return value.is_none(); }
bool is_boolean(Interpreter&, const Value& value, const Items&) { return value.boolean(); }
bool is_true(Interpreter&, const Value& value, const Items&) {
  return value.boolean() && *value.boolean();
}
bool is_false(Interpreter&, const Value& value, const Items&) {
  return value.boolean() && !*value.boolean();
}
bool is_integer(Interpreter&, const Value& value, const Items&) { return value.integer(); }
bool is_float(Interpreter&, const Value& value, const Items&) { return value.real(); }
bool is_number(Interpreter&, const Value& value, const Items&) { return value.is_number(); }
bool is_string(Interpreter&, const Value& value, const Items&) { return value.text(); }
bool is_mapping(Interpreter&, const Value& value, const Items&) { return value.dict(); }
bool is_escaped(Interpreter&, const Value& value, const Items&) {
  return value.text() && value.text()->markup;
}

bool is_sequence(Interpreter&, const Value& value, const Items&) {
  return length_of(value) && (!value.object() || value.object()->has_items());
}

bool is_iterable(Interpreter& in, const Value& value, const Items&) {
  return try_iterate(in.meter, value) != nullptr;
}

bool is_callable(Interpreter&, const Value& value, const Items&) {
  return value.undefined() || (value.object() && value.object()->is_callable());
}

bool is_lower(Interpreter& in, const Value& value, const Items&) {
  return is_lower_case(str(in.meter, value).text()->bytes);
}
bool is_upper(Interpreter& in, const Value& value, const Items&) {
  return is_upper_case(str(in.meter, value).text()->bytes);
}

bool is_same(Interpreter&, const Value& value, const Items& other) { return same(value, other[0]); }

bool is_in(Interpreter& in, const Value& value, const Items& container) {
  return contains(in.meter, container[0], value);
}

template <CompareOp op>
bool compares(Interpreter& in, const Value& value, const Items& other) {
  return compare(in.meter, op, value, other[0]);
}

bool is_filter(Interpreter& in, const Value& value, const Items&) {
  check_hashable(in.meter, value);
  return value.text() && find_filter(value.text()->bytes);
}

bool is_test(Interpreter& in, const Value& value, const Items&) {
  check_hashable(in.meter, value);
  return value.text() && find_test(value.text()->bytes);
}

constexpr Test kTests[] = {
    {{"!=", "other /", 1}, compares<CompareOp::kNotEqual>},
    {{"<", "other /", 1}, compares<CompareOp::kLess>},
    {{"<=", "other /", 1}, compares<CompareOp::kLessEqual>},
    {{"==", "other /", 1}, compares<CompareOp::kEqual>},
    {{">", "other /", 1}, compares<CompareOp::kGreater>},
    {{">=", "other /", 1}, compares<CompareOp::kGreaterEqual>},
    {{"boolean", "", 0}, is_boolean},
    {{"callable", "", 0}, is_callable},
    {{"defined", "", 0}, is_defined},
    {{"divisibleby", "num", 1}, is_divisible},
    {{"eq", "other /", 1}, compares<CompareOp::kEqual>},
    {{"equalto", "other /", 1}, compares<CompareOp::kEqual>},
    {{"escaped", "", 0}, is_escaped},
    {{"even", "", 0}, is_even},
    {{"false", "", 0}, is_false},
    {{"filter", "", 0}, is_filter},
    {{"float", "", 0}, is_float},
    {{"ge", "other /", 1}, compares<CompareOp::kGreaterEqual>},
    {{"greaterthan", "other /", 1}, compares<CompareOp::kGreater>},
    {{"gt", "other /", 1}, compares<CompareOp::kGreater>},
    {{"in", "seq", 1}, is_in},
    {{"integer", "", 0}, is_integer},
    {{"iterable", "", 0}, is_iterable},
    {{"le", "other /", 1}, compares<CompareOp::kLessEqual>},
    {{"lessthan", "other /", 1}, compares<CompareOp::kLess>},
    {{"lower", "", 0}, is_lower},
    {{"lt", "other /", 1}, compares<CompareOp::kLess>},
    {{"mapping", "", 0}, is_mapping},
    {{"ne", "other /", 1}, compares<CompareOp::kNotEqual>},
    {{"none", "", 0}, is_none},
    {{"number", "", 0}, is_number},
    {{"odd", "", 0}, is_odd},
    {{"sameas", "other", 1}, is_same},
    {{"sequence", "", 0}, is_sequence},
    {{"string", "", 0}, is_string},
    {{"test", "", 0}, is_test},
    {{"true", "", 0}, is_true},
    {{"undefined", "", 0}, is_undefined},
    {{"upper", "", 0}, is_upper},
};

}  // namespace

const Test* find_test(std::string_view name) {
  const auto found = std::find_if(std::begin(kTests), std::end(kTests),
                                  [&](const Test& test) { return test.signature.name == name; });
  return found == std::end(kTests) ? nullptr : found;
}

bool apply_test(Interpreter& interpreter, const Test& test, const Value& input,
                Arguments&& arguments) {
  return test.run(interpreter, input,
                  bind(interpreter.meter, test.signature, std::move(arguments)));
}

}  // namespace wick::jinja
