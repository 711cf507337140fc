// Filters of numbers, and filters of values of any kind.
#include <cmath>

#include "text/jinja/attributes.h"
#include "text/jinja/convert.h"
#include "text/jinja/filters.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/number.h"
#include "text/jinja/print.h"

namespace wick::jinja {
namespace {

Value absolute(Interpreter& in, const Value& input, const Items&) {
  if (const double* x = input.real()) return std::fabs(*x);
  const auto index = input.index();
  if (!index) in.meter.fail("bad operand type for abs(): '", input.type_name(), "'");
  return *index < 0 ? negate(in.meter, *index) : Value(*index);
}

/// float(value); nullopt where Python raises TypeError or ValueError.
std::optional<double> as_real(Interpreter& in, const Value& value) {
  if (value.undefined()) fail_undefined(in.meter, value);
  return value.text() ? parse_real(value.text()->bytes) : real_of(value);
}

Value to_integer(Interpreter& in, const Value& input, const Items& arguments) {
  Meter& meter = in.meter;
  const Value otherwise = given_or(arguments[0], 0);
  if (const auto index = input.index()) return *index;
  if (input.real() && std::isinf(*input.real())) meter.fail("cannot convert inf to an integer");
  const auto base = given_or(arguments[1], 10).index();
  if (input.text() && base && (*base == 0 || (2 <= *base && *base <= 36))) {
    meter.step_bytes(input.text()->bytes.size());
    if (const auto value = parse_integer(meter, input.text()->bytes, int(*base))) return *value;
  }
  const auto real = as_real(in, input);
  return real && std::isfinite(*real) ? Value(jinja::truncate(meter, *real)) : otherwise;
}

Value to_real(Interpreter& in, const Value& input, const Items& arguments) {
  const auto real = as_real(in, input);
  return real ? Value(*real) : given_or(arguments[0], 0.0);
}

Value round(Interpreter& in, const Value& input, const Items& arguments) {
  Meter& meter = in.meter;
  const Value digits = given_or(arguments[0], 0);
  const Value method = given_or(arguments[1], constant_text("common"));
  const std::string name = method.text() ? method.text()->bytes : "";
  if (name != "common" && name != "ceil" && name != "floor")
    meter.fail("round: the method must be common, ceil or floor");
  if (name == "common") {
    if (!digits.is_none()) return round_number(meter, input, expect_index(meter, digits, "round"));
    const Value rounded = round_number(meter, input, 0);
    return rounded.real() ? Value(jinja::truncate(meter, *rounded.real())) : rounded;
  }
  const Value scale = binary(meter, BinaryOp::kPower, 10, digits);
  const auto scaled = real_of(binary(meter, BinaryOp::kMultiply, input, scale));
  if (!scaled) meter.fail("round: must be real number, not ", input.type_name());
  const Value whole =
      jinja::truncate(meter, name == "ceil" ? std::ceil(*scaled) : std::floor(*scaled));
  return binary(meter, BinaryOp::kDivide, whole, scale);
}

Value otherwise(Interpreter&, const Value& input, const Items& arguments) {
  const bool if_false = !arguments[1].is_missing() && arguments[1].is_true();
  if (input.undefined() || (if_false && !input.is_true()))
    return given_or(arguments[0], constant_text(""));
  return input;
}

Value length(Interpreter& in, const Value& input, const Items&) {
  const auto length = length_of(input);
  if (!length) in.meter.fail("object of type '", input.type_name(), "' has no len()");
  return *length;
}

/// The attribute alone, without the item of that name.
Value attribute(Interpreter& in, const Value& input, const Items& arguments) {
  const Text& name = expect_text(in.meter, arguments[0], "attr");
  if (auto found = find_attribute(in, input, name.bytes)) return std::move(*found);
  return make_undefined("'" + input.type_name() + " object' has no attribute '" + name.bytes + "'");
}

constexpr Filter kFilters[] = {
    {{"abs", "", 0}, absolute, nullptr},
    {{"attr", "name", 1}, attribute, nullptr},
    {{"count", "", 0}, length, nullptr},
    {{"d", "default_value boolean", 0}, otherwise, nullptr},
    {{"default", "default_value boolean", 0}, otherwise, nullptr},
    {{"float", "default", 0}, to_real, nullptr},
    {{"int", "default base", 0}, to_integer, nullptr},
    {{"length", "", 0}, length, nullptr},
    {{"round", "precision method", 0}, round, nullptr},
};

}  // namespace

std::span<const Filter> number_filters() { return kFilters; }

}  // namespace wick::jinja
