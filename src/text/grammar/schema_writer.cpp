// JSON Schema: shapes to expressions.
#include <algorithm>
#include <charconv>
#include <deque>

#include "base/json_text.h"
#include "base/utf8.h"
#include "text/grammar/schema_values.h"
#include "wick/base/error.h"

namespace wick::grammars {
namespace {

using Expr = Syntax::Expr;
using Kind = Syntax::Kind;

std::string quoted(std::string_view text) { return json_quote(text, JsonEscapes::kPython); }

class SchemaWriter {
 public:
  SchemaWriter(const Setting& document, Syntax& syntax)
      : s_(syntax), reader_(document, syntax), values_(syntax) {}

  Syntax::Rule write() {
    const Syntax::Rule root = s_.add_rule();
    s_.define(root, s_.sequence({values_.space_before_text(), value(reader_.root())}));
    for (; !todo_.empty(); todo_.pop_front()) {
      const auto& [all, rule] = todo_.front();
      s_.define(rule, write(reader_.shapes(all)));
    }
    return root;
  }

 private:
  /// Of a rule that is written later, so that schemas may be recursive.
  Expr value(const AllOf& all) {
    if (all.empty()) return values_.any();
    const auto known = rules_.find(all);
    if (known != rules_.end()) return s_.call(known->second);
    const Syntax::Rule rule = s_.add_rule();
    rules_.emplace(all, rule);
    todo_.emplace_back(all, rule);
    return s_.call(rule);
  }

  Expr write(const Shapes& shapes) {
    std::vector<Expr> choices;
    std::vector<std::string> scalars;
    for (const Shape& shape : shapes) {
      reader_.budget().spend();
      if (const auto* literal = std::get_if<const Setting*>(&shape)) {
        if (const auto text = scalar_text(**literal))
          scalars.push_back(*text);
        else
          choices.push_back(write_literal(**literal));
      } else if (const auto* number = std::get_if<NumberRange>(&shape)) {
        choices.push_back(write_numbers(*number, s_, values_));
      } else if (const auto* string = std::get_if<StringShape>(&shape)) {
        choices.push_back(write_string(*string));
      } else if (const auto* array = std::get_if<ArrayShape>(&shape)) {
        choices.push_back(write_array(*array));
      } else {
        choices.push_back(write_object(std::get<ObjectShape>(shape)));
      }
    }
    if (!scalars.empty()) choices.push_back(s_.texts(std::move(scalars)));
    return s_.choice(std::move(choices));
  }

  // Literals.

  /// Missing for lists and objects.
  static std::optional<std::string> scalar_text(const Setting& value) {
    if (const auto* text = std::get_if<std::string>(&value.value)) return quoted(*text);
    if (const auto* flag = std::get_if<bool>(&value.value)) return *flag ? "true" : "false";
    if (std::holds_alternative<std::nullptr_t>(value.value)) return "null";
    if (const auto* integer = std::get_if<int64_t>(&value.value)) return std::to_string(*integer);
    if (const auto* real = std::get_if<double>(&value.value)) {
      char text[40];
      std::string shortest(text, std::to_chars(text, text + sizeof text, *real).ptr);
      if (shortest.find_first_of(".e") == std::string::npos) shortest += ".0";
      return shortest;
    }
    return {};
  }

  Expr write_literal(const Setting& value) {
    reader_.budget().spend();
    if (const auto text = scalar_text(value)) return s_.text(*text);
    std::vector<Expr> parts;
    const auto add = [&](Expr part) {
      parts.push_back(parts.empty() ? part : s_.sequence({s_.text(","), values_.space(), part}));
    };
    if (const auto* list = std::get_if<Setting::List>(&value.value)) {
      for (const Setting& item : *list) add(write_literal(item));
      return enclosed("[", std::move(parts), "]");
    }
    for (const auto& [name, field] : std::get<Settings>(value.value).entries())
      add(write_property(s_.text(quoted(name)), write_literal(field)));
    return enclosed("{", std::move(parts), "}");
  }

  Expr enclosed(const char* open, std::vector<Expr> parts, const char* close) {
    if (!parts.empty()) parts.push_back(values_.space());
    return s_.sequence(
        {s_.text(open), values_.space(), s_.sequence(std::move(parts)), s_.text(close)});
  }
  Expr write_property(Expr name, Expr value) {
    return s_.sequence({name, s_.text(":"), values_.space(), value});
  }

  // Strings.

  Expr write_string(const StringShape& string) {
    if (string.patterns.empty()) {
      if (string.min == 0 && string.max == kUnbounded) return values_.string();
      return in_quotes(s_.repeat(values_.string_character(), string.min, string.max));
    }
    if (string.patterns.size() == 1 && string.min == 0 && string.max == kUnbounded) {
      // As it is: repetitions keep their counters, and the automaton is not made deterministic.
      Syntax pattern(string.patterns[0].where);
      return in_quotes(spelled(pattern, read_pattern(string.patterns[0], pattern)));
    }
    return in_quotes(spelled(*reader_.text_set(string)));
  }
  Expr in_quotes(Expr text) { return s_.sequence({s_.text("\""), text, s_.text("\"")}); }

