#include "text/jinja/number.h"

#include <algorithm>
#include <cmath>

#include "text/jinja/format.h"
#include "text/jinja/text.h"

namespace wick::jinja {
namespace {

constexpr const char* kSymbols[] = {"+", "-", "*", "/", "//", "%", "**"};

[[noreturn]] void fail_division(const Meter& meter) { meter.fail("division by zero"); }

Value add(Meter& meter, int64_t lhs, int64_t rhs) {
  int64_t result;
  if (__builtin_add_overflow(lhs, rhs, &result)) fail_overflow(meter);
  return result;
}

Value subtract(Meter& meter, int64_t lhs, int64_t rhs) {
  int64_t result;
  if (__builtin_sub_overflow(lhs, rhs, &result)) fail_overflow(meter);
  return result;
}

int64_t multiply(Meter& meter, int64_t lhs, int64_t rhs) {
  int64_t result;
  if (__builtin_mul_overflow(lhs, rhs, &result)) fail_overflow(meter);
  return result;
}

Value floor_divide(Meter& meter, int64_t lhs, int64_t rhs) {
  if (rhs == 0) fail_division(meter);
  if (rhs == -1) return subtract(meter, 0, lhs);
  const int64_t quotient = lhs / rhs;
  return quotient - (lhs % rhs != 0 && (lhs < 0) != (rhs < 0));
}

Value remainder(Meter& meter, int64_t lhs, int64_t rhs) {
  if (rhs == 0) fail_division(meter);
  if (rhs == -1) return 0;
  const int64_t rest = lhs % rhs;
  return rest != 0 && (rest < 0) != (rhs < 0) ? rest + rhs : rest;
}

/// Quotient and remainder as Python's float divmod.
std::pair<double, double> divide_with_rest(Meter& meter, double lhs, double rhs) {
  if (rhs == 0) fail_division(meter);
  double rest = std::fmod(lhs, rhs);
  double quotient = (lhs - rest) / rhs;
  if (rest == 0)
    rest = std::copysign(0.0, rhs);
  else if ((rest < 0) != (rhs < 0)) {
    rest += rhs;
    quotient -= 1;
  }
  if (quotient == 0) return {std::copysign(0.0, lhs / rhs), rest};
  const double floor = std::floor(quotient);
  return {quotient - floor > 0.5 ? floor + 1 : floor, rest};
}

Value power(Meter& meter, double lhs, double rhs) {
  if (lhs == 0 && rhs < 0) meter.fail("0.0 cannot be raised to a negative power");
  if (lhs < 0 && std::isfinite(lhs) && std::isfinite(rhs) && rhs != std::floor(rhs))
    meter.refuse("a complex number");
  const double result = std::pow(lhs, rhs);
  if (std::isinf(result) && std::isfinite(lhs) && std::isfinite(rhs))
    meter.fail("numerical result out of range");
  return result;
}

Value power(Meter& meter, int64_t base, int64_t exponent) {
  if (exponent < 0) return power(meter, double(base), double(exponent));
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  int64_t result = 1;
  for (int64_t i = 0; i < exponent; i++) result = multiply(meter, result, base);  // 63 at most
  return result;
}

/// lhs OP rhs of two ints or bools.
Value on_integers(Meter& meter, BinaryOp op, int64_t lhs, int64_t rhs) {
  switch (op) {
    case BinaryOp::kAdd:
      return add(meter, lhs, rhs);
    case BinaryOp::kSubtract:
      return subtract(meter, lhs, rhs);
    case BinaryOp::kMultiply:
      return multiply(meter, lhs, rhs);
    case BinaryOp::kDivide:
      if (rhs == 0) fail_division(meter);
      return double(static_cast<long double>(lhs) / static_cast<long double>(rhs));
    case BinaryOp::kFloorDivide:
      return floor_divide(meter, lhs, rhs);
    case BinaryOp::kRemainder:
      return remainder(meter, lhs, rhs);
    case BinaryOp::kPower:
      return power(meter, lhs, rhs);
  }
  return {};
}

Value on_reals(Meter& meter, BinaryOp op, double lhs, double rhs) {
  switch (op) {
    case BinaryOp::kAdd:
      return lhs + rhs;
    case BinaryOp::kSubtract:
      return lhs - rhs;
    case BinaryOp::kMultiply:
      return lhs * rhs;
    case BinaryOp::kDivide:
      if (rhs == 0) fail_division(meter);
      return lhs / rhs;
    case BinaryOp::kFloorDivide:
      return divide_with_rest(meter, lhs, rhs).first;
    case BinaryOp::kRemainder:
      return divide_with_rest(meter, lhs, rhs).second;
    case BinaryOp::kPower:
      return power(meter, lhs, rhs);
  }
  return {};
}

/// A text, list or tuple `count` times.
Value repeat(Meter& meter, const Value& value, int64_t count) {
  count = std::max<int64_t>(count, 0);
  if (const Text* text = value.text()) {
    const int64_t size = text->bytes.empty() ? 0 : count;
    meter.check_room(size, text->bytes.size());
    meter.check_room(size, text->marks.memory());
    MarkedString string;
    string.reserve(size_t(size) * text->bytes.size());
    for (int64_t i = 0; i < size; i++) string += *text;
    return make_text(meter, std::move(string), text->markup);
  }
  const Sequence& sequence = *value.sequence();
  const int64_t size = sequence.items.empty() ? 0 : count;
  meter.check_room(size, sequence.items.size() * sizeof(Value));
  Items items;
  items.reserve(size_t(size) * sequence.items.size());
  for (int64_t i = 0; i < size; i++)
    items.insert(items.end(), sequence.items.begin(), sequence.items.end());
  return sequence.is_tuple() ? make_tuple(meter, std::move(items))
                             : make_list(meter, std::move(items));
}

Value join_sequences(Meter& meter, const Sequence& lhs, const Sequence& rhs) {
  meter.check_room(int64_t(lhs.items.size() + rhs.items.size()), sizeof(Value));
  Items items;
  items.reserve(lhs.items.size() + rhs.items.size());
  items.insert(items.end(), lhs.items.begin(), lhs.items.end());
  items.insert(items.end(), rhs.items.begin(), rhs.items.end());
  return lhs.is_tuple() ? make_tuple(meter, std::move(items)) : make_list(meter, std::move(items));
}

Value join_texts(Meter& meter, const Value& lhs, const Value& rhs) {
  const bool markup = lhs.text()->markup || rhs.text()->markup;
  const Value left = markup ? escape(meter, lhs) : lhs;
  const Value right = markup ? escape(meter, rhs) : rhs;
  const MarkedView head = *left.text(), tail = *right.text();
  meter.check_room(head.size() + tail.size());
  MarkedString string;
  string.reserve(head.size() + tail.size());
  string += head;
  string += tail;
  return make_text(meter, std::move(string), markup);
}

}  // namespace

void fail_undefined(const Meter& meter, const Value& undefined) {
  meter.fail(undefined.undefined()->message);
}

void fail_overflow(const Meter& meter) { meter.refuse("an integer exceeds 64 bits"); }

Value binary(Meter& meter, BinaryOp op, const Value& lhs, const Value& rhs) {
  for (const Value* side : {&lhs, &rhs})
    if (side->undefined() && !(op == BinaryOp::kRemainder && lhs.text()))
      fail_undefined(meter, *side);
  if (op == BinaryOp::kRemainder && lhs.text()) return percent_format(meter, lhs, rhs);
  if (lhs.is_number() && rhs.is_number())
    return lhs.real() || rhs.real() ? on_reals(meter, op, *real_of(lhs), *real_of(rhs))
                                    : on_integers(meter, op, *lhs.index(), *rhs.index());
  if (op == BinaryOp::kAdd) {
    if (lhs.text() && rhs.text()) return join_texts(meter, lhs, rhs);
    if (lhs.sequence() && rhs.sequence() && lhs.is_tuple() == rhs.is_tuple())
      return join_sequences(meter, *lhs.sequence(), *rhs.sequence());
  }
  if (op == BinaryOp::kMultiply) {
    if ((lhs.text() || lhs.sequence()) && rhs.index()) return repeat(meter, lhs, *rhs.index());
    if ((rhs.text() || rhs.sequence()) && lhs.index()) return repeat(meter, rhs, *lhs.index());
  }
  meter.fail("unsupported operand types for ", kSymbols[int(op)], ": '", lhs.type_name(), "' and '",
             rhs.type_name(), "'");
}

Value negate(Meter& meter, const Value& value) {
  if (value.undefined()) fail_undefined(meter, value);
  if (const double* x = value.real()) return -*x;
  if (const auto i = value.index()) return subtract(meter, 0, *i);
  meter.fail("bad operand type for unary -: '", value.type_name(), "'");
}

Value plus(Meter& meter, const Value& value) {
  if (value.undefined()) fail_undefined(meter, value);
  if (value.real()) return value;
  if (const auto i = value.index()) return *i;
  meter.fail("bad operand type for unary +: '", value.type_name(), "'");
}

int64_t expect_index(const Meter& meter, const Value& value, const char* what) {
  if (value.undefined()) fail_undefined(meter, value);
  const auto index = value.index();
  if (!index) meter.fail(what, ": expected an integer, got '", value.type_name(), "'");
  return *index;
}

std::optional<double> real_of(const Value& value) {
  if (const double* x = value.real()) return *x;
  if (const auto i = value.index()) return double(*i);
  return std::nullopt;
}

}  // namespace wick::jinja
