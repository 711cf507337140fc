#include "text/jinja/lexer.h"

#include "../expect.h"
#include "text/jinja/literal.h"

namespace wick::jinja {
namespace {

/// The tokens as words: data in quotes, names and numbers as they are.
std::string words(std::string_view source) {
  std::string out;
  for (const Token& token : tokenize(source, "t")) {
    if (!out.empty()) out += ' ';
    switch (token.kind) {
      case TokenKind::kData:
        out += '"' + token.text + '"';
        break;
      case TokenKind::kString:
        out += '\'' + token.text + '\'';
        break;
      case TokenKind::kInteger:
        out += std::to_string(token.integer);
        break;
      case TokenKind::kFloat:
        out += std::to_string(token.real);
        break;
      case TokenKind::kName:
        out += token.text;
        break;
      case TokenKind::kEnd:
        out += "end";
        break;
      default:
        out += describe(token);
    }
  }
  return out;
}

TEST(JinjaLexer, SplitsDataAndTags) {
  EXPECT_EQ(words(""), "end");
  EXPECT_EQ(words("a{{ b.c[1] }}d"), "\"a\" '{{' b '.' c '[' 1 ']' '}}' \"d\" end");
  EXPECT_EQ(words("{% if a//b**2 >= 1.5 %}"), "'{%' if a '//' b '**' 2 '>=' 1.500000 '%}' end");
  EXPECT_EQ(words("{{ {'a': {}} }}"), "'{{' '{' 'a' ':' '{' '}' '}' '}}' end");
  EXPECT_EQ(words("{ {a %} }}{"), "\"{ {a %} }}{\" end");
}

TEST(JinjaLexer, TrimsAroundBlocksButNotAroundVariables) {
  EXPECT_EQ(words("a\n  {% b %}\n c"), "\"a\n\" '{%' b '%}' \" c\" end");
  EXPECT_EQ(words("a\n  {%+ b +%}\n c"), "\"a\n  \" '{%' b '%}' \"\n c\" end");
  EXPECT_EQ(words("a \n {%- b -%} \n c"), "\"a\" '{%' b '%}' \"c\" end");
  EXPECT_EQ(words("a\n  {{ b }}\n c"), "\"a\n  \" '{{' b '}}' \"\n c\" end");
  EXPECT_EQ(words("x  {% b %}"), "\"x  \" '{%' b '%}' end");
}

TEST(JinjaLexer, DropsCommentsAndKeepsRawText) {
  EXPECT_EQ(words("a{# {{ b }} #}\nc"), "\"a\" \"c\" end");
  EXPECT_EQ(words("{% raw %}{{ a }}{% endraw %}\nb"), "\"{{ a }}\" \"b\" end");
}

TEST(JinjaLexer, PlacesCountLinesAndCodePoints) {
  const std::vector<Token> tokens = tokenize("ä\r\n🦊{{ x }}", "t");
  EXPECT_EQ(to_string(tokens[1].place), "line 2, column 2");
  EXPECT_EQ(to_string(tokens[2].place), "line 2, column 5");
}

TEST(JinjaLexer, SyntaxErrorsNameTheirPlace) {
  struct Row {
    const char* source;
    const char* text;
  };
  const Row rows[] = {
      {"a{# b", "line 1, column 2: the comment has no end"},
      {"{% raw %}a", "line 1, column 1: the raw block has no end"},
      {"{{ 'a }}", "line 1, column 4: the string has no end"},
      {"{{ a) }}", "line 1, column 5: unexpected ')'"},
      {"{{ (a] }}", "line 1, column 6: expected ')', got ']'"},
      {"{{ a $ }}", "line 1, column 6: unexpected character $"},
      {"{{ a½ }}", "line 1, column 4: invalid character in a name"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.source);
    EXPECT_ERROR(tokenize(row.source, "t"), kFormat, row.text);
  }
}

TEST(JinjaLiteral, NumbersAreThoseOfPython) {
  struct Row {
    const char* text;
    size_t size;
    double value;
  };
  const Row rows[] = {{"0", 1, 0},     {"1_000x", 5, 1000}, {"0x1Fg", 4, 31}, {"0b101", 5, 5},
                      {"0o17", 4, 15}, {"0x", 1, 0},        {"007", 2, 0},    {"1_", 1, 1}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.text);
    const NumberLiteral literal = number_literal(row.text, false);
    EXPECT_EQ(literal.size, row.size);
    EXPECT_FALSE(literal.is_real);
    EXPECT_EQ(double(literal.integer), row.value);
  }
  const Row reals[] = {
      {"1.5", 3, 1.5}, {"1e3", 3, 1000}, {"1.5e-2x", 6, 0.015}, {"1_0.0_5", 7, 10.05}};
  for (const Row& row : reals) {
    SCOPED_TRACE(row.text);
    const NumberLiteral literal = number_literal(row.text, false);
    EXPECT_EQ(literal.size, row.size);
    EXPECT_TRUE(literal.is_real);
    EXPECT_EQ(literal.real, row.value);
  }
  EXPECT_EQ(number_literal("1.5", true).size, 1u);  // x.1.5 is two subscripts
  EXPECT_TRUE(number_literal("9223372036854775807", false).fits);
  EXPECT_FALSE(number_literal("9223372036854775808", false).fits);
}

TEST(JinjaLiteral, EscapesAreThoseOfPython) {
  EXPECT_EQ(unescape("a\\n\\t\\\\\\'\\x41\\u00e9\\101\\q\\\nb", "t", {}), "a\n\t\\'AéA\\qb");
  EXPECT_EQ(unescape("\\U0001F98A", "t", {}), "🦊");
  EXPECT_EQ(unescape("\\é", "t", {}), "\\xe9");  // as Python's unicode-escape reads it
  EXPECT_ERROR(unescape("\\x4", "t", {}), kFormat, "an escape of a string is cut off");
  EXPECT_ERROR(unescape("\\U00110000", "t", {}), kFormat, "illegal Unicode character");
  EXPECT_ERROR(unescape("\\ud800", "t", {}), kUnsupported, "a surrogate in a string");
}

}  // namespace
}  // namespace wick::jinja
