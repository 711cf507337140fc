// JSON Schema: documents to shapes. Source: JSON Schema 2020-12, core and validation, and of the
// drafts before it the names that it has replaced.
#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "text/grammar/schema_values.h"
#include "wick/base/error.h"

namespace wick::grammars {
namespace {

enum Kinds : unsigned {
  kNull = 1,
  kBoolean = 2,
  kNumber = 4,
  kString = 8,
  kArray = 16,
  kObject = 32,
  kInteger = 64,  // and not kNumber
  kAnything = 63,
};

enum class Meaning {
  kRead,         // by this file
  kAnnotation,   // allows all values
  kUnsupported,  // wick cannot hold values of the kinds to it
};
struct Keyword {
  std::string_view name;
  Meaning meaning;
  unsigned kinds = kAnything;  // of the values that it concerns
};
constexpr Keyword kKeywords[] = {
    {"$ref", Meaning::kRead},
    {"type", Meaning::kRead},
    {"enum", Meaning::kRead},
    {"const", Meaning::kRead},
    {"allOf", Meaning::kRead},
    {"anyOf", Meaning::kRead},
    {"oneOf", Meaning::kRead},
    {"minimum", Meaning::kRead},
    {"maximum", Meaning::kRead},
    {"exclusiveMinimum", Meaning::kRead},
    {"exclusiveMaximum", Meaning::kRead},
    {"multipleOf", Meaning::kRead},
    {"minLength", Meaning::kRead},
    {"maxLength", Meaning::kRead},
    {"pattern", Meaning::kRead},
    {"format", Meaning::kRead},
    {"items", Meaning::kRead},
    {"prefixItems", Meaning::kRead},
    {"additionalItems", Meaning::kRead},
    {"minItems", Meaning::kRead},
    {"maxItems", Meaning::kRead},
    {"uniqueItems", Meaning::kRead},
    {"properties", Meaning::kRead},
    {"patternProperties", Meaning::kRead},
    {"additionalProperties", Meaning::kRead},
    {"propertyNames", Meaning::kRead},
    {"required", Meaning::kRead},
    {"minProperties", Meaning::kRead},
    {"maxProperties", Meaning::kRead},
    {"not", Meaning::kUnsupported},
    {"if", Meaning::kUnsupported},
    {"$dynamicRef", Meaning::kUnsupported},
    {"$recursiveRef", Meaning::kUnsupported},
    {"contains", Meaning::kUnsupported, kArray},
    {"unevaluatedItems", Meaning::kUnsupported, kArray},
    {"dependentRequired", Meaning::kUnsupported, kObject},
    {"dependentSchemas", Meaning::kUnsupported, kObject},
    {"dependencies", Meaning::kUnsupported, kObject},
    {"unevaluatedProperties", Meaning::kUnsupported, kObject},
    // Of no effect without "if" and "contains".
    {"then", Meaning::kAnnotation},
    {"else", Meaning::kAnnotation},
    {"minContains", Meaning::kAnnotation},
    {"maxContains", Meaning::kAnnotation},
    {"$schema", Meaning::kAnnotation},
    {"$id", Meaning::kAnnotation},
    {"id", Meaning::kAnnotation},
    {"$anchor", Meaning::kAnnotation},
    {"$dynamicAnchor", Meaning::kAnnotation},
    {"$vocabulary", Meaning::kAnnotation},
    {"$comment", Meaning::kAnnotation},
    {"$defs", Meaning::kAnnotation},
    {"definitions", Meaning::kAnnotation},
    {"title", Meaning::kAnnotation},
    {"description", Meaning::kAnnotation},
    {"default", Meaning::kAnnotation},
    {"example", Meaning::kAnnotation},
    {"examples", Meaning::kAnnotation},
    {"deprecated", Meaning::kAnnotation},
    {"readOnly", Meaning::kAnnotation},
    {"writeOnly", Meaning::kAnnotation},
    {"contentEncoding", Meaning::kAnnotation},
    {"contentMediaType", Meaning::kAnnotation},
    {"contentSchema", Meaning::kAnnotation},
    // Of OpenAPI.
    {"discriminator", Meaning::kAnnotation},
    {"externalDocs", Meaning::kAnnotation},
    {"xml", Meaning::kAnnotation},
};

const Keyword* find_keyword(std::string_view name) {
  const auto at = std::find_if(std::begin(kKeywords), std::end(kKeywords),
                               [&](const Keyword& keyword) { return keyword.name == name; });
  return at == std::end(kKeywords) ? nullptr : at;
}
bool is_annotation(std::string_view name) {
  const Keyword* const keyword = find_keyword(name);
  return keyword ? keyword->meaning == Meaning::kAnnotation : name.starts_with("x-");
}

const Setting kNullValue = nullptr, kTrueValue = true, kFalseValue = false;

template <class T>
const T* get(const Setting& setting) {
  return std::get_if<T>(&setting.value);
}

/// A name as part of a JSON Pointer; RFC 6901.
std::string pointer_part(std::string_view name) {
  std::string part = "/";
  for (const char c : name) part += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return part;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

std::optional<std::string> percent_decoded(std::string_view text) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  std::string decoded;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? digit(text[i + 1]) : -1,
              low = high >= 0 ? digit(text[i + 2]) : -1;
    if (low < 0) return {};
    decoded += char(high * 16 + low);
    i += 2;
  }
  return decoded;
}

/// Checks the depth of the document and that its strings are UTF-8.
void check_document(const Setting& setting, const Syntax& syntax, Budget& budget, int depth = 0) {
  constexpr int kMaxDepth = 256;
  if (depth > kMaxDepth) syntax.fail_size(std::to_string(kMaxDepth) + " levels");
  budget.spend();
  const auto check_text = [&](const std::string& text) {
    check(is_utf8(text), ErrorCode::kFormat, syntax.where(), "expected UTF-8");
  };
  if (const auto* text = get<std::string>(setting)) check_text(*text);
  if (const auto* real = get<double>(setting))
    check(std::isfinite(*real), ErrorCode::kFormat, syntax.where(), "expected JSON, got ", *real);
  if (const auto* list = get<Setting::List>(setting))
    for (const Setting& item : *list) check_document(item, syntax, budget, depth + 1);
  if (const auto* group = get<Settings>(setting))
    for (const auto& [name, value] : group->entries()) {
      check_text(name);
      check_document(value, syntax, budget, depth + 1);
    }
}

}  // namespace

