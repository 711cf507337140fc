// Values of keywords and dicts, with errors that name the place, the expected and the given value.
#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>

#include "wick/base/settings.h"

namespace wick::python {

/// The value as errors name it: its repr, or its type if that is long.
std::string described(nanobind::handle value);
/// Raises TypeError: "where: expected ..., got ...".
[[noreturn]] void fail_type(const std::string& where, const std::string& expected,
                            nanobind::handle got);

/// An int, of NumPy too. Errors: TypeError; ValueError beyond 64 bits.
int64_t integer_of(nanobind::handle value, const std::string& where);
/// An int or a float, of NumPy too. Errors: TypeError.
double number_of(nanobind::handle value, const std::string& where);
/// Errors: TypeError.
std::string text_of(nanobind::handle value, const std::string& where);
/// A list or tuple. Errors: TypeError.
nanobind::object list_of(nanobind::handle value, const std::string& where,
                         const std::string& expected);

/// None, bool, int, float, str, and lists and dicts of them, as templates read it. Errors:
/// TypeError; ValueError for more than 200 levels.
Setting setting_of(nanobind::handle value, const std::string& where);
/// A dict as setting_of gives it. Errors: TypeError.
Settings settings_of(nanobind::handle value, const std::string& where);

}  // namespace wick::python
