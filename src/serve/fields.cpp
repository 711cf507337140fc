#include "serve/fields.h"

#include <cmath>

#include "wick/io/json.h"

namespace wick::serve {
namespace {

constexpr int kMaxNesting = 128;

/// Whether brackets of the JSON text, strings left out, are nested deeper than that.
bool is_deeper_than(std::string_view text, int levels) {
  int open = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') i++;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++open > levels) return true;
    } else if (c == ']' || c == '}') {
      open--;
    }
  }
  return false;
}

std::string range_text(double lowest, double highest) {
  const auto number = [](double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", value);
    return std::string(text);
  };
  if (highest >= std::numeric_limits<double>::max())
    return "a number of at least " + number(lowest);
  return "a number from " + number(lowest) + " to " + number(highest);
}

}  // namespace

Settings parse_body(std::string_view body) {
  if (is_deeper_than(body, kMaxNesting))
    throw RequestError(400, "the body: expected JSON of at most " + std::to_string(kMaxNesting) +
                                " nested lists and objects");
  try {
    return parse_json(body, "the body");
  } catch (const Error& error) {
    throw RequestError(400, error.what());
  }
}

void fail_field(const std::string& field, const std::string& expected, const Setting& got) {
  throw RequestError(400, "'" + field + "': expected " + expected + ", got " + describe(got), field,
                     "invalid_value");
}

void fail_unsupported(const std::string& field, const std::string& why) {
  throw RequestError(400, "'" + field + "': " + why, field, "unsupported_value");
}

std::string Fields::name(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

const Setting* Fields::find(std::string_view key) const {
  const Setting* const found = settings_.find(key);
  return found && !std::holds_alternative<std::nullptr_t>(found->value) ? found : nullptr;
}

std::optional<int64_t> Fields::integer(std::string_view key, int64_t lowest,
                                       int64_t highest) const {
  const Setting* const found = find(key);
  if (!found) return {};
  std::optional<int64_t> value;
  if (const int64_t* integer = std::get_if<int64_t>(&found->value)) value = *integer;
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (const double* real = std::get_if<double>(&found->value))
    if (std::abs(*real) <= kExact && *real == std::trunc(*real)) value = int64_t(*real);
  if (value && *value >= lowest && *value <= highest) return value;
  std::string expected = "an integer";
  if (highest < std::numeric_limits<int64_t>::max())
    expected += " from " + std::to_string(lowest) + " to " + std::to_string(highest);
  else if (lowest > std::numeric_limits<int64_t>::min())
    expected += " of at least " + std::to_string(lowest);
  fail_field(name(key), expected, *found);
}

std::optional<double> Fields::real(std::string_view key, double lowest, double highest) const {
  const Setting* const found = find(key);
  if (!found) return {};
  std::optional<double> value;
  if (const int64_t* integer = std::get_if<int64_t>(&found->value)) value = double(*integer);
  if (const double* real = std::get_if<double>(&found->value)) value = *real;
  if (value && *value >= lowest && *value <= highest) return value;  // false for NaN
  fail_field(name(key), range_text(lowest, highest), *found);
}

std::optional<bool> Fields::flag(std::string_view key) const {
  const Setting* const found = find(key);
  if (!found) return {};
  if (const bool* flag = std::get_if<bool>(&found->value)) return *flag;
  fail_field(name(key), "true or false", *found);
}

std::optional<std::string> Fields::text(std::string_view key) const {
  const Setting* const found = find(key);
  if (!found) return {};
  if (const std::string* text = std::get_if<std::string>(&found->value)) return *text;
  fail_field(name(key), "a string", *found);
}

const Setting::List* Fields::list(std::string_view key) const {
  const Setting* const found = find(key);
  if (!found) return nullptr;
  if (const Setting::List* list = std::get_if<Setting::List>(&found->value)) return list;
  fail_field(name(key), "a list", *found);
}

std::optional<Fields> Fields::object(std::string_view key) const {
  const Setting* const found = find(key);
  if (!found) return {};
  if (const Settings* settings = std::get_if<Settings>(&found->value))
    return Fields(*settings, name(key));
  fail_field(name(key), "an object", *found);
}

Fields object_in(const Setting::List& list, size_t index, const std::string& name) {
  const std::string path = name + "[" + std::to_string(index) + "]";
  if (const Settings* settings = std::get_if<Settings>(&list[index].value))
    return Fields(*settings, path);
  fail_field(path, "an object", list[index]);
}

}  // namespace wick::serve