// Schemas and errors.

SchemaReader::SchemaReader(const Setting& document, Syntax& syntax)
    : syntax_(syntax), budget_(syntax) {
  check_document(document, syntax, budget_);
  add(document, "");
}

AllOf SchemaReader::root() {
  AllOf all;
  add_to(all, 0);
  return all;
}

SchemaId SchemaReader::add(const Setting& schema, const std::string& pointer) {
  const auto [at, is_new] = ids_.try_emplace(&schema, SchemaId(schemas_.size()));
  if (is_new) {
    budget_.spend(16 + pointer.size());
    schemas_.push_back({.setting = &schema, .pointer = pointer});
  }
  return at->second;
}

SchemaId SchemaReader::never() { return add(kFalseValue, ""); }

SchemaId SchemaReader::add_part(SchemaId of, std::string_view key, const Setting& schema) {
  return add(schema, schemas_[of].pointer + std::string(key));
}

/// "json schema: #/properties/a/minimum".
std::string SchemaReader::where(SchemaId id, std::string_view key) const {
  return syntax_.where() + ": #" + schemas_[id].pointer + (key.empty() ? "" : pointer_part(key));
}

template <class... Parts>
void SchemaReader::fail_format(SchemaId id, std::string_view key, const Parts&... parts) const {
  fail(ErrorCode::kFormat, where(id, key), parts...);
}

void SchemaReader::fail_unsupported(const std::string& where, const std::string& text) const {
  fail(ErrorCode::kUnsupported, where, text);
}

