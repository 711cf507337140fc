#include "text/answers/call_grammar.h"

#include <algorithm>

#include "base/utf8.h"
#include "text/answers/tools.h"
#include "text/grammar/front_ends.h"
#include "text/grammar/make_grammar.h"
#include "wick/base/error.h"

namespace wick::answers {
namespace {

using grammars::CodePoints;
using grammars::JsonValues;
using grammars::kUnbounded;
using grammars::Syntax;
using Expr = Syntax::Expr;

/// In grammars the token of marker i has these bytes, which no text has.
std::string mark_bytes(size_t mark) { return {'\xff', char(mark + 1)}; }

/// The bytes of all tokens; markers have the bytes of mark_bytes.
TokenTable marked_tokens(const Format& format) {
  const TokenTable& plain = format.tokenizer->token_table();
  std::vector<std::string> bytes;
  for (int64_t id = 0; id < plain.size(); id++) {
    const std::string_view token = plain.bytes(id);
    bytes.emplace_back(token.find('\xff') == token.npos ? token : std::string_view());
  }
  for (size_t mark = 0; mark < format.marks.size(); mark++)
    bytes[size_t(format.marks[mark].id)] = mark_bytes(mark);
  return TokenTable(std::move(bytes));
}

class CallWriter {
 public:
  CallWriter(const Format& format, const CallGrammarOptions& options)
      : format_(format),
        family_(*format.family),
        written_(family_.written),
        options_(options),
        syntax_("tool_choice"),
        values_(syntax_) {}

  Grammar write(const Setting::List& tools, bool opens_reasoning) {
    const std::string& function = options_.function;
    std::vector<Expr> calls;
    for (size_t i = 0; i < tools.size(); i++) {
      const Settings* const tool = std::get_if<Settings>(&tools[i].value);
      const Settings* const described = tool ? object_in(*tool, "function") : nullptr;
      const std::string* const name = described ? text_in(*described, "name") : nullptr;
      if (!name || (!function.empty() && *name != function)) continue;
      calls.push_back(call(*name, *described, "tools[" + std::to_string(i) + "].function"));
    }
    check(!calls.empty(), ErrorCode::kInvalidArgument, "tool_choice",
          function.empty() ? "expected tools" : "there is no function \"" + function + "\"");
    syntax_.set_where("tool_choice");
    const Expr one = syntax_.choice(calls);
    std::vector<Expr> parts = {text(written_.begin), one};
    const bool is_single_call = options_.is_single_call || !function.empty();
    if (!is_single_call && !written_.between.empty())
      parts.push_back(
          syntax_.repeat(syntax_.sequence({text(written_.between), one}), 0, kUnbounded));
    parts.push_back(text(written_.end));
    Expr answer = syntax_.sequence(std::move(parts));
    if (options_.content) answer = syntax_.choice({answer, content(*options_.content)});
    const Syntax::Rule root = syntax_.add_rule();
    syntax_.define(root, syntax_.sequence({reasoning(opens_reasoning), answer}));
    std::call_once(format_.has_marked_tokens,
                   [&] { format_.marked_tokens.emplace(marked_tokens(format_)); });
    return grammars::GrammarMaker::make(syntax_, root, format_.marked_tokens);
  }

 private:
  /// A text of the table, with the markers in it that are tokens.
  Expr text(std::string_view source) {
    std::string bytes;
    while (!source.empty()) {
      size_t mark = 0;
      while (mark < format_.marks.size() && !source.starts_with(format_.marks[mark].spelling))
        mark++;
      if (mark == format_.marks.size()) {
        bytes += source.front();
        source.remove_prefix(1);
      } else {
        bytes += mark_bytes(mark);
        source.remove_prefix(format_.marks[mark].spelling.size());
      }
    }
    return bytes.empty() ? syntax_.empty() : syntax_.text(std::move(bytes));
  }
  Expr text(const Symbols& symbols) {
    std::string bytes;
    for (const Symbol symbol : symbols)
      bytes += is_mark(symbol) ? mark_bytes(symbol - kFirstMark) : std::string(1, char(symbol));
    return bytes.empty() ? syntax_.empty() : syntax_.text(std::move(bytes));
  }

  /// Any text up to a marker, and the marker. A marker that is spelled is ASCII.
  Expr text_until(const Symbols& close) {
    const CodePoints all = CodePoints::all();
    if (is_mark(close.front()))
      return syntax_.sequence(
          {syntax_.repeat(syntax_.characters(all), 0, kUnbounded), text(close)});
    // Knuth, Morris and Pratt's automaton: in state k the last k characters begin the marker.
    const uint32_t size = uint32_t(close.size());
    const auto state = [&](uint32_t k) { return k == 0 ? 0 : k == size ? 1 : k + 1; };
    std::vector<Syntax::Arrow> arrows;
    for (uint32_t k = 0; k < size; k++) {
      CodePoints others = all;
      Symbols seen = close.substr(0, k);
      for (const Symbol next : close) {
        if (!others.contains(next)) continue;
        const CodePoints one = {{next, next}};
        others = others.without(one);
        seen += next;
        uint32_t matched = k + 1;
        while (!SymbolView(seen).ends_with(SymbolView(close).substr(0, matched))) matched--;
        seen.pop_back();
        arrows.push_back({state(k), syntax_.characters(one), state(matched)});
      }
      arrows.push_back({state(k), syntax_.characters(others), state(0)});
    }
    return syntax_.graph(arrows);
  }

