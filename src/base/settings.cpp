#include "wick/base/settings.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <unordered_set>

namespace wick {
namespace {

template <class T>
const T* as(const Setting& setting) {
  return std::get_if<T>(&setting.value);
}

/// The value as a finite number, if it is one.
std::optional<double> number_of(const Setting& setting) {
  if (const int64_t* integer = as<int64_t>(setting)) return double(*integer);
  const double* value = as<double>(setting);
  return value && std::isfinite(*value) ? std::optional(*value) : std::nullopt;
}

std::string number_text(double value) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

}  // namespace

Settings::Settings(std::string where, std::vector<Entry> entries)
    : where_(std::move(where)), entries_(std::move(entries)) {
  std::unordered_set<std::string_view> keys;
  for (const Entry& entry : entries_)
    check(keys.insert(entry.first).second, ErrorCode::kFormat, where_, "\"", entry.first,
          "\" appears twice");
}

Settings& Settings::set(const std::string& key, Setting value) {
  for (Entry& entry : entries_)
    if (entry.first == key) {
      entry.second = std::move(value);
      return *this;
    }
  entries_.push_back({key, std::move(value)});
  return *this;
}

const Setting* Settings::find(std::string_view key) const {
  for (const Entry& entry : entries_)
    if (entry.first == key) return as<std::nullptr_t>(entry.second) ? nullptr : &entry.second;
  return nullptr;
}

void Settings::fail_expected(std::string_view key, const std::string& expected) const {
  const Setting* found = find(key);
  fail(ErrorCode::kFormat, where_, "\"", key, "\": expected ", expected, ", got ",
       found ? describe(*found) : "nothing");
}

int64_t Settings::integer(std::string_view key, int64_t lowest) const {
  const Setting* found = find(key);
  const int64_t* value = found ? as<int64_t>(*found) : nullptr;
  if (!value || *value < lowest)
    fail_expected(key, "an integer of at least " + std::to_string(lowest));
  return *value;
}
int64_t Settings::integer_or(std::string_view key, int64_t otherwise, int64_t lowest) const {
  return has(key) ? integer(key, lowest) : otherwise;
}

double Settings::real(std::string_view key) const {
  const Setting* found = find(key);
  const std::optional<double> value = found ? number_of(*found) : std::nullopt;
  if (!value) fail_expected(key, "a number");
  return *value;
}
double Settings::real_or(std::string_view key, double otherwise) const {
  return has(key) ? real(key) : otherwise;
}

bool Settings::flag_or(std::string_view key, bool otherwise) const {
  const Setting* found = find(key);
  if (!found) return otherwise;
  const bool* value = as<bool>(*found);
  if (!value) fail_expected(key, "true or false");
  return *value;
}

std::string Settings::text(std::string_view key) const {
  const Setting* found = find(key);
  const std::string* value = found ? as<std::string>(*found) : nullptr;
  if (!value) fail_expected(key, "a string");
  return *value;
}
std::string Settings::text_or(std::string_view key, const std::string& otherwise) const {
  return has(key) ? text(key) : otherwise;
}

std::vector<int64_t> Settings::integers(std::string_view key) const {
  const Setting* found = find(key);
  if (!found) return {};
  if (const int64_t* one = as<int64_t>(*found)) return {*one};
  std::vector<int64_t> values;
  const Setting::List* list = as<Setting::List>(*found);
  if (!list) fail_expected(key, "an integer or a list of integers");
  for (const Setting& item : *list) {
    const int64_t* value = as<int64_t>(item);
    if (!value) fail_expected(key, "an integer or a list of integers");
    values.push_back(*value);
  }
  return values;
}

std::vector<double> Settings::reals(std::string_view key) const {
  const Setting* found = find(key);
  if (!found) return {};
  if (const std::optional<double> one = number_of(*found)) return {*one};
  std::vector<double> values;
  const Setting::List* list = as<Setting::List>(*found);
  if (!list) fail_expected(key, "a number or a list of numbers");
  for (const Setting& item : *list) {
    const std::optional<double> value = number_of(item);
    if (!value) fail_expected(key, "a number or a list of numbers");
    values.push_back(*value);
  }
  return values;
}

std::vector<std::string> Settings::texts(std::string_view key) const {
  const Setting* found = find(key);
  if (!found) return {};
  std::vector<std::string> values;
  const Setting::List* list = as<Setting::List>(*found);
  if (!list) fail_expected(key, "a list of strings");
  for (const Setting& item : *list) {
    const std::string* value = as<std::string>(item);
    if (!value) fail_expected(key, "a list of strings");
    values.push_back(*value);
  }
  return values;
}

const Settings* Settings::group(std::string_view key) const {
  const Setting* found = find(key);
  if (!found) return nullptr;
  const Settings* values = as<Settings>(*found);
  if (!values) fail_expected(key, "an object");
  return values;
}

std::string describe(const Setting& setting) {
  if (const bool* flag = as<bool>(setting)) return *flag ? "true" : "false";
  if (const int64_t* integer = as<int64_t>(setting)) return std::to_string(*integer);
  if (const double* real = as<double>(setting)) return "the number " + number_text(*real);
  if (const std::string* text = as<std::string>(setting)) {
    const bool is_short = text->size() <= 40 && text->find('\n') == std::string::npos;
    return is_short ? "the string \"" + *text + "\"" : "a long string";
  }
  if (as<Setting::List>(setting)) return "a list";
  return as<Settings>(setting) ? "an object" : "null";
}

}  // namespace wick
