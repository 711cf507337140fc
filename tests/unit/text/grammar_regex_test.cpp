#include <regex>

#include "grammar_texts.h"

namespace wick {
namespace {

using test::expect_texts;
using test::texts_of;

TEST(Regex, HasTheTextsThatTheStandardLibraryMatches) {
  for (const char* pattern : {"",
                              "a",
                              "abc",
                              "a|b",
                              "a|",
                              "(a|bc)*",
                              "(?:a|b)+c?",
                              "a{2}",
                              "a{2,}",
                              "a{0,2}b{1,3}",
                              "(ab|a){2,3}",
                              "(a?){3}",
                              "(a*)*b",
                              "(a*b?)+",
                              "[ab]",
                              "[^ab]",
                              "[a-c]*a[ab]",
                              "a.c",
                              ".*",
                              "(a|ab)(c|bcd)?",
                              "((a|b)*c){2}",
                              "a+?b*?c??",
                              "(a{2}b{0,1}){1,2}",
                              "[b-]|a",
                              "[\\w]a",
                              "(((a)))",
                              "()a()",
                              "(|a)b",
                              "b{3}|b{5}",
                              "a{0}b",
                              "^ab$",
                              "^a|b$",
                              "(a{1,2}){2,3}"}) {
    SCOPED_TRACE(pattern);
    const Grammar grammar = Grammar::regex(pattern);
    const std::regex reference(pattern);
    for (const std::string& text : texts_of(Grammar::regex("[abc]*"), "abc", 6))
      EXPECT_EQ(grammar.matches(text), std::regex_match(text, reference)) << text;
  }
}

TEST(Regex, HasTheseTextsAndNotTheOthers) {
  expect_texts(Grammar::regex("\\d{3}-\\D\\s\\S\\w\\W"), {"123-x y_-", "000-\u00e9\tz0\u20ac"},
               {"12-x y_-", "123-4 y_-", "123-x  _-", "123-x y--"});
  expect_texts(Grammar::regex("\\x41\\u00e9\\u{1F600}\\ud83d\\ude00\\cA\\0\\t\\.\\/\\-"),
               {std::string("A\u00e9\U0001f600\U0001f600\x01\0\t./-", 17)}, {"A"});
  expect_texts(Grammar::regex("[\\d\\-x-z\\]^][^\\d\\n\u00e9]"),
               {"5a", "-a", "ya", "]a", "^\u00e8"}, {"wa", "5\n", "55", "5\u00e9"});
  expect_texts(Grammar::regex("(?P<year>\\d\\d)(?<month>{x}]})"), {"12{x}]}"}, {"12"});
  expect_texts(Grammar::regex("."), {"a", "\u00e9", "\U0001f600", "\r"}, {"", "\n", "\x80", "ab"});
}

TEST(RegexErrors, NameConstructAndPlace) {
  const auto unsupported = [](const char* text, const char* part) {
    SCOPED_TRACE(text);
    EXPECT_ERROR(Grammar::regex(text), kUnsupported, part);
  };
  unsupported("ab(?=c)", "regex: line 1, column 3: a look-ahead ((?=) is not supported");
  unsupported("(?!c)", "a look-ahead ((?!)");
  unsupported("(?<=c)", "a look-behind ((?<=)");
  unsupported("(?i)a", "a group of this kind ((?i)");
  unsupported("(a)\\1", "column 4: a back reference (\\1)");
  unsupported("(?P<a>a)(?P=a)", "column 9: a back reference ((?P=)");
  unsupported("\\bword", "a word boundary (\\b)");
  unsupported("\\p{L}", "a property of characters (\\p)");
  unsupported("a*+", "a possessive quantifier (*+)");
  unsupported("a{,3}", "a quantifier without a lower limit");
  unsupported("a^b", "column 2: \"^\" is supported at the start of an outermost choice alone");
  unsupported("(a$)", "column 3: \"^\" is supported");
  unsupported("\\A", "the escape (\\A)");
  unsupported("\\012", "an octal escape (\\0)");
  const auto format = [](const char* text, const char* part) {
    SCOPED_TRACE(text);
    EXPECT_ERROR(Grammar::regex(text), kFormat, part);
  };
  format("(a", "column 3: expected \")\", got the end");
  format("a)", "column 2: no \"(\" stands before \")\"");
  format("*a", "column 1: nothing stands before \"*\"");
  format("a**", "column 3: a quantifier stands before \"*\"");
  format("a{2}{3}", "column 5: a quantifier stands before \"{\"");
  format("[a", "column 1: no \"]\" ends the brackets");
  format("[]", "the brackets have no character");
  format("[b-a]", "the range \"b-a\" is empty");
  format("[\\d-z]", "\"\\d-z\" is no range of characters");
  format("a{3,2}", "the quantifier \"{3,2}\" is empty");
  format("\\", "expected a character after \"\\\"");
  format("\\ud800", "a surrogate is no character");
}

TEST(Choice, HasItsTextsAlone) {
  expect_texts(Grammar::choice({"yes", "no", "yesterday", "", "\u00e9\n", "no"}),
               {"yes", "no", "yesterday", "", "\u00e9\n"}, {"ye", "yester", "nope", "\xc3"});
  EXPECT_ERROR(Grammar::choice({}), kInvalidArgument, "choice: expected texts, got no text");
  EXPECT_ERROR(Grammar::choice({"a", "\xff"}), kInvalidArgument, "text 1 is not UTF-8");
  std::vector<std::string> many, prefixes;
  for (int i = 0; i < 20000; i++) many.push_back("item " + std::to_string(i));
  EXPECT_TRUE(Grammar::choice(many).matches("item 19999"));
  EXPECT_FALSE(Grammar::choice(many).matches("item 20000"));
  for (size_t i = 1; i <= 1000; i++) prefixes.push_back(std::string(i, 'a'));
  EXPECT_TRUE(Grammar::choice(prefixes).matches(std::string(777, 'a')));
  EXPECT_FALSE(Grammar::choice(prefixes).matches(std::string(1001, 'a')));
}

}  // namespace
}  // namespace wick
