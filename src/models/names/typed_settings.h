// Values of config.json as fields need them. Errors: kFormat, naming the key.
#pragma once
#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "wick/base/settings.h"

namespace wick {

inline constexpr int64_t kLargestSize = std::numeric_limits<int32_t>::max();

template <class List, class T>
bool contains(const List& list, const T& item) {
  return std::find(std::begin(list), std::end(list), item) != std::end(list);
}

/// A size from 1 to `highest`; one that is missing is `otherwise`, or an error if that is 0.
inline int64_t size_of(const Settings& settings, std::string_view key, int64_t otherwise = 0,
                       int64_t highest = kLargestSize) {
  const int64_t size =
      otherwise > 0 ? settings.integer_or(key, otherwise, 1) : settings.integer(key, 1);
  if (size > highest) settings.fail_expected(key, "at most " + std::to_string(highest));
  return size;
}

/// Whether the key is there, be it with null.
inline bool is_listed(const Settings& settings, std::string_view key) {
  const auto is_key = [key](const Settings::Entry& entry) { return entry.first == key; };
  return std::any_of(settings.entries().begin(), settings.entries().end(), is_key);
}

/// As size_of, where null is 0 and only a missing key has the default.
inline int64_t size_or_null(const Settings& settings, std::string_view key, int64_t otherwise) {
  if (!is_listed(settings, key)) return otherwise;
  return settings.has(key) ? size_of(settings, key) : 0;
}

inline double positive(const Settings& settings, std::string_view key) {
  const double value = settings.real(key);
  if (value <= 0) settings.fail_expected(key, "a number above 0");
  return value;
}
inline double positive(const Settings& settings, std::string_view key, double otherwise) {
  return settings.has(key) ? positive(settings, key) : otherwise;
}
/// As positive, where null is 0 and only a missing key has the default.
inline double positive_or_null(const Settings& settings, std::string_view key, double otherwise) {
  return is_listed(settings, key) && !settings.has(key) ? 0 : positive(settings, key, otherwise);
}

/// The value that the text has in a list of pairs (name, value).
template <class Names>
auto named(const Settings& settings, std::string_view key, const std::string& text,
           const Names& names) {
  std::string known;
  for (const auto& [name, value] : names) {
    if (text == name) return value;
    known += (known.empty() ? "\"" : ", \"") + std::string(name) + "\"";
  }
  settings.fail_expected(key, known);
}
/// The first name of a value in such a list; "" if it is not there.
template <class Names, class T>
std::string_view name_of(const Names& names, const T& value) {
  for (const auto& [name, known] : names)
    if (known == value) return name;
  return "";
}

}  // namespace wick