const Setting::List& SchemaReader::list_of(SchemaId id, std::string_view key,
                                           const Setting& value) const {
  if (const auto* list = get<Setting::List>(value)) return *list;
  fail_format(id, key, "expected a list, got ", describe(value));
}
const Settings& SchemaReader::group_of(SchemaId id, std::string_view key,
                                       const Setting& value) const {
  if (const auto* group = get<Settings>(value)) return *group;
  fail_format(id, key, "expected an object, got ", describe(value));
}
std::string_view SchemaReader::text_of(SchemaId id, std::string_view key,
                                       const Setting& value) const {
  if (const auto* text = get<std::string>(value)) return *text;
  fail_format(id, key, "expected a string, got ", describe(value));
}

void SchemaReader::read_counts(SchemaId id, const Settings& keywords, std::string_view min,
                               std::string_view max, uint32_t& low, uint32_t& high) const {
  const auto read = [&](std::string_view key, uint32_t otherwise) {
    const Setting* const value = find_entry(keywords, key);
    if (!value) return otherwise;
    const auto count = number_of(*value);
    if (!count || *count < 0 || *count != std::floor(*count))
      fail_format(id, key, "expected a count, got ", describe(*value));
    return uint32_t(std::min<long double>(*count, kUnbounded));
  };
  low = read(min, 0);
  high = read(max, kUnbounded);
  if (low == kUnbounded) fail_unsupported(where(id, min), "a count of 2^32 or more");
}

// References.

SchemaId SchemaReader::target_of(SchemaId from, const Setting& reference) {
  constexpr std::string_view kKey = "$ref";
  const std::string_view text = text_of(from, kKey, reference);
  if (text != "#" && !text.starts_with("#/"))
    fail_unsupported(where(from, kKey), "\"" + std::string(text) +
                                            "\": wick supports references within the schema alone, "
                                            "\"#\" and \"#/...\"");
  const std::optional<std::string> path = percent_decoded(text.substr(1));
  if (!path) fail_format(from, kKey, "\"", text, "\" has a \"%\" without two hexadecimal digits");
  const Setting* at = schemas_[0].setting;
  budget_.spend(path->size());
  for (size_t begin = 1; begin <= path->size() && !path->empty();) {
    const size_t end = std::min(path->find('/', begin), path->size());
    std::string name = path->substr(begin, end - begin);
    replace_all(name, "~1", "/");
    replace_all(name, "~0", "~");
    const Setting* next = nullptr;
    if (const auto* group = get<Settings>(*at)) {
      budget_.spend(group->entries().size());
      next = find_entry(*group, name);
    } else if (const auto* list = get<Setting::List>(*at)) {
      const bool is_index = !name.empty() && name.size() < 10 &&
                            name.find_first_not_of("0123456789") == std::string::npos;
      if (is_index && std::stoul(name) < list->size()) next = &(*list)[std::stoul(name)];
    }
    if (!next) fail_format(from, kKey, "\"", text, "\" names no place of the schema");
    at = next;
    begin = end + 1;
  }
  return add(*at, *path);
}

/// The schema that a chain of references leads to.
SchemaId SchemaReader::without_detours(SchemaId id) {
  for (int i = 0; i < 100; i++) {
    const auto* keywords = get<Settings>(*schemas_[id].setting);
    const Setting* const reference = keywords ? find_entry(*keywords, "$ref") : nullptr;
    if (!reference ||
        !std::all_of(keywords->entries().begin(), keywords->entries().end(), [](const auto& entry) {
          return entry.first == "$ref" || is_annotation(entry.first);
        }))
      break;
    id = target_of(id, *reference);
  }
  return id;
}

void SchemaReader::add_to(AllOf& all, SchemaId id) {
  id = without_detours(id);
  const Setting& schema = *schemas_[id].setting;
  if (const auto* flag = get<bool>(schema); flag && *flag) return;
  if (const auto* keywords = get<Settings>(schema);
      keywords && std::all_of(keywords->entries().begin(), keywords->entries().end(),
                              [](const auto& entry) { return is_annotation(entry.first); }))
    return;
  join(all, {id});
}

