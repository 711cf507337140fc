#include "grammar_texts.h"

namespace wick {
namespace {

using test::expect_texts;
using test::texts_of;

struct Row {
  const char* grammar;
  std::vector<std::string> texts, others;
};

class Gbnf : public testing::TestWithParam<Row> {};

TEST_P(Gbnf, HasTheseTextsAndNotTheOthers) {
  SCOPED_TRACE(GetParam().grammar);
  expect_texts(Grammar::gbnf(GetParam().grammar), GetParam().texts, GetParam().others);
}

const Row kRows[] = {
    {"root ::= \"ab\" \"c\"", {"abc"}, {"", "a", "ab", "abcd", "abd"}},
    {"root ::= \"a\" | \"bc\" |", {"a", "bc", ""}, {"b", "abc"}},
    {"root ::= [a-c] [^a-c] .",
     {"ad\n", "b\u00e9x", "c\U0001f600\u20ac"},
     {"aax", "dax", "a\x80x"}},
    {"root ::= [\\]\\-\\[^a-] [\\x41-\\u0043\\U00000044]",
     {"]A", "-B", "[C", "^D", "aA"},
     {"bA", "]E"}},
    {"root ::= \"\\n\\t\\\\\\\"\\r\\xe9\\u20ac\\U0001F600\"",
     {"\n\t\\\"\r\u00e9\u20ac\U0001f600"},
     {"\n"}},
    {"root ::= \"a\"* \"b\"+ \"c\"?", {"b", "aab", "abbbc", "bc"}, {"", "a", "ac", "bcc"}},
    {"root ::= \"ab\"{2} | \"x\"{1,} | \"y\"{2,3} | [z]{0,2} | \"q\"{0}",
     {"abab", "x", "xxxx", "yy", "yyy", "", "z", "zz"},
     {"ab", "ababab", "y", "yyyy", "zzz", "q"}},
    {"root ::= (\"a\" | \"b\" # one\n  | \"c\")+ end\n\n# two\nend ::= \"!\" |\n  \"?\"\n",
     {"a!", "abc?"},
     {"!", "a", "a!?"}},
    {"root ::= \"(\" root \")\" | \"x\"", {"x", "(x)", "((((x))))"}, {"", "()", "(x", "x)"}},
    {"root ::= item (\",\" item)*\nitem ::= \"[\" (root)? \"]\"",
     {"[]", "[],[]", "[[],[[]]]"},
     {"", "[", "[,]", "[]]"}},
    // Rules that the empty text may stand for.
    {"root ::= a b a\na ::= \"x\"?\nb ::= a a | \"y\"",
     {"", "x", "xx", "xxx", "xxxx", "xyx", "y"},
     {"xxxxx", "yy", "xxy"}},
    {"root ::= a{3,4} \"b\"\na ::= \"x\" |", {"b", "xb", "xxxxb"}, {"", "xxxxxb"}},
    {"root ::= \"a\" e{2,5} e* e\ne ::= \"\" | f\nf ::= \"\"{3}", {"a"}, {"", "aa"}},
    // Rules that begin with themselves.
    {"root ::= root \"+\" t | t\nt ::= t \"*\" n | n\nn ::= [0-9]+ | \"(\" root \")\"",
     {"1", "1+2", "12*3+4*5", "(1+2)*3", "((1))"},
     {"", "+", "1+", "(1", "1++2", "()"}},
    {"root ::= a\na ::= b \"x\" | \"p\"\nb ::= c \"y\" | \"q\"\nc ::= a \"z\" | b \"w\" | \"r\"",
     {"p", "qx", "ryx", "pzyx", "qwyx", "ryxzyx", "qwywyx"},
     {"x", "q", "ry", "pzy", "pyx", "qyx"}},
    {"root ::= o root \"a\" | \"b\"\no ::= \"c\"?",
     {"b", "ba", "cba", "ccbaa", "cbaa"},
     {"", "cb", "ccba"}},
    {"root ::= (root | \"a\"){2,3} | \"b\"",
     {"b", "aa", "ab", "ba", "bb", "aaa", "abba"},
     {"", "a"}},
    {"root ::= root root | \"a\"", {"a", "aaaaaaaaaaaaaaaaaaaa"}, {"", "ab"}},
    // Rules without end take no part.
    {"root ::= \"a\" | \"b\" loop | no{0,3} \"c\"\nloop ::= \"x\" loop\nno ::= loop loop",
     {"a", "c"},
     {"b", "bx", "x"}},
};

INSTANTIATE_TEST_SUITE_P(Rows, Gbnf, testing::ValuesIn(kRows));

TEST(GbnfLeftRecursion, HasTheTextsOfTheEquivalentExpression) {
  const std::pair<const char*, const char*> pairs[] = {
      {"root ::= root \"b\" | \"a\"", "ab*"},
      {"root ::= root \"b\" | root \"c\" | \"a\" | \"bb\"", "(a|bb)[bc]*"},
      {"root ::= x\nx ::= y \"b\" | \"a\"\ny ::= x \"c\" | \"c\"", "(a|cb)(cb)*"},
      {"root ::= x \"a\" | x\nx ::= (x \"b\")* \"c\"", "c(bc)*a?"},
      {"root ::= root? \"a\" root* | \"b\"", "b?a[ab]*|b"},
  };
  for (const auto& [gbnf, regex] : pairs) {
    SCOPED_TRACE(gbnf);
    EXPECT_EQ(texts_of(Grammar::gbnf(gbnf), "abc", 7), texts_of(Grammar::regex(regex), "abc", 7));
  }
}

TEST(GbnfErrors, NameTheirPlace) {
  const auto expect = [](const char* text, const char* part) {
    SCOPED_TRACE(text);
    EXPECT_ERROR(Grammar::gbnf(text), kFormat, part);
  };
  expect("", "gbnf: line 1, column 1: expected a rule \"root\"");
  expect("a ::= \"b\"", "expected a rule \"root\"");
  expect("root ::= \"a\" other", "line 1, column 14: the rule \"other\" is not defined");
  expect("root ::= \"a\"\nroot ::= \"b\"", "line 2, column 1: the rule \"root\" is defined twice");
  expect("root = \"a\"", "line 1, column 6: expected \"::=\", got \"=\"");
  expect("root ::= \"a", "line 1, column 12: expected the quote that ends the text, got the end");
  expect("root ::= (\"a\"\n | \"b\"", "line 2, column 7: expected \")\", got the end");
  expect("root ::= \"a\")",
         "column 13: expected a part of a rule or the end of the line, got \")\"");
  expect("root ::= *", "column 10: nothing stands before \"*\"");
  expect("root ::= \"a\"{3,2}", "the repetition \"{3,2}\" is empty");
  expect("root ::= \"a\"{x}", "column 14: expected a number, got \"x\"");
  expect("root ::= \"\\q\"", "column 11: expected an escape");
  expect("root ::= \"\\u12\"", "column 15: expected 4 hexadecimal digits, got \"\"\"");
  expect("root ::= \"\\ud800\"", "a surrogate is no character");
  expect("root ::= \"\\U00110000\"", "expected a character up to U+10FFFF");
  expect("root ::= []", "column 10: the brackets have no character");
  expect("root ::= [z-a]", "column 11: the range \"z-a\" is empty");
  expect("root ::= \"\xff\"", "column 11: expected UTF-8");
  EXPECT_ERROR(Grammar::gbnf("root ::= \"a\" <think>"), kUnsupported,
               "gbnf: line 1, column 14: tokens (\"<...>\") are not supported");
  EXPECT_ERROR(Grammar::gbnf("root ::= !<[7]>"), kUnsupported, "column 10: tokens");
  EXPECT_ERROR(Grammar::gbnf("root ::= \"a\" root"), kInvalidArgument,
               "gbnf: no text matches the grammar");
  EXPECT_ERROR(Grammar::gbnf("root ::= root"), kInvalidArgument, "no text matches");
}

TEST(GbnfLimits, RefuseLargeGrammars) {
  std::string nested = "root ::= ";
  for (int i = 0; i < 100000; i++) nested += "(";
  EXPECT_ERROR(Grammar::gbnf(nested), kUnsupported, "more than 200 groups in one another");
  EXPECT_ERROR(Grammar::gbnf("root ::= \"a\"{4000000000}"), kUnsupported,
               "a count of 2^31 or more");
  // Each rule has the next one twice, so the last one stands there 2^60 times.
  std::string doubling = "root ::= r0\n";
  for (int i = 0; i < 60; i++)
    doubling += "r" + std::to_string(i) + " ::= r" + std::to_string(i + 1) + " r" +
                std::to_string(i + 1) + "\n";
  EXPECT_TRUE(Grammar::gbnf(doubling + "r60 ::= \"a\" | \"b\"").matches("ab") == false);
  std::string cycle;  // 3000 rules that begin with each other: unwound, some millions of states
  for (int i = 0; i < 3000; i++)
    cycle += "r" + std::to_string(i) + " ::= r" + std::to_string((i + 1) % 3000) +
             " \"abcdefgh\" | \"x\"\n";
  EXPECT_ERROR(Grammar::gbnf("root ::= r0\n" + cycle), kUnsupported, "the grammar is too large");
}

TEST(GbnfLimits, CountsNeedNoStates) {
  const Grammar grammar = Grammar::gbnf("root ::= ([a-y] | \"\u00e9\"){3,1000000000} \"z\"");
  EXPECT_TRUE(grammar.matches(std::string(5000, 'a') + "\u00e9z"));
  EXPECT_FALSE(grammar.matches("a\u00e9z"));
}

TEST(GbnfAmbiguity, OfDeepTextsNeedsNoMoreThanTheirLength) {
  // Two readings for each level: sets of whole stacks would double with each.
  const Grammar grammar = Grammar::gbnf("root ::= \"(\" root \")\" | \"(\" root \"]\" | \"x\"");
  EXPECT_TRUE(grammar.matches(std::string(2000, '(') + "x" + std::string(1000, ')') +
                              std::string(1000, ']')));
}

}  // namespace
}  // namespace wick
