#include "doctor/known_bad.h"

#include <cctype>

#include "doctor/files.h"
#include "wick/io/json.h"

namespace wick::doctor {
namespace {

Severity severity_of(const Settings& entry) {
  const std::string name = entry.text("severity");
  for (const Severity severity : {Severity::kNote, Severity::kWarning, Severity::kProblem})
    if (name == to_string(severity)) return severity;
  entry.fail_expected("severity", "note, warning or problem");
}

const Setting::List& list_of(const Settings& all, const char* key) {
  const Setting* const value = all.find(key);
  const auto* const list = value ? std::get_if<Setting::List>(&value->value) : nullptr;
  if (!list) all.fail_expected(key, "a list");
  return *list;
}

/// An object of a list, by whose id errors name it.
Settings entry_of(const Setting& item, const char* id_key) {
  const auto* const object = std::get_if<Settings>(&item.value);
  check(object, ErrorCode::kFormat, "known_bad.json", "expected an object, got ", describe(item));
  return Settings("known_bad.json: " + object->text(id_key), object->entries());
}

KnownBad version_of(const Settings& entry) {
  KnownBad bad;
  bad.id = entry.text("id");
  bad.severity = severity_of(entry);
  bad.architectures = entry.texts("architectures");
  bad.min_cards = int(entry.integer_or("min_cards", 1, 1));
  bad.component = entry.text("component");
  bad.from = entry.text_or("from", "");
  bad.below = entry.text_or("below", "");
  bad.exact = entry.texts("exact");
  bad.variable = entry.text_or("variable", "");
  bad.value_has = entry.text_or("value_has", "");
  bad.problem = entry.text("problem");
  bad.cure = entry.text("cure");
  bad.sources = entry.texts("sources");
  return bad;
}

BadVariable variable_of(const Settings& entry) {
  BadVariable bad;
  bad.name = entry.text("name");
  bad.severity = severity_of(entry);
  bad.values = entry.texts("values");
  bad.backend = entry.text_or("backend", "");
  bad.problem = entry.text("problem");
  bad.cure = entry.text("cure");
  bad.sources = entry.texts("sources");
  return bad;
}

/// The numbers of a version up to its first other part: 6, 17, 0, 14 of "6.17.0-14-generic".
std::vector<int64_t> numbers_of(const std::string& version) {
  if (version.starts_with("0x")) return {parse_number(version, 16).value_or(0)};
  std::vector<int64_t> numbers;
  std::string digits;
  for (const char c : version + ".") {
    if (std::isdigit(static_cast<unsigned char>(c))) {
      digits += c;
      continue;
    }
    if (digits.empty()) break;
    numbers.push_back(parse_number(digits).value_or(0));
    digits.clear();
    if (c != '.' && c != '-') break;
  }
  return numbers;
}

}  // namespace

KnownBadList parse_known_bad(std::string_view text) {
  const Settings all = parse_json(text, "known_bad.json");
  KnownBadList list;
  for (const Setting& item : list_of(all, "versions"))
    list.versions.push_back(version_of(entry_of(item, "id")));
  for (const Setting& item : list_of(all, "variables"))
    list.variables.push_back(variable_of(entry_of(item, "name")));
  return list;
}

const KnownBadList& known_bad_list() {
  static const KnownBadList list = parse_known_bad(kKnownBadText);
  return list;
}

int compare_versions(const std::string& a, const std::string& b) {
  std::vector<int64_t> x = numbers_of(a), y = numbers_of(b);
  x.resize(std::max(x.size(), y.size()));
  y.resize(x.size());
  return x < y ? -1 : x > y ? 1 : 0;
}

}  // namespace wick::doctor
