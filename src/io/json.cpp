#include "wick/io/json.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/file.h"
#include "io/json_text.h"

namespace wick {
namespace {

namespace dom = simdjson::dom;

Settings settings_of(dom::object object, const std::string& where);

/// Prefix of errors for the value of a key; the root value has no key.
std::string place(const std::string& where, std::string_view key) {
  return key.data() ? where + ": \"" + std::string(key) + "\"" : where;
}

Setting setting_of(dom::element element, const std::string& where, std::string_view key) {
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
      return std::string(std::string_view(element));
    case dom::element_type::ARRAY: {
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

Settings settings_of(dom::object object, const std::string& where) {
  std::vector<Settings::Entry> entries;
  for (const dom::key_value_pair field : object)
    entries.push_back({std::string(field.key), setting_of(field.value, where, field.key)});
  return Settings(where, std::move(entries));
}

/// Whether the text is an integer that int64_t cannot hold.
bool overflows(std::string_view text) {
  int64_t value;
  const auto end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc::result_out_of_range && result.ptr == end;
}

/// The text with ".0" behind integers beyond int64_t, which simdjson refuses from 2^64 on.
std::string with_large_reals(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    if (text[i] == '"') {
      for (i++; i < text.size() && text[i] != '"'; i++) i += text[i] == '\\';
      i = std::min(i + 1, text.size());
    } else if (const size_t end = text.find_first_not_of("0123456789+-.eE", i); end != i) {
      i = std::min(end, text.size());
    } else {
      i++;
    }
    const std::string_view part = text.substr(begin, i - begin);
    result += part;
    if (overflows(part)) result += ".0";
  }
  return result;
}

/// Writes JSON; line() starts the line of each entry.
struct Writer {
  std::string text;
  bool lines;

  void line(int level) {
    if (lines) (text += '\n').append(size_t(2 * level), ' ');
  }

  void operator()(std::nullptr_t, int) { text += "null"; }
  void operator()(bool value, int) { text += value ? "true" : "false"; }
  void operator()(int64_t value, int) { text += std::to_string(value); }
  void operator()(double value, int) {
    if (!std::isfinite(value)) return void(text += "null");  // JSON has no infinity or NaN
    char digits[32];
    const std::string_view number(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    text += number;
    if (number.find_first_of(".e") == number.npos) text += ".0";  // else it would be an integer
  }
  void operator()(const std::string& value, int) { text += json_quote(value); }
  void operator()(const Setting::List& list, int level) {
    text += '[';
    for (size_t i = 0; i < list.size(); i++) {
      if (i > 0) text += lines ? ", " : ",";
      write(list[i], level);
    }
    text += ']';
  }
  void operator()(const Settings& settings, int level) {
    text += '{';
    const char* comma = "";
    for (const auto& [key, value] : settings.entries()) {
      text += comma;
      line(level + 1);
      text += json_quote(key) + (lines ? ": " : ":");
      write(value, level + 1);
      comma = ",";
    }
    if (!settings.entries().empty()) line(level);
    text += '}';
  }
  void write(const Setting& setting, int level) {
    std::visit([&](const auto& value) { (*this)(value, level); }, setting.value);
  }
};

}  // namespace

Setting parse_json_value(std::string_view text, const std::string& where) {
  dom::parser parser;
  dom::element root;
  auto error = parser.parse(simdjson::padded_string(text)).get(root);
  if (error == simdjson::NUMBER_ERROR)
    error = parser.parse(simdjson::padded_string(with_large_reals(text))).get(root);
  check(!error, ErrorCode::kFormat, where, "expected JSON: ", simdjson::error_message(error));
  return setting_of(root, where, {});
}

Settings parse_json(std::string_view text, const std::string& where) {
  Setting value = parse_json_value(text, where);
  Settings* const settings = std::get_if<Settings>(&value.value);
  check(settings != nullptr, ErrorCode::kFormat, where, "expected a JSON object");
  return std::move(*settings);
}

Setting read_json_value(const std::string& path) {
  return parse_json_value(read_text_file(path), path);
}
Settings read_json(const std::string& path) { return parse_json(read_text_file(path), path); }

std::string to_json(const Setting& value, int indent) {
  Writer writer{{}, indent >= 0};
  writer.write(value, indent);
  return writer.text;
}

void write_json(const std::string& path, const Setting& value) {
  write_text_file(path, to_json(value) + "\n");
}

}  // namespace wick