  Expr reasoning(bool is_open) {
    if (family_.kind == CallKind::kHarmony)
      return syntax_.optional(
          syntax_.sequence({text("<|channel|>analysis<|message|>"),
                            text_until(format_.ends.front()), text("<|start|>assistant")}));
    if (!format_.has_reasoning) return syntax_.empty();
    const Expr rest =
        syntax_.sequence({text_until(format_.think_close), syntax_.texts({"", "\n", "\n\n"})});
    return is_open ? rest : syntax_.optional(syntax_.sequence({text(format_.think_open), rest}));
  }

  Expr content(const Setting& schema) {
    syntax_.set_where("content");
    const Expr value = syntax_.call(grammars::read_json_schema(schema, syntax_));
    if (family_.kind != CallKind::kHarmony) return value;
    return syntax_.sequence({text("<|channel|>final<|message|>"), value});
  }

  Expr call(const std::string& name, const Settings& function, const std::string& where) {
    const bool is_plain = std::all_of(name.begin(), name.end(), [](char c) {
      return uint8_t(c) > 0x20 && uint8_t(c) != 0x7f &&
             std::string_view("\"\\<>[]{}:").find(c) == std::string_view::npos;
    });
    check(is_plain && !name.empty() && is_utf8(name), ErrorCode::kUnsupported, where + ".name",
          "a call of a function with this name cannot be forced");
    const std::string place = where + ".parameters";
    syntax_.set_where(place);
    const Settings* const schema = object_in(function, "parameters");
    const Expr arguments =
        family_.kind == CallKind::kTags ? tags(schema, place) : object(schema, place);
    return syntax_.sequence({text(written_.before_name), text(std::string_view(name)),
                             text(written_.after_name), arguments, text(written_.after_arguments)});
  }

  /// A JSON object of the schema.
  Expr object(const Settings* schema, const std::string& place) {
    if (!schema) return values_.object();
    Settings copy = *schema;
    const Setting* const type = copy.find("type");
    const std::string* const word = type ? std::get_if<std::string>(&type->value) : nullptr;
    check(!type || (word && *word == "object"), ErrorCode::kUnsupported, place + ": #/type",
          "expected \"object\"");
    if (!type) copy.set("type", "object");
    return syntax_.call(grammars::read_json_schema(copy, syntax_));
  }

  /// The properties of the schema in their order, each between tags.
  Expr tags(const Settings* schema, const std::string& place) {
    const Settings* const properties = schema ? object_in(*schema, "properties") : nullptr;
    std::vector<std::string> required;
    if (schema && schema->find("required")) required = schema->texts("required");
    for (const std::string& key : required)
      check(properties && properties->has(key), ErrorCode::kUnsupported, place + ": #/required",
            "\"", key, "\" is not among the properties");
    if (!properties) return syntax_.empty();
    std::vector<Expr> parts;
    for (const auto& [key, value] : properties->entries()) {
      const bool is_plain = key.find_first_of("<>\"\n") == key.npos && !key.empty();
      check(is_plain && is_utf8(key), ErrorCode::kUnsupported, place + ": #/properties",
            "the name \"", key, "\" cannot stand in a tag");
      const Expr tag = syntax_.sequence(
          {text(format_.key_open), text(std::string_view(key)), text(format_.separator),
           text(written_.before_value), text(format_.value_open),
           this->value(value, place + ": #/properties/" + key), text(written_.after_value)});
      const bool is_required = std::find(required.begin(), required.end(), key) != required.end();
      parts.push_back(is_required ? tag : syntax_.optional(tag));
    }
    return syntax_.sequence(std::move(parts));
  }

  /// A value and the marker that closes it.
  Expr value(const Setting& schema, const std::string& place) {
    const Expr close = syntax_.sequence({text(written_.before_close), text(format_.value_close)});
    const Settings* const settings = std::get_if<Settings>(&schema.value);
    const ParameterType type = settings ? type_of(*settings) : ParameterType::kUnknown;
    if (type != ParameterType::kString && type != ParameterType::kNullableString) {
      syntax_.set_where(place);
      return syntax_.sequence({syntax_.call(grammars::read_json_schema(schema, syntax_)), close});
    }
    for (const auto& [key, unused] : settings->entries()) {
      constexpr std::string_view kKnown[] = {"type",    "title",    "description",
                                             "default", "examples", "enum"};
      check(std::find(std::begin(kKnown), std::end(kKnown), key) != std::end(kKnown),
            ErrorCode::kUnsupported, place + "/" + key,
            "the keyword is not supported for strings in tags");
    }
    if (!settings->find("enum")) return text_until(format_.value_close);
    std::vector<std::string> texts = settings->texts("enum");
    for (const std::string& one : texts)
      check(one.find('<') == one.npos && is_utf8(one), ErrorCode::kUnsupported, place + "/enum",
            "\"", one, "\" cannot stand in a tag");
    return syntax_.sequence({syntax_.texts(std::move(texts)), close});
  }

  const Format& format_;
  const Family& family_;
  const CallText& written_;
  const CallGrammarOptions& options_;
  Syntax syntax_;
  JsonValues values_;
};

}  // namespace

Grammar make_call_grammar(const Format& format, const Setting::List& tools,
                          const CallGrammarOptions& options, bool opens_reasoning) {
  check(format.family, ErrorCode::kUnsupported, "tool_choice",
        "the model's chat template has no calls that wick knows");
  return CallWriter(format, options).write(tools, opens_reasoning);
}

}  // namespace wick::answers
