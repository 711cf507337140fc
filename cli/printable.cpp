#include "printable.h"

#include <charconv>

#include "controls.h"
#include "report.h"
#include "wick/io/json.h"

namespace wick::cli {
namespace {

constexpr size_t kFirst = 8;        // values that stand for a long list
constexpr size_t kShownValues = 4;  // in the text form
constexpr size_t kShownBytes = 60;  // of a string in the text form

/// Adds a description of a value; one overload for each kind.
struct Shower {
  std::string operator()(const std::string& text) const {
    if (text.size() <= kShownBytes) return quoted(text);
    size_t cut = kShownBytes;
    while (cut > 0 && (uint8_t(text[cut]) & 0xc0) == 0x80) cut--;  // between characters
    return quoted(text.substr(0, cut)) + "... (" + grouped(int64_t(text.size())) + " bytes)";
  }
  std::string operator()(double value) const {
    // A value that came from an f32 has the digits of one.
    char digits[32];
    const auto end = double(float(value)) == value
                         ? std::to_chars(digits, digits + sizeof digits, float(value))
                         : std::to_chars(digits, digits + sizeof digits, value);
    return {digits, end.ptr};
  }
  std::string operator()(const Setting::List& list) const {
    std::string text = "[";
    for (size_t i = 0; i < list.size() && i < kShownValues; i++)
      text += (i ? ", " : "") + shown(list[i]);
    if (list.size() <= kShownValues) return text + "]";
    return text + ", ...] (" + grouped(int64_t(list.size())) + ")";
  }
  std::string operator()(const Settings& settings) const {
    return "{" + grouped(int64_t(settings.entries().size())) + " entries}";
  }
  template <class T>
  std::string operator()(const T& value) const {
    return to_json(value, -1);
  }

  static std::string quoted(const std::string& text) { return to_json(text, -1); }
};

}  // namespace

std::string printable(std::string_view text) {
  const std::string quoted = to_json(std::string(text), -1);
  std::string plain;
  for (size_t i = 1; i + 1 < quoted.size(); i++) {
    if (quoted[i] == '\\' && (quoted[i + 1] == '"' || quoted[i + 1] == '\\')) i++;
    plain += quoted[i];
  }
  return escaped_controls(plain);
}

std::string shown(const Setting& value) { return std::visit(Shower{}, value.value); }

Setting shortened(const Setting& value) {
  if (const auto* list = std::get_if<Setting::List>(&value.value)) {
    Setting::List first;
    for (size_t i = 0; i < list->size() && i < kFirst; i++) first.push_back(shortened((*list)[i]));
    if (list->size() <= kFirst) return first;
    Settings some;
    some.set("length", int64_t(list->size())).set("first", std::move(first));
    return some;
  }
  if (const auto* settings = std::get_if<Settings>(&value.value)) {
    std::vector<Settings::Entry> entries;
    for (const auto& [key, entry] : settings->entries()) entries.push_back({key, shortened(entry)});
    return Settings(settings->where(), std::move(entries));
  }
  return value;
}

}  // namespace wick::cli