AllOf SchemaReader::all_of(SchemaId of, std::string_view key, const Setting& schema) {
  AllOf all;
  add_to(all, add_part(of, key, schema));
  return all;
}

// Keywords.

const Shapes& SchemaReader::shapes(const AllOf& all) {
  budget_.spend(1 + all.size());
  const auto known = shapes_.find(all);
  if (known != shapes_.end()) return known->second;
  Shapes result;
  if (all.empty()) {
    result = shapes_of(add(kTrueValue, ""));
  } else {
    result = shapes_of(all[0]);
    for (size_t i = 1; i < all.size(); i++) result = both(result, shapes_of(all[i]));
  }
  return shapes_.emplace(all, std::move(result)).first->second;
}

const Shapes& SchemaReader::shapes_of(SchemaId id) {
  Schema& schema = schemas_[id];
  if (schema.shapes) return *schema.shapes;
  if (schema.is_open) {
    if (never_depth_ > 0) throw Unknown();
    fail_format(id, "", "the schema refers to itself for the same value");
  }
  struct Open {
    bool& flag;
    explicit Open(bool& f) : flag(f) { flag = true; }
    ~Open() { flag = false; }
  };
  const Open open(schema.is_open);
  schema.shapes = read(id);
  return *schema.shapes;
}

unsigned SchemaReader::read_kinds(SchemaId id, const Settings& keywords) {
  constexpr std::pair<std::string_view, unsigned> kNames[] = {
      {"null", kNull},     {"boolean", kBoolean}, {"number", kNumber}, {"integer", kInteger},
      {"string", kString}, {"array", kArray},     {"object", kObject}};
  const Setting* const type = find_entry(keywords, "type");
  if (!type) return kAnything;
  unsigned kinds = 0;
  const auto add_kind = [&](const Setting& name) {
    const std::string_view text = text_of(id, "type", name);
    const auto known = std::find_if(std::begin(kNames), std::end(kNames),
                                    [&](const auto& kind) { return kind.first == text; });
    if (known == std::end(kNames))
      fail_format(id, "type",
                  "expected null, boolean, number, integer, string, array or object, got \"", text,
                  "\"");
    kinds |= known->second;
  };
  if (const auto* list = get<Setting::List>(*type))
    for (const Setting& name : *list) add_kind(name);
  else
    add_kind(*type);
  return kinds & kNumber ? kinds & ~unsigned(kInteger) : kinds;
}

void SchemaReader::check_keywords(SchemaId id, const Settings& keywords, unsigned kinds) {
  if (kinds & kInteger) kinds |= kNumber;  // by which keywords name integers too
  for (const auto& [name, value] : keywords.entries()) {
    if (is_annotation(name)) continue;
    const Keyword* const keyword = find_keyword(name);
    if (!keyword || (keyword->meaning == Meaning::kUnsupported && (keyword->kinds & kinds)))
      fail_unsupported(where(id, name), "the keyword is not supported");
  }
}

Shapes SchemaReader::read(SchemaId id) {
  const Setting& schema = *schemas_[id].setting;
  budget_.spend(16);
  static const Settings kNoKeywords;
  const Settings* keywords = get<Settings>(schema);
  if (const auto* flag = get<bool>(schema)) {
    if (!*flag) return {};
    keywords = &kNoKeywords;
  }
  if (!keywords) fail_format(id, "", "expected an object, true or false, got ", describe(schema));
  const unsigned kinds = read_kinds(id, *keywords);
  check_keywords(id, *keywords, kinds);

  Shapes result;
  if (kinds & kNull) result.emplace_back(&kNullValue);
  if (kinds & kBoolean) {
    result.emplace_back(&kTrueValue);
    result.emplace_back(&kFalseValue);
  }
  if (kinds & (kNumber | kInteger)) {
    NumberRange number = read_number(id, *keywords);
    number.is_integer = number.is_integer || (kinds & kInteger);
    if (!number.empty()) result.emplace_back(number);
  }
  const auto add_shape = [&](auto shape) {
    if (shape.min <= shape.max) result.emplace_back(std::move(shape));
  };
  if (kinds & kString) add_shape(read_string(id, *keywords));
  if (kinds & kArray) add_shape(read_array(id, *keywords));
  if (kinds & kObject) add_shape(read_object(id, *keywords));
  result = read_literals(id, *keywords, result);

  if (const Setting* const reference = find_entry(*keywords, "$ref"))
    result = both(result, shapes_of(target_of(id, *reference)));
  if (const Setting* const list = find_entry(*keywords, "allOf")) {
    const auto& parts = list_of(id, "allOf", *list);
    for (size_t i = 0; i < parts.size(); i++)
      result = both(result, shapes_of(add_part(id, "/allOf/" + std::to_string(i), parts[i])));
  }
  for (const std::string_view key : {"anyOf", "oneOf"})
    if (const Setting* const list = find_entry(*keywords, key))
      result = read_branches(id, key, *list, result);
  return result;
}

