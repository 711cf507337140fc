#include "values.h"

#include <nanobind/stl/string.h>

#include "casters.h"
#include "wick/base/error.h"

namespace wick::python {
namespace {

constexpr int kMaxLevels = 200;

void require_level(int level, const std::string& where) {
  check(level < kMaxLevels, ErrorCode::kInvalidArgument, where, "expected at most ", kMaxLevels,
        " levels of lists and dicts, got more, or one that contains itself");
}

Setting setting_at(nb::handle value, const std::string& where, int level);

Settings entries_at(nb::handle value, const std::string& where, int level) {
  require_level(level, where);
  std::vector<Settings::Entry> entries;
  for (const auto& [key, item] : nb::borrow<nb::dict>(value)) {
    if (!PyUnicode_Check(key.ptr())) fail_type(where, "keys that are str", key);
    const std::string name = text_of(key, where);
    entries.emplace_back(name, setting_at(item, where + "[\"" + name + "\"]", level + 1));
  }
  return Settings(where, std::move(entries));
}

Setting setting_at(nb::handle value, const std::string& where, int level) {
  if (value.is_none()) return nullptr;
  if (PyBool_Check(value.ptr())) return value.ptr() == Py_True;
  if (PyUnicode_Check(value.ptr())) return text_of(value, where);
  if (PyFloat_Check(value.ptr())) return number_of(value, where);
  if (PyIndex_Check(value.ptr())) return integer_of(value, where);
  if (PyDict_Check(value.ptr())) return entries_at(value, where, level);
  if (!PyList_Check(value.ptr()) && !PyTuple_Check(value.ptr()))
    fail_type(where, "None, a bool, an int, a float, a str, a list or a dict", value);
  require_level(level, where);
  Setting::List list;
  const nb::object items = nb::borrow(value);
  for (const nb::handle item : items)
    list.push_back(setting_at(item, where + "[" + std::to_string(list.size()) + "]", level + 1));
  return list;
}

}  // namespace

std::string described(nb::handle value) {
  constexpr size_t kLong = 60;
  const std::string text = nb::repr(value).c_str();
  return text.size() <= kLong ? text : "a " + std::string(Py_TYPE(value.ptr())->tp_name);
}

void fail_type(const std::string& where, const std::string& expected, nb::handle got) {
  fail(ErrorCode::kDTypeMismatch, where, "expected ", expected, ", got ", described(got));
}

int64_t integer_of(nb::handle value, const std::string& where) {
  if (!PyIndex_Check(value.ptr())) fail_type(where, "an int", value);
  const nb::object whole = nb::steal(PyNumber_Index(value.ptr()));
  int overflow = 0;
  const long long integer =
      whole.is_valid() ? PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow) : -1;
  if (PyErr_Occurred()) nb::raise_python_error();
  check(overflow == 0, ErrorCode::kInvalidArgument, where, "expected an int of 64 bits, got ",
        described(value));
  return integer;
}

double number_of(nb::handle value, const std::string& where) {
  const auto number = try_cast<Number>(value, 0, nullptr);
  if (!number) fail_type(where, "a number", value);
  return number->is_integer() ? double(number->integer()) : number->real();
}

std::string text_of(nb::handle value, const std::string& where) {
  if (!PyUnicode_Check(value.ptr())) fail_type(where, "a str", value);
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (!text) nb::raise_python_error();  // a lone surrogate
  return {text, size_t(size)};
}

nb::object list_of(nb::handle value, const std::string& where, const std::string& expected) {
  if (!PyList_Check(value.ptr()) && !PyTuple_Check(value.ptr())) fail_type(where, expected, value);
  return nb::borrow(value);
}

Setting setting_of(nb::handle value, const std::string& where) {
  return setting_at(value, where, 0);
}

Settings settings_of(nb::handle value, const std::string& where) {
  if (!PyDict_Check(value.ptr())) fail_type(where, "a dict", value);
  return entries_at(value, where, 0);
}

}  // namespace wick::python
