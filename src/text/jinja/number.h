// Python's arithmetic. Integers have 64 bits: an overflow is an error.
#pragma once
#include "text/jinja/value.h"

namespace wick::jinja {

enum class BinaryOp { kAdd, kSubtract, kMultiply, kDivide, kFloorDivide, kRemainder, kPower };

/// lhs OP rhs of numbers, strings, lists and tuples. Errors: Python's TypeError and
/// ZeroDivisionError.
Value binary(Meter& meter, BinaryOp op, const Value& lhs, const Value& rhs);
Value negate(Meter& meter, const Value& value);
/// +value.
Value plus(Meter& meter, const Value& value);

/// An int or bool. Errors: Python's TypeError, naming `what`.
int64_t expect_index(const Meter& meter, const Value& value, const char* what);
/// The number as a double; nullopt for other types.
std::optional<double> real_of(const Value& value);

/// Raises the error of an undefined value that is used.
[[noreturn]] void fail_undefined(const Meter& meter, const Value& undefined);
[[noreturn]] void fail_overflow(const Meter& meter);

}  // namespace wick::jinja