  /// One of the characters, in its canonical spelling.
  Expr spelled(const CodePoints& set) {
    std::vector<std::pair<char32_t, char32_t>> key;
    for (const CodePoints::Range& range : set.ranges()) key.emplace_back(range.first, range.last);
    const auto known = characters_.find(key);
    if (known != characters_.end()) return s_.call(known->second);
    const CodePoints escaped = {{0, 0x1f}, {'"', '"'}, {'\\', '\\'}};
    std::vector<std::string> escapes;
    for (char32_t code = 0; code <= '\\'; code++) {
      if (!escaped.contains(code) || !set.contains(code)) continue;
      std::string text = quoted(std::string(1, char(code)));
      text = text.substr(1, text.size() - 2);
      escapes.push_back(text);
      for (char& c : text)
        if (c >= 'a' && c <= 'f' && text.size() == 6) c = char(c - 'a' + 'A');
      escapes.push_back(text);
    }
    std::vector<Expr> choices;
    const CodePoints plain = set.without(escaped);
    if (!plain.empty()) choices.push_back(s_.characters(plain));
    if (!escapes.empty()) choices.push_back(s_.texts(std::move(escapes)));
    const Syntax::Rule rule = s_.add_rule();
    s_.define(rule, s_.choice(std::move(choices)));
    characters_.emplace(std::move(key), rule);
    return s_.call(rule);
  }

  /// An expression over the characters of strings, as JSON spells them.
  Expr spelled(const Syntax& from, Expr expr) {
    reader_.budget().spend();
    const Syntax::Node& node = from.node(expr);
    switch (node.kind) {
      case Kind::kText: {
        const std::string text = quoted(from.texts_of(node)[0]);
        return s_.text(text.substr(1, text.size() - 2));
      }
      case Kind::kCharacters:
        return spelled(from.set_of(node));
      case Kind::kRepeat:
        return s_.repeat(spelled(from, from.part(node.first)), node.min, node.max);
      case Kind::kSequence:
      case Kind::kChoice: {
        std::vector<Expr> parts;
        for (uint32_t i = node.first; i < node.last; i++)
          parts.push_back(spelled(from, from.part(i)));
        return node.kind == Kind::kChoice ? s_.choice(std::move(parts))
                                          : s_.sequence(std::move(parts));
      }
      default:
        return s_.empty();
    }
  }

  Expr spelled(const TextSet& set) {
    std::vector<Syntax::Arrow> arrows;
    const auto state = [](uint32_t id) { return id == 0 ? 0 : id + 1; };  // 1 is the end
    for (uint32_t from = 0; from < set.states().size(); from++) {
      const TextSet::State& at = set.states()[from];
      if (at.accepts) arrows.push_back({state(from), s_.empty(), 1});
      std::map<uint32_t, std::vector<CodePoints::Range>> targets;
      for (const TextSet::Edge& edge : at.edges)
        targets[edge.to].push_back({edge.first, edge.last});
      for (auto& [to, ranges] : targets) {
        reader_.budget().spend(ranges.size());
        arrows.push_back({state(from), spelled(CodePoints(std::move(ranges))), state(to)});
      }
    }
    return s_.graph(arrows);
  }

  // Arrays and objects.

  /// Arrows between numbered states that are made when they are first used.
  template <class Key>
  struct Graph {
    std::map<Key, uint32_t> ids = {};
    std::vector<Syntax::Arrow> arrows = {};
    uint32_t extra = 2;  // the next number; 0 and 1 are start and end
    uint32_t at(const Key& key) {
      const auto [found, is_new] = ids.try_emplace(key, extra);
      extra += is_new;
      return found->second;
    }
    void add(uint32_t from, Expr expr, uint32_t to) { arrows.push_back({from, expr, to}); }
  };
  Expr opening(const char* bracket) { return s_.sequence({s_.text(bracket), values_.space()}); }
  Expr closing(const char* bracket) { return s_.sequence({values_.space(), s_.text(bracket)}); }
  Expr comma() { return s_.sequence({s_.text(","), values_.space()}); }