/// The values of "const" and "enum" that the base has.
Shapes SchemaReader::read_literals(SchemaId id, const Settings& keywords, const Shapes& base) {
  Shapes result = base;
  const auto keep = [&](const Setting* first, size_t count) {
    Shapes kept;
    for (size_t i = 0; i < count; i++) {
      budget_.spend(result.size() + 1);
      if (std::any_of(result.begin(), result.end(),
                      [&](const Shape& shape) { return holds(first[i], shape); }))
        kept.emplace_back(first + i);
    }
    result = std::move(kept);
  };
  if (const Setting* const list = find_entry(keywords, "enum")) {
    const auto& values = list_of(id, "enum", *list);
    keep(values.data(), values.size());
  }
  if (const Setting* const value = find_entry(keywords, "const")) keep(value, 1);
  return result;
}

Shapes SchemaReader::read_branches(SchemaId id, std::string_view key, const Setting& list,
                                   const Shapes& base) {
  std::vector<Shapes> branches;
  const auto& parts = list_of(id, key, list);
  for (size_t i = 0; i < parts.size(); i++)
    branches.push_back(
        both(base, shapes_of(add_part(id, pointer_part(key) + "/" + std::to_string(i), parts[i]))));
  if (key == "oneOf") check_disjoint(branches, id);
  Shapes result;
  for (Shapes& branch : branches)
    std::move(branch.begin(), branch.end(), std::back_inserter(result));
  return result;
}

NumberRange SchemaReader::read_number(SchemaId id, const Settings& keywords) {
  NumberRange range;
  const auto read = [&](std::string_view key) -> std::optional<long double> {
    const Setting* const value = find_entry(keywords, key);
    if (!value) return {};
    const auto number = number_of(*value);
    if (!number) fail_format(id, key, "expected a number, got ", describe(*value));
    return number;
  };
  /// A boolean, as of draft 4: whether the bound itself is excluded.
  const auto excludes = [&](std::string_view key) {
    const Setting* const value = find_entry(keywords, key);
    const auto* flag = value ? get<bool>(*value) : nullptr;
    return flag && *flag;
  };
  const auto read_exclusive = [&](std::string_view key) -> std::optional<long double> {
    const Setting* const value = find_entry(keywords, key);
    return value && get<bool>(*value) ? std::optional<long double>() : read(key);
  };
  range.min = read("minimum");
  range.max = read("maximum");
  range.excludes_min = range.min && excludes("exclusiveMinimum");
  range.excludes_max = range.max && excludes("exclusiveMaximum");
  if (const auto min = read_exclusive("exclusiveMinimum");
      min && (!range.min || *min >= *range.min))
    range.min = min, range.excludes_min = true;
  if (const auto max = read_exclusive("exclusiveMaximum");
      max && (!range.max || *max <= *range.max))
    range.max = max, range.excludes_max = true;
  if (const auto factor = read("multipleOf")) {
    if (*factor <= 0) fail_format(id, "multipleOf", "expected a number above 0");
    if (*factor != 1)
      fail_unsupported(where(id, "multipleOf"), "the keyword is not supported, except for 1");
    range.is_integer = true;
  }
  return range;
}

