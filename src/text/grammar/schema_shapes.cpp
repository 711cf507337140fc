// JSON Schema: intersections of shapes, and whether a value or any value is one of theirs.
#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "text/grammar/schema_values.h"
#include "wick/base/error.h"

namespace wick::grammars {
namespace {

template <class T>
const T* get(const Setting& setting) {
  return std::get_if<T>(&setting.value);
}

AllOf joined(AllOf left, const AllOf& right) {
  join(left, right);
  return left;
}

const AllOf& item_of(const ArrayShape& array, size_t index) {
  return index < array.prefix.size() ? array.prefix[index] : array.items;
}

}  // namespace

void join(AllOf& all, const AllOf& more) {
  AllOf joined;
  std::set_union(all.begin(), all.end(), more.begin(), more.end(), std::back_inserter(joined));
  all = std::move(joined);
}

std::optional<long double> number_of(const Setting& value) {
  if (const auto* integer = get<int64_t>(value)) return *integer;
  if (const auto* real = get<double>(value)) return *real;
  return {};
}

const Setting* find_entry(const Settings& settings, std::string_view name) {
  const auto& entries = settings.entries();
  const auto at = std::find_if(entries.begin(), entries.end(),
                               [&](const auto& entry) { return entry.first == name; });
  return at == entries.end() ? nullptr : &at->second;
}

bool is_equal(const Setting& left, const Setting& right) {
  const auto a = number_of(left), b = number_of(right);
  if (a || b) return a && b && *a == *b;
  if (left.value.index() != right.value.index()) return false;
  if (const auto* list = get<Setting::List>(left)) {
    const auto& other = std::get<Setting::List>(right.value);
    return std::equal(list->begin(), list->end(), other.begin(), other.end(), is_equal);
  }
  if (const auto* group = get<Settings>(left)) {
    const auto& other = std::get<Settings>(right.value);
    return group->entries().size() == other.entries().size() &&
           std::all_of(group->entries().begin(), group->entries().end(), [&](const auto& entry) {
             const Setting* const same = find_entry(other, entry.first);
             return same && is_equal(entry.second, *same);
           });
  }
  if (const auto* text = get<std::string>(left)) return *text == std::get<std::string>(right.value);
  if (const auto* flag = get<bool>(left)) return *flag == std::get<bool>(right.value);
  return true;
}

bool NumberRange::contains(long double value) const {
  if (is_integer && value != std::floor(value)) return false;
  if (min && (excludes_min ? value <= *min : value < *min)) return false;
  return !max || (excludes_max ? value < *max : value <= *max);
}

bool NumberRange::empty() const {
  if (!min || !max) return false;
  if (!is_integer) return *min > *max || (*min == *max && (excludes_min || excludes_max));
  const long double first = excludes_min ? std::floor(*min) + 1 : std::ceil(*min),
                    last = excludes_max ? std::ceil(*max) - 1 : std::floor(*max);
  return first > last;
}

Shapes SchemaReader::both(const Shapes& left, const Shapes& right) {
  Shapes result;
  for (const Shape& a : left)
    for (const Shape& b : right)
      if (std::optional<Shape> common = both(a, b)) result.push_back(std::move(*common));
  return result;
}

std::optional<Shape> SchemaReader::both(const Shape& left, const Shape& right) {
  budget_.spend();
  if (const auto* literal = std::get_if<const Setting*>(&left)) {
    if (!holds(**literal, right)) return {};
    return left;
  }
  if (const auto* literal = std::get_if<const Setting*>(&right)) {
    if (!holds(**literal, left)) return {};
    return right;
  }
  if (left.index() != right.index()) return {};
  budget_.spend(64);
  if (const auto* a = std::get_if<NumberRange>(&left)) {
    const auto& b = std::get<NumberRange>(right);
    NumberRange range = *a;
    range.is_integer = a->is_integer || b.is_integer;
    if (b.min && (!a->min || *b.min > *a->min))
      range.min = b.min, range.excludes_min = b.excludes_min;
    else if (b.min && *b.min == *a->min)
      range.excludes_min = a->excludes_min || b.excludes_min;
    if (b.max && (!a->max || *b.max < *a->max))
      range.max = b.max, range.excludes_max = b.excludes_max;
    else if (b.max && *b.max == *a->max)
      range.excludes_max = a->excludes_max || b.excludes_max;
    if (range.empty()) return {};
    return range;
  }
  if (const auto* a = std::get_if<StringShape>(&left)) {
    const auto& b = std::get<StringShape>(right);
    StringShape string = *a;
    string.min = std::max(a->min, b.min);
    string.max = std::min(a->max, b.max);
    for (const StringPattern& pattern : b.patterns)
      if (std::count(string.patterns.begin(), string.patterns.end(), pattern) == 0)
        string.patterns.push_back(pattern);
    if (string.min > string.max) return {};
    return string;
  }
  if (const auto* a = std::get_if<ArrayShape>(&left)) {
    const auto& b = std::get<ArrayShape>(right);
    ArrayShape array{.prefix = {},
                     .items = joined(a->items, b.items),
                     .min = std::max(a->min, b.min),
                     .max = std::min(a->max, b.max)};
    for (size_t i = 0; i < std::max(a->prefix.size(), b.prefix.size()); i++) {
      budget_.spend();
      array.prefix.push_back(joined(item_of(*a, i), item_of(b, i)));
    }
    if (array.min > array.max) return {};
    return array;
  }
  const auto &a = std::get<ObjectShape>(left), &b = std::get<ObjectShape>(right);
  ObjectShape object = a;
  budget_.spend(a.layers.size() + b.layers.size() + a.required.size() + b.required.size());
  for (const ObjectLayer* layer : b.layers)
    if (std::count(object.layers.begin(), object.layers.end(), layer) == 0)
      object.layers.push_back(layer);
  object.required.insert(object.required.end(), b.required.begin(), b.required.end());
  join(object.names, b.names);
  object.min = std::max(a.min, b.min);
  object.max = std::min(a.max, b.max);
  if (object.min > object.max) return {};
  return object;
}

void SchemaReader::check_disjoint(const std::vector<Shapes>& branches, SchemaId id) {
  for (size_t j = 0; j < branches.size(); j++)
    for (size_t i = 0; i < j; i++)
      for (const Shape& left : branches[i])
        for (const Shape& right : branches[j]) {
          const std::optional<Shape> common = both(left, right);
          if (!common || is_never(*common, 0)) continue;
          fail_unsupported(where(id, "oneOf"),
                           "schemas " + std::to_string(i) + " and " + std::to_string(j) +
                               " may allow the same value; wick supports \"oneOf\" if types, "
                               "constants or required properties tell its schemas apart");
        }
}

bool SchemaReader::holds(const Setting& value, const AllOf& all) {
  const Shapes& options = shapes(all);
  return std::any_of(options.begin(), options.end(),
                     [&](const Shape& shape) { return holds(value, shape); });
}

bool SchemaReader::holds(const Setting& value, const Shape& shape) {
  budget_.spend();
  if (const auto* literal = std::get_if<const Setting*>(&shape)) return is_equal(value, **literal);
  if (const auto* range = std::get_if<NumberRange>(&shape)) {
    const auto number = number_of(value);
    return number && range->contains(*number);
  }
  if (const auto* string = std::get_if<StringShape>(&shape)) {
    const auto* text = get<std::string>(value);
    if (!text) return false;
    budget_.spend(text->size());
    const int64_t length = count_code_points(*text);
    return length >= string->min && length <= string->max &&
           std::all_of(string->patterns.begin(), string->patterns.end(),
                       [&](const StringPattern& p) { return text_set(p).contains(*text); });
  }
  if (const auto* array = std::get_if<ArrayShape>(&shape)) {
    const auto* list = get<Setting::List>(value);
    if (!list || list->size() < array->min || list->size() > array->max) return false;
    for (size_t i = 0; i < list->size(); i++)
      if (!holds((*list)[i], item_of(*array, i))) return false;
    return true;
  }
  const auto* group = get<Settings>(value);
  return group && holds(*group, std::get<ObjectShape>(shape));
}

bool SchemaReader::holds(const Settings& value, const ObjectShape& object) {
  const size_t count = value.entries().size();
  budget_.spend(count * (object.required.size() + 1));
  if (count < object.min || count > object.max) return false;
  for (const std::string_view name : object.required)
    if (!find_entry(value, name)) return false;
  return std::all_of(value.entries().begin(), value.entries().end(), [&](const auto& entry) {
    return holds(entry.second, property(object, entry.first));
  });
}

bool SchemaReader::is_never(const AllOf& all, int depth) {
  if (all.empty()) return false;
  struct Count {
    int& depth;
    explicit Count(int& d) : depth(d) { depth++; }
    ~Count() { depth--; }
  };
  const bool is_outermost = never_depth_ == 0;
  const Count count(never_depth_);
  try {
    const Shapes& options = shapes(all);
    return std::all_of(options.begin(), options.end(),
                       [&](const Shape& shape) { return is_never(shape, depth); });
  } catch (const Unknown&) {
    if (!is_outermost) throw;
    return false;
  }
}

bool SchemaReader::is_never(const Shape& shape, int depth) {
  constexpr int kMaxDepth = 4;
  budget_.spend();
  if (const auto* range = std::get_if<NumberRange>(&shape)) return range->empty();
  if (const auto* string = std::get_if<StringShape>(&shape))
    return !string->patterns.empty() && text_set(*string)->empty();
  if (depth == kMaxDepth) return false;
  if (const auto* array = std::get_if<ArrayShape>(&shape)) {
    for (size_t i = 0; i < std::min<size_t>(array->min, array->prefix.size() + 1); i++)
      if (is_never(item_of(*array, i), depth + 1)) return true;
    return false;
  }
  if (const auto* object = std::get_if<ObjectShape>(&shape))
    return std::any_of(object->required.begin(), object->required.end(), [&](const auto name) {
      return is_never(property(*object, name), depth + 1);
    });
  return false;
}

// Properties and texts.

std::vector<std::string_view> SchemaReader::names(const ObjectShape& object) {
  std::vector<std::string_view> result;
  std::unordered_map<std::string_view, bool> seen;
  const auto add_name = [&](std::string_view name) {
    budget_.spend();
    if (seen.emplace(name, true).second) result.push_back(name);
  };
  for (const ObjectLayer* layer : object.layers)
    for (const std::string_view name : layer->names) add_name(name);
  for (const std::string_view name : object.required) add_name(name);
  return result;
}

AllOf SchemaReader::property(const ObjectShape& object, std::string_view name) {
  AllOf all;
  for (const ObjectLayer* layer : object.layers) {
    budget_.spend(1 + layer->patterns.size() * name.size());
    const auto declared = layer->properties.find(name);
    bool is_known = declared != layer->properties.end();
    if (is_known) join(all, declared->second);
    for (const ObjectLayer::Pattern& pattern : layer->patterns)
      if (text_set(pattern.names).contains(name)) {
        join(all, pattern.value);
        is_known = true;
      }
    if (!is_known) join(all, layer->additional);
  }
  if (!object.names.empty() && !holds(Setting(std::string(name)), object.names))
    join(all, {never()});
  return all;
}

std::vector<SchemaReader::Others> SchemaReader::others(const ObjectShape& object) {
  constexpr size_t kMaxPatterns = 6;
  std::vector<StringPattern> patterns;
  for (const ObjectLayer* layer : object.layers)
    for (const ObjectLayer::Pattern& pattern : layer->patterns)
      if (std::count(patterns.begin(), patterns.end(), pattern.names) == 0)
        patterns.push_back(pattern.names);
  if (patterns.size() > kMaxPatterns)
    fail_unsupported(patterns.back().where,
                     "more than " + std::to_string(kMaxPatterns) +
                         " patterns of the names of one object's properties");

  std::optional<TextSet> names_left;  // missing: all
  const auto restrict_to = [&](std::optional<TextSet>& set, const TextSet& other) {
    set = set ? set->both(other, budget_) : other;
  };
  const std::vector<std::string_view> known = names(object);
  if (!known.empty())
    names_left = TextSet::of_texts({known.begin(), known.end()}, budget_).complement(budget_);
  if (!object.names.empty()) {
    TextSet allowed = TextSet::of_texts({}, budget_);
    bool has_all = false;
    for (const Shape& shape : shapes(object.names)) {
      if (const auto* string = std::get_if<StringShape>(&shape)) {
        const std::optional<TextSet> texts = text_set(*string);
        has_all = has_all || !texts;
        if (texts) allowed = allowed.either(*texts, budget_);
      } else if (const auto* literal = std::get_if<const Setting*>(&shape)) {
        if (const auto* text = get<std::string>(**literal))
          allowed = allowed.either(TextSet::of_texts({*text}, budget_), budget_);
      }
    }
    if (!has_all) restrict_to(names_left, allowed);
  }

  std::vector<Others> result;
  for (size_t subset = 0; subset < size_t(1) << patterns.size(); subset++) {
    const auto matches = [&](const StringPattern& pattern) {
      const auto at = std::find(patterns.begin(), patterns.end(), pattern);
      return (subset >> (at - patterns.begin()) & 1) != 0;
    };
    Others others{.names = names_left, .value = {}};
    for (const ObjectLayer* layer : object.layers) {
      bool is_known = false;
      for (const ObjectLayer::Pattern& pattern : layer->patterns)
        if (matches(pattern.names)) {
          join(others.value, pattern.value);
          is_known = true;
        }
      if (!is_known) join(others.value, layer->additional);
    }
    if (is_never(others.value)) continue;
    for (const StringPattern& pattern : patterns)
      restrict_to(others.names,
                  matches(pattern) ? text_set(pattern) : text_set(pattern).complement(budget_));
    if (!others.names || !others.names->empty()) result.push_back(std::move(others));
  }
  return result;
}

const TextSet& SchemaReader::text_set(const StringPattern& pattern) {
  const std::pair<std::string_view, bool> key = {pattern.regex, pattern.is_whole};
  const auto known = text_sets_.find(key);
  if (known != text_sets_.end()) return known->second;
  Syntax syntax(pattern.where);
  return text_sets_.emplace(key, TextSet::of(syntax, read_pattern(pattern, syntax), budget_))
      .first->second;
}

std::optional<TextSet> SchemaReader::text_set(const StringShape& string) {
  std::optional<TextSet> result;
  for (const StringPattern& pattern : string.patterns)
    result = result ? result->both(text_set(pattern), budget_) : text_set(pattern);
  if (string.min == 0 && string.max == kUnbounded) return result;
  const TextSet lengths = TextSet::of_lengths(string.min, string.max, budget_);
  return result ? result->both(lengths, budget_) : lengths;
}

Syntax::Expr read_pattern(const StringPattern& pattern, Syntax& syntax) {
  return pattern.is_whole ? read_regex(pattern.regex, syntax)
                          : read_regex_search(pattern.regex, syntax, pattern.where);
}

}  // namespace wick::grammars
