#include "wick/io/json.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>

#include "base/file.h"
#include "base/json_text.h"
#include "base/utf8.h"
#include "io/json_syntax.h"

namespace wick {
namespace {

namespace dom = simdjson::dom;

/// Prefix of errors for the value of a key; the root value has no key.
std::string place(const std::string& where, std::string_view key) {
  return key.data() ? where + ": \"" + std::string(key) + "\"" : where;
}

/// Converts what simdjson has parsed.
struct Reader {
  bool marked;  // the text is that of marked_json()

  std::string_view text_of(std::string_view parsed) const {
    return marked && parsed.starts_with(kStringMark) ? parsed.substr(1) : parsed;
  }

  /// The number that a list stands for, if it does.
  std::optional<double> constant_of(dom::array list) const {
    std::string_view name;
    if (!marked || list.size() != 1 || list.at(0).get_string().get(name)) return std::nullopt;
    constexpr double kInf = std::numeric_limits<double>::infinity();
    if (name == kNan) return std::numeric_limits<double>::quiet_NaN();
    if (name == kInfinity) return kInf;
    if (name == kMinusInfinity) return -kInf;
    return std::nullopt;
  }

  Setting setting_of(dom::element element, const std::string& where, std::string_view key) const {
    switch (element.type()) {
      case dom::element_type::NULL_VALUE:
        return nullptr;
      case dom::element_type::BOOL:
        return bool(element);
      case dom::element_type::INT64:
        return int64_t(element);
      case dom::element_type::UINT64:  // only values beyond int64_t have this type
        return double(uint64_t(element));
      case dom::element_type::DOUBLE:
        return double(element);
      case dom::element_type::STRING:
        return std::string(text_of(std::string_view(element)));
      case dom::element_type::ARRAY: {
        if (const auto constant = constant_of(dom::array(element))) return *constant;
        Setting::List list;
        for (const dom::element item : dom::array(element))
          list.push_back(setting_of(item, where, key));
        return list;
      }
      case dom::element_type::OBJECT:
        return settings_of(dom::object(element), place(where, key));
    }
    return nullptr;
  }

  /// Of a repeated key the last value stays, in the first one's place, as in Python.
  Settings settings_of(dom::object object, const std::string& where) const {
    std::vector<Settings::Entry> entries;
    std::unordered_map<std::string_view, size_t> places;
    entries.reserve(object.size());
    places.reserve(object.size());
    for (const dom::key_value_pair field : object) {
      const std::string_view key = text_of(field.key);
      const auto [found, is_new] = places.emplace(key, entries.size());
      Setting value = setting_of(field.value, where, key);
      if (is_new)
        entries.push_back({std::string(key), std::move(value)});
      else
        entries[found->second].second = std::move(value);
    }
    return Settings(where, std::move(entries));
  }
};

/// Reports where the text stops being JSON. error: simdjson's, if the grammar finds no fault.
[[noreturn]] void refuse(std::string_view text, const std::string& where,
                         simdjson::error_code error, bool is_file) {
  const std::optional<JsonFault> fault = find_json_fault(text);
  if (!fault) fail(ErrorCode::kFormat, where, "expected JSON: ", simdjson::error_message(error));
  const std::string prefix =
      "expected JSON: " + line_and_column(text, fault->at) + ": expected " + fault->expected + ", ";
  if (fault->at == text.size() && fault->expected != kJsonEnd)
    fail(ErrorCode::kFormat, where, prefix, is_file ? "the file ends: " : "the text ends",
         is_file ? kCutShort : "");
  constexpr size_t kShown = 20;  // bytes
  const std::string_view rest = text.substr(fault->at);
  size_t end = std::min(rest.find_first_of(" \t\r\n,:[]{}\"", 1), rest.size());
  if (end > kShown)
    for (end = kShown; end > 1 && !starts_character(rest[end]);) end--;
  fail(ErrorCode::kFormat, where, prefix, "got ", json_quote(rest.substr(0, end)));
}

Setting parse(std::string_view text, const std::string& where, bool is_file) {
  if (constexpr std::string_view kMark = "\xef\xbb\xbf"; text.starts_with(kMark))
    text.remove_prefix(kMark.size());
  dom::parser parser;
  dom::element root;
  bool marked = false;
  const auto first = parser.parse(simdjson::padded_string(text)).get(root);
  if (first) {
    marked = true;
    const auto second = parser.parse(simdjson::padded_string(marked_json(text))).get(root);
    if (second) refuse(text, where, first, is_file);
  }
  return Reader{marked}.setting_of(root, where, {});
}

Settings object_of(Setting value, const std::string& where) {
  Settings* const settings = std::get_if<Settings>(&value.value);
  check(settings != nullptr, ErrorCode::kFormat, where, "expected a JSON object");
  return std::move(*settings);
}

/// Writes a value of any kind.
struct SettingWriter {
  JsonWriter& to;

  void operator()(std::nullptr_t) { to.literal("null"); }
  void operator()(bool value) { to.literal(value ? "true" : "false"); }
  void operator()(int64_t value) { to.literal(std::to_string(value)); }
  void operator()(double value) {
    if (!std::isfinite(value)) return to.literal("null");  // JSON has no infinity or NaN
    char digits[32];
    std::string number(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    if (number.find_first_of(".e") == number.npos) number += ".0";  // else it would be an integer
    to.literal(number);
  }
  void operator()(const std::string& value) { to.string(value); }
  void operator()(const Setting::List& list) {
    to.begin_list();
    for (const Setting& item : list) write(item);
    to.end_list();
  }
  void operator()(const Settings& settings) {
    to.begin_object();
    for (const auto& [key, value] : settings.entries()) {
      to.key(key);
      write(value);
    }
    to.end_object();
  }
  void write(const Setting& setting) { std::visit(*this, setting.value); }
};

}  // namespace

Setting parse_json_value(std::string_view text, const std::string& where) {
  return parse(text, where, false);
}
Settings parse_json(std::string_view text, const std::string& where) {
  return object_of(parse(text, where, false), where);
}

Setting read_json_value(const std::string& path) { return parse(read_text_file(path), path, true); }
Settings read_json(const std::string& path) { return object_of(read_json_value(path), path); }

std::string to_json(const Setting& value, int indent) {
  const bool lines = indent >= 0;
  JsonLayout layout;
  if (lines) {
    layout.entry_lines = true;
    layout.indent = "  ";
    layout.item_separator = ", ";
    layout.key_separator = ": ";
  }
  JsonWriter writer(layout, lines ? indent : 0);
  SettingWriter{writer}.write(value);
  return writer.text();
}

void write_json(const std::string& path, const Setting& value) {
  write_text_file(path, to_json(value) + "\n");
}

}  // namespace wick