  Expr write_array(const ArrayShape& array) {
    const auto item = [&](size_t i) {
      return value(i < array.prefix.size() ? array.prefix[i] : array.items);
    };
    // States: by the number of items written, and one before the closing bracket.
    Graph<size_t> graph;
    const uint32_t first = graph.at(0), last = graph.at(SIZE_MAX);
    graph.add(0, opening("["), first);
    if (array.min == 0) graph.add(first, s_.text("]"), 1);
    graph.add(last, closing("]"), 1);
    const size_t explicit_items =
        std::min<size_t>(std::max<size_t>(array.prefix.size(), 1), array.max);
    for (size_t i = 0; i < explicit_items; i++) {
      reader_.budget().spend();
      graph.add(graph.at(i), i == 0 ? item(i) : s_.sequence({comma(), item(i)}), graph.at(i + 1));
      if (i + 1 >= array.min && i + 1 < explicit_items)
        graph.add(graph.at(i + 1), s_.empty(), last);
    }
    if (explicit_items > 0) {
      const uint32_t count = uint32_t(explicit_items);
      graph.add(graph.at(explicit_items),
                s_.repeat(s_.sequence({comma(), item(explicit_items)}),
                          array.min > count ? array.min - count : 0,
                          array.max == kUnbounded ? kUnbounded : array.max - count),
                last);
    }
    return s_.graph(graph.arrows);
  }

  Expr write_object(const ObjectShape& object) {
    if (object.layers.empty() && object.required.empty() && object.names.empty() &&
        object.min == 0 && object.max == kUnbounded)
      return values_.object();
    const std::vector<std::string_view> names = reader_.names(object);
    const size_t count = names.size();
    std::unordered_map<std::string_view, bool> is_required;
    for (const std::string_view name : object.required) is_required[name] = true;
    const std::vector<SchemaReader::Others> others = reader_.others(object);
    std::vector<size_t> required_after(count + 1, 0);  // from this property on
    for (size_t i = count; i-- > 0;)
      required_after[i] = required_after[i + 1] + is_required.count(names[i]);
    if (object.min > count + 1 && !others.empty())
      reader_.fail_unsupported(s_.where(),
                               "\"minProperties\": a text may repeat a name, so wick counts one "
                               "property that is not in \"properties\" or \"required\"; at least " +
                                   std::to_string(object.min) + " are asked for");
    if (required_after[0] > object.max || (others.empty() && object.min > count))
      return s_.nothing();
    // Counts matter up to the limits that all properties together can miss.
    const size_t min = object.min <= required_after[0] ? 0 : object.min;
    const bool has_max = object.max != kUnbounded && (!others.empty() || object.max < count);
    const size_t most = has_max ? object.max : min;

    // States: before property i, after the comma if there is one; and after a property, before i.
    // Each with the number of properties written, up to `most`.
    enum Side { kBefore, kAfter };
    Graph<std::tuple<Side, size_t, size_t>> graph;
    const uint32_t inside = graph.extra++, last = graph.extra++;
    const auto counted = [&](size_t written) { return std::min(written, most); };
    const auto may_write = [&](size_t written) { return !has_max || written < most; };
    graph.add(0, opening("{"), inside);
    graph.add(inside, s_.empty(), graph.at({kBefore, 0, 0}));
    if (min == 0 && required_after[0] == 0) graph.add(inside, s_.text("}"), 1);
    graph.add(last, closing("}"), 1);
    std::vector<Expr> properties;
    for (const std::string_view name : names)
      properties.push_back(
          write_property(s_.text(quoted(name)), value(reader_.property(object, name))));
    const Expr other = write_others(others);
    const Expr separator = comma();
    for (size_t i = 0; i <= count; i++)
      for (size_t written = 0; written <= most; written++) {
        reader_.budget().spend(16);
        const uint32_t before = graph.at({kBefore, i, written}),
                       after = graph.at({kAfter, i, written});
        if (may_write(written)) graph.add(after, separator, before);
        if (required_after[i] == 0 && written >= min) graph.add(after, s_.empty(), last);
        if (i < count) {
          if (may_write(written))
            graph.add(before, properties[i], graph.at({kAfter, i + 1, counted(written + 1)}));
          if (is_required.count(names[i]) == 0)
            graph.add(before, s_.empty(), graph.at({kBefore, i + 1, written}));
        } else if (may_write(written) && written + 1 >= min) {
          graph.add(before, other, graph.at({kAfter, i, counted(written + 1)}));
        }
      }
    return s_.graph(graph.arrows);
  }

  Expr write_others(const std::vector<SchemaReader::Others>& others) {
    std::vector<Expr> choices;
    for (const SchemaReader::Others& one : others)
      choices.push_back(write_property(
          one.names ? in_quotes(spelled(*one.names)) : values_.string(), value(one.value)));
    const Syntax::Rule rule = s_.add_rule();
    s_.define(rule, s_.choice(std::move(choices)));
    return s_.call(rule);
  }

  Syntax& s_;
  SchemaReader reader_;
  JsonValues values_;
  std::map<AllOf, Syntax::Rule> rules_;
  std::deque<std::pair<AllOf, Syntax::Rule>> todo_;
  std::map<std::vector<std::pair<char32_t, char32_t>>, Syntax::Rule> characters_;
};

}  // namespace

Syntax::Rule read_json_schema(const Setting& schema, Syntax& syntax) {
  return SchemaWriter(schema, syntax).write();
}

}  // namespace wick::grammars
