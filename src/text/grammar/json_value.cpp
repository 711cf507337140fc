#include "text/grammar/front_ends.h"

namespace wick::grammars {
namespace {

using Expr = Syntax::Expr;

constexpr uint32_t kMaxIndent = 32;

Expr digits(Syntax& s, uint32_t min, uint32_t max) {
  return s.repeat(s.characters({{'0', '9'}}), min, max);
}

Expr integer(Syntax& s) {
  const Expr positive =
      s.sequence({s.characters({{'1', '9'}}), digits(s, 0, JsonValues::kMaxDigits - 1)});
  return s.sequence({s.optional(s.text("-")), s.choice({s.text("0"), positive})});
}

Expr number(Syntax& s, Expr integer) {
  const Expr fraction = s.sequence({s.text("."), digits(s, 1, JsonValues::kMaxDecimals)});
  const Expr exponent = s.sequence({s.characters({{'e', 'e'}, {'E', 'E'}}),
                                    s.optional(s.characters({{'+', '+'}, {'-', '-'}})),
                                    digits(s, 1, JsonValues::kMaxExponentDigits)});
  return s.sequence({integer, s.optional(fraction), s.optional(exponent)});
}

Expr hex(Syntax& s, char32_t first, char32_t last) {
  CodePoints set;
  for (char32_t digit = first; digit <= last; digit++) {
    const char32_t low = digit < 10 ? '0' + digit : 'a' + digit - 10;
    const char32_t high = digit < 10 ? low : 'A' + digit - 10;
    set = set.with({{low, low}, {high, high}});
  }
  return s.characters(set);
}

/// \uXXXX for one character: surrogates stand in pairs alone.
Expr unicode_escape(Syntax& s) {
  const Expr any = hex(s, 0, 15), d = hex(s, 13, 13);
  const Expr others = s.choice({s.sequence({s.choice({hex(s, 0, 12), hex(s, 14, 15)}), any}),
                                s.sequence({d, hex(s, 0, 7)})});
  const Expr pair =
      s.sequence({d, hex(s, 8, 11), any, any, s.text("\\u"), d, hex(s, 12, 15), any, any});
  return s.sequence({s.text("u"), s.choice({s.sequence({others, any, any}), pair})});
}

Expr string_character(Syntax& s) {
  const CodePoints escaped = {{0, 0x1f}, {'"', '"'}, {'\\', '\\'}};
  CodePoints letters;
  for (const char letter : std::string_view("\"\\/bfnrt"))
    letters = letters.with({{char32_t(letter), char32_t(letter)}});
  return s.choice(
      {s.characters(escaped.complement()),
       s.sequence({s.text("\\"), s.choice({s.characters(letters), unicode_escape(s)})})});
}

}  // namespace

JsonValues::JsonValues(Syntax& s)
    : syntax_(&s),
      string_character_(s.add_rule()),
      string_(s.add_rule()),
      array_(s.add_rule()),
      object_(s.add_rule()),
      any_(s.add_rule()) {
  const Expr indent = s.repeat(s.characters({{' ', ' '}, {'\t', '\t'}}), 0, kMaxIndent);
  space_ = s.choice({s.empty(), s.text(" "), s.sequence({s.text("\n"), indent})});
  space_before_text_ = s.optional(s.text(" "));
  integer_ = grammars::integer(s);
  number_ = grammars::number(s, integer_);
  const Expr character = grammars::string_character(s);
  s.define(string_character_, character);
  s.define(string_, s.sequence({s.text("\""), s.repeat(character, 0, kUnbounded), s.text("\"")}));
  s.define(array_, bracketed('[', any(), ']'));
  s.define(object_, bracketed('{', s.sequence({string(), s.text(":"), space_, any()}), '}'));
  s.define(any_,
           s.choice({object(), array(), string(), number_, s.texts({"true", "false", "null"})}));
}

Expr JsonValues::bracketed(char open, Expr item, char close) {
  Syntax& s = *syntax_;
  const Expr others = s.repeat(s.sequence({s.text(","), space_, item}), 0, kUnbounded);
  return s.sequence({s.text(std::string(1, open)), space_,
                     s.optional(s.sequence({item, others, space_})),
                     s.text(std::string(1, close))});
}

}  // namespace wick::grammars
