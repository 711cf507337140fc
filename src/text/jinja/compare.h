// Python's comparisons.
#pragma once
#include "text/jinja/value.h"

namespace wick::jinja {

enum class CompareOp { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };

bool equal(Meter& meter, const Value& lhs, const Value& rhs);
/// Errors: Python's TypeError for types without an order.
bool compare(Meter& meter, CompareOp op, const Value& lhs, const Value& rhs);
/// item in container. Errors: Python's TypeError.
bool contains(Meter& meter, const Value& container, const Value& item);
/// The values sorted by their keys, of which there are as many; equal keys keep their order.
/// Errors: as compare.
Items sorted(Meter& meter, const Items& values, const Items& keys, bool reverse);

/// lhs is rhs: the same object, or equal None, bool or int.
bool same(const Value& lhs, const Value& rhs);
/// A total order of numbers by value, nan before all.
int order_numbers(const Value& lhs, const Value& rhs);

}  // namespace wick::jinja