StringShape SchemaReader::read_string(SchemaId id, const Settings& keywords) {
  StringShape string;
  read_counts(id, keywords, "minLength", "maxLength", string.min, string.max);
  if (const Setting* const regex = find_entry(keywords, "pattern"))
    string.patterns.push_back({text_of(id, "pattern", *regex), where(id, "pattern"), false});
  if (const Setting* const format = find_entry(keywords, "format")) {
    const std::string_view name = text_of(id, "format", *format);
    const auto regex = format_regex(name);
    if (!regex)
      fail_unsupported(where(id, "format"),
                       "the format \"" + std::string(name) + "\" is not supported");
    if (!regex->empty()) string.patterns.push_back({*regex, where(id, "format"), true});
  }
  return string;
}

ArrayShape SchemaReader::read_array(SchemaId id, const Settings& keywords) {
  ArrayShape array;
  read_counts(id, keywords, "minItems", "maxItems", array.min, array.max);
  const Setting* items = find_entry(keywords, "items");
  const Setting* prefix = find_entry(keywords, "prefixItems");
  std::string_view prefix_key = "prefixItems", items_key = "items";
  if (items && get<Setting::List>(*items)) {  // the drafts before 2020-12
    if (prefix) fail_format(id, "items", "expected a schema beside prefixItems, got a list");
    prefix = items;
    prefix_key = "items";
    items_key = "additionalItems";
    items = find_entry(keywords, "additionalItems");
  }
  if (prefix) {
    const auto& list = list_of(id, prefix_key, *prefix);
    for (size_t i = 0; i < list.size(); i++)
      array.prefix.push_back(
          all_of(id, pointer_part(prefix_key) + "/" + std::to_string(i), list[i]));
  }
  if (items) array.items = all_of(id, pointer_part(items_key), *items);
  if (const Setting* const unique = find_entry(keywords, "uniqueItems")) {
    const auto* flag = get<bool>(*unique);
    if (!flag) fail_format(id, "uniqueItems", "expected true or false, got ", describe(*unique));
    if (*flag && array.max > 1)
      fail_unsupported(where(id, "uniqueItems"), "the keyword is not supported");
  }
  return array;
}

ObjectShape SchemaReader::read_object(SchemaId id, const Settings& keywords) {
  ObjectShape object;
  read_counts(id, keywords, "minProperties", "maxProperties", object.min, object.max);
  ObjectLayer layer;
  bool is_needed = false;
  if (const Setting* const properties = find_entry(keywords, "properties")) {
    is_needed = true;
    for (const auto& [name, schema] : group_of(id, "properties", *properties).entries()) {
      layer.names.push_back(name);
      layer.properties[name] = all_of(id, "/properties" + pointer_part(name), schema);
    }
  }
  if (const Setting* const patterns = find_entry(keywords, "patternProperties")) {
    is_needed = true;
    for (const auto& [regex, schema] : group_of(id, "patternProperties", *patterns).entries())
      layer.patterns.push_back(
          {{regex, where(id, "patternProperties") + pointer_part(regex), false},
           all_of(id, "/patternProperties" + pointer_part(regex), schema)});
  }
  if (const Setting* const schema = find_entry(keywords, "additionalProperties")) {
    is_needed = true;
    layer.additional = all_of(id, "/additionalProperties", *schema);
  }
  if (is_needed) {
    layers_.push_back(std::move(layer));
    object.layers.push_back(&layers_.back());
  }
  if (const Setting* const names = find_entry(keywords, "propertyNames"))
    object.names = all_of(id, "/propertyNames", *names);
  if (const Setting* const required = find_entry(keywords, "required")) {
    if (get<bool>(*required))
      fail_format(id, "required", "expected a list of names, got ", describe(*required));
    for (const Setting& name : list_of(id, "required", *required))
      object.required.push_back(text_of(id, "required", name));
  }
  return object;
}

}  // namespace wick::grammars
