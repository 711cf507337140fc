// JSON Schemas as sets of values.
#pragma once
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "text/grammar/front_ends.h"
#include "text/grammar/text_set.h"
#include "wick/base/settings.h"

namespace wick::grammars {

/// A schema of the document, by its number.
using SchemaId = uint32_t;
/// The values that all these schemas allow, sorted by number; without a schema, all values.
using AllOf = std::vector<SchemaId>;
void join(AllOf& all, const AllOf& more);

/// A regular expression that strings must match.
struct StringPattern {
  std::string_view regex;
  std::string where;  // of errors
  bool is_whole;      // the whole string, not some part of it
  bool operator==(const StringPattern& other) const {
    return regex == other.regex && is_whole == other.is_whole;
  }
};

struct NumberRange {
  bool is_integer = false;
  std::optional<long double> min, max;  // long double has all int64_t and double
  bool excludes_min = false, excludes_max = false;

  bool contains(long double value) const;
  bool empty() const;
};

struct StringShape {
  uint32_t min = 0, max = kUnbounded;  // characters
  std::vector<StringPattern> patterns;
};

struct ArrayShape {
  std::vector<AllOf> prefix;
  AllOf items;                         // after the prefix
  uint32_t min = 0, max = kUnbounded;  // items
};

/// The keywords of one schema; an object follows all its layers.
struct ObjectLayer {
  struct Pattern {
    StringPattern names;
    AllOf value;
  };
  std::vector<std::string_view> names;  // of properties, in their order
  std::unordered_map<std::string_view, AllOf> properties;
  std::vector<Pattern> patterns;
  AllOf additional;
};
struct ObjectShape {
  std::vector<const ObjectLayer*> layers;
  std::vector<std::string_view> required;
  AllOf names;                         // of all properties
  uint32_t min = 0, max = kUnbounded;  // properties
};

/// Values of one kind; a pointer stands for one value. A set of values is a list of shapes.
using Shape = std::variant<const Setting*, NumberRange, StringShape, ArrayShape, ObjectShape>;
using Shapes = std::vector<Shape>;

/// Reads a JSON Schema. A schema is read when its values are asked for.
///
/// Errors: kFormat for a keyword that has no meaning; kUnsupported for one that wick lacks, and for
/// a schema beyond the budget. They name keyword and place.
class SchemaReader {
 public:
  SchemaReader(const Setting& document, Syntax& syntax);

  AllOf root();
  /// The values that all the schemas allow. The reference is valid as long as the reader.
  const Shapes& shapes(const AllOf& all);

  /// The names that the object's layers or `required` mention, and the schemas of a property.
  std::vector<std::string_view> names(const ObjectShape& object);
  AllOf property(const ObjectShape& object, std::string_view name);
  /// Properties of other names that have the same schemas.
  struct Others {
    std::optional<TextSet> names;  // missing: all names
    AllOf value;
  };
  std::vector<Others> others(const ObjectShape& object);

  /// The strings of the shape; missing: all.
  std::optional<TextSet> text_set(const StringShape& string);
  Budget& budget() { return budget_; }
  [[noreturn]] void fail_unsupported(const std::string& where, const std::string& text) const;

 private:
  struct Schema {
    const Setting* setting;
    std::string pointer;
    std::optional<Shapes> shapes = {};
    bool is_open = false;  // its shapes are being read
  };
  struct Unknown {};  // thrown where is_never needs a schema that is being read

  SchemaId add(const Setting& schema, const std::string& pointer);
  SchemaId never();  // the schema without values
  SchemaId add_part(SchemaId of, std::string_view key, const Setting& schema);
  std::string where(SchemaId id, std::string_view key = "") const;
  template <class... Parts>
  [[noreturn]] void fail_format(SchemaId id, std::string_view key, const Parts&... parts) const;

  SchemaId target_of(SchemaId from, const Setting& reference);
  SchemaId without_detours(SchemaId id);
  void add_to(AllOf& all, SchemaId id);
  AllOf all_of(SchemaId of, std::string_view key, const Setting& schema);

  const Shapes& shapes_of(SchemaId id);
  Shapes read(SchemaId id);
  unsigned read_kinds(SchemaId id, const Settings& keywords);
  void check_keywords(SchemaId id, const Settings& keywords, unsigned kinds);
  Shapes read_literals(SchemaId id, const Settings& keywords, const Shapes& base);
  Shapes read_branches(SchemaId id, std::string_view key, const Setting& list, const Shapes& base);
  NumberRange read_number(SchemaId id, const Settings& keywords);
  StringShape read_string(SchemaId id, const Settings& keywords);
  ArrayShape read_array(SchemaId id, const Settings& keywords);
  ObjectShape read_object(SchemaId id, const Settings& keywords);
  const Setting::List& list_of(SchemaId id, std::string_view key, const Setting& value) const;
  const Settings& group_of(SchemaId id, std::string_view key, const Setting& value) const;
  std::string_view text_of(SchemaId id, std::string_view key, const Setting& value) const;
  void read_counts(SchemaId id, const Settings& keywords, std::string_view min,
                   std::string_view max, uint32_t& low, uint32_t& high) const;

  Shapes both(const Shapes& left, const Shapes& right);
  std::optional<Shape> both(const Shape& left, const Shape& right);
  void check_disjoint(const std::vector<Shapes>& branches, SchemaId id);
  bool holds(const Setting& value, const AllOf& all);
  bool holds(const Setting& value, const Shape& shape);
  bool holds(const Settings& value, const ObjectShape& object);
  bool is_never(const AllOf& all, int depth = 0);
  bool is_never(const Shape& shape, int depth);
  const TextSet& text_set(const StringPattern& pattern);

  Syntax& syntax_;
  Budget budget_;
  std::deque<Schema> schemas_;
  std::unordered_map<const Setting*, SchemaId> ids_;
  std::map<AllOf, Shapes> shapes_;
  std::deque<ObjectLayer> layers_;
  std::map<std::pair<std::string_view, bool>, TextSet> text_sets_;
  int never_depth_ = 0;  // calls of is_never within one another
};

/// The expression of a regular expression or a format.
Syntax::Expr read_pattern(const StringPattern& pattern, Syntax& syntax);
/// A regular expression for the strings of a format: missing if wick does not know it, empty if it
/// has all strings.
std::optional<std::string_view> format_regex(std::string_view name);
bool is_equal(const Setting& left, const Setting& right);
/// The value of a name, null too, which Settings::find counts as missing.
const Setting* find_entry(const Settings& settings, std::string_view name);
/// The value of a number.
std::optional<long double> number_of(const Setting& value);
/// The numbers of a range, as JSON writes them. Errors: kUnsupported for a bound that no number of
/// JsonValues reaches.
Syntax::Expr write_numbers(const NumberRange& range, Syntax& syntax, const JsonValues& values);

}  // namespace wick::grammars
