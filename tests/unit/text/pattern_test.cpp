#include "text/tokenizer/pattern.h"

#include <fstream>

#include "../expect.h"
#include "base/utf8.h"
#include "wick/base/hash.h"

namespace wick::tokenization {
namespace {

std::vector<std::string> matches(const Pattern& pattern, std::string_view text) {
  std::vector<Span> spans;
  pattern.find(text, spans);
  std::vector<std::string> result;
  for (const Span& span : spans)
    result.emplace_back(text.substr(span.begin, span.end - span.begin));
  return result;
}

// Expected: Oniguruma, by Split(Regex(...), "removed", invert=True) of HuggingFace's tokenizers
// 0.23.3.
TEST(Pattern, MatchesAsOnigurumaDoes) {
  struct Row {
    const char *expression, *text;
    std::vector<std::string> expected;
  };
  const std::vector<Row> rows = {
      {R"(\s+)", "a \u00a0\u180e\u0085b", {" \u00a0", "\u0085"}},
      {R"(\S)", "\u180e ", {"\u180e"}},
      {R"(\d)", "1\u0663\u00bd", {"1", "\u0663"}},
      {R"(\w+)", "a_1\u00b2\u00e9 \u0301-\u216b", {"a_1\u00b2\u00e9", "\u0301", "\u216b"}},
      {R"(\h+)", "0fgA", {"0f", "A"}},
      {R"([^\W\d_]+)", "ab_1c", {"ab", "c"}},
      {R"([\w&&[^aeiou]]+)", "hello", {"h", "ll"}},
      {R"([a[bc]]+)", "abcd", {"abc"}},
      {R"([^a[bc]]+)", "xabcy", {"x", "y"}},
      {R"([a-c&&b-d]+)", "abcd", {"bc"}},
      {R"((?m:a.b))", "a\nb", {"a\nb"}},
      {R"(a.b)", "a\nb", {}},
      {R"(^b$)", "a\nb\nc", {"b"}},
      {R"(a{,2})", "aaa", {"aa", "a"}},
      {R"((?:ab){2}?)", "abababab", {"abab", "abab"}},
      {R"(a{1,2}+)", "aaaaa", {"aaaaa"}},
      {R"(a++a)", "aaa", {}},
      {R"(\bfoo\b)", "foo foobar", {"foo"}},
      {R"(\Bo)", "foo", {"o", "o"}},
      {R"(\p{Lu}\P{Lu})", "AbCD", {"Ab"}},
      {R"(\p{^Lu}+)", "abC", {"ab"}},
      {R"(\p{Letter}+)", "ab1", {"ab"}},
      {R"(\p{Han}+)", "a\u4f60\u597d", {"\u4f60\u597d"}},
      {R"([[:alpha:]]+)", "ab1", {"ab"}},
      {R"(\p{Han}+)", "\u4e16\u754c\u3001\u65e5\u3002", {"\u4e16\u754c", "\u65e5"}},
      {R"([\p{Arabic}]+)", "\u0645\u0631\u060c", {"\u0645\u0631"}},
      {R"(\p{Kawi})", "\U00011f02", {"\U00011f02"}},  // a script of Unicode 15
      {R"([[:punct:]]+)", "a+b<c>$d\u20ace=f", {"+", "<", ">$", "\u20ac", "="}},
      {R"(\p{Punct}+)", "a+b-c$", {"-"}},
      {R"([^\w\s]+)", "5 m\u00b2 + \u00bd", {"\u00b2", "+", "\u00bd"}},
      {R"([\w]+)", "5 m\u00b2 + \u00bd", {"5", "m"}},
      {R"(\w+)", "5 m\u00b2 + \u00bd", {"5", "m\u00b2", "\u00bd"}},
      {R"(\u0041)", "A", {"A"}},
      {R"(\x41\x{42}\x{0043})", "ABC", {"ABC"}},
      {R"((?i)k)", "\u212aK", {"\u212a", "K"}},
      {R"('(?i:s))", "'\u017f", {"'\u017f"}},
      {"x{", "x{", {"x{"}},
      {R"((?<=a)b)", "ab b", {"b"}},
      {R"((a)(b)\2)", "abb", {"abb"}},
      {R"([\]\-x]+)", "]-x", {"]-x"}},
      {R"(\v)", "\x0b\n", {"\x0b"}},
      {R"((?#c)a)", "a", {"a"}},
      {R"(\p{L})", "\U00031350\U00010d4e\U000323b0", {"\U00031350", "\U00010d4e"}},  // 15.0, 16.0
      {R"([^\p{L}])", "\U00031350-", {"-"}},
      {R"([^\P{L}a-z])", "\U00031350a-B", {"\U00031350", "B"}},
  };
  for (const Row& row : rows)
    EXPECT_EQ(matches(Pattern::regex(row.expression, "w"), row.text), row.expected)
        << row.expression;
}

// Expected: tests/golden/tokenizers/make_classes.py.
TEST(Pattern, ClassesHaveOnigurumasCharacters) {
  std::string text;
  std::vector<char32_t> codes;
  std::vector<size_t> indices;  // in codes, by byte of the text
  for (char32_t code = 0; code < 0x110000; code++) {
    const char32_t in_plane = code & 0xffff;
    const bool is_surrogate = code >= 0xd800 && code < 0xe000;
    const bool is_tried = code < 0x40000 || (code >= 0xe0000 && code < 0xe1000) ||
                          in_plane < 0x100 || in_plane >= 0xff00;
    if (is_surrogate || !is_tried) continue;
    append_code_point(text, code);
    indices.resize(text.size(), codes.size());
    codes.push_back(code);
  }
  indices.push_back(codes.size());

  std::ifstream file(WICK_GOLDEN "/tokenizers/classes.txt");
  std::string line;
  int lines = 0;
  for (; std::getline(file, line); lines++) {
    const size_t hash_at = line.rfind(' '), count_at = line.rfind(' ', hash_at - 1);
    const std::string expression = line.substr(0, count_at);
    SCOPED_TRACE(expression);
    std::vector<Span> spans;
    Pattern::regex("(?:" + expression + ")++", "w").find(text, spans);
    int64_t count = 0;
    Fnv1a hash;
    for (const Span& span : spans) {
      const size_t first = indices[span.begin], end = indices[span.end];
      count += int64_t(end - first);
      for (const char32_t code : {codes[first], codes[end - 1]})
        for (int shift = 0; shift < 32; shift += 8) hash.mix(uint8_t(code >> shift));
    }
    EXPECT_EQ(count, std::stoll(line.substr(count_at + 1)));
    EXPECT_EQ(hash.value(), std::stoull(line.substr(hash_at + 1), nullptr, 16));
  }
  EXPECT_GT(lines, 190);
}

TEST(Pattern, CategoriesAreThoseOfTheUnicodeVersion) {
  const Pattern older = Pattern::regex(R"(\p{L})", "w", Unicode::k15);
  EXPECT_EQ(matches(older, "\U00031350\U00010d4e"), (std::vector<std::string>{"\U00031350"}));
}

TEST(Pattern, AnEmptyMatchIsNotRightBehindAnother) {
  EXPECT_EQ(matches(Pattern::regex("a|", "w"), "ba"), (std::vector<std::string>{"", "a"}));
  EXPECT_EQ(matches(Pattern::regex("", "w"), "\u00e9a"), (std::vector<std::string>{"", "", ""}));
}

TEST(Pattern, ALiteralHasNoSpecialCharacters) {
  EXPECT_EQ(matches(Pattern::literal("a.b"), "axba.ba.b"),
            (std::vector<std::string>{"a.b", "a.b"}));
  EXPECT_EQ(matches(Pattern::literal("aa"), "aaaaa"), (std::vector<std::string>{"aa", "aa"}));
  EXPECT_EQ(matches(Pattern::literal(""), "a"), (std::vector<std::string>{}));
}

TEST(Pattern, WhatItLacksIsAnErrorWithTheExpression) {
  struct Row {
    const char *expression, *part;
  };
  const std::vector<Row> rows = {
      {"a(b", "file: pattern \"a(b\": missing closing parenthesis"},
      {"(?~a)", "wick does not have (?~"},
      {"(?x) a", "wick does not have (?x)"},
      {R"(\K)", R"(wick does not have \K)"},
      {R"(\p{Nonsense})", "unknown property"},
      {R"(\p)", R"(wick does not have \p without {NAME})"},
      {"[a", "wick does not have [ without ]"},
      {"\\", R"(wick does not have \ at the end)"},
      {R"([\)", R"(wick does not have \ at the end)"},
      {"[[:alpha", "wick does not have [: without :]"},
      {"[[:foo:]]", "wick does not have [:foo:]"},
      {R"(\p{Grapheme_Base})", "unknown property"},
  };
  for (const Row& row : rows)
    EXPECT_ERROR(Pattern::regex(row.expression, "file"), kUnsupported, row.part);
  EXPECT_ERROR(Pattern::regex(std::string(100000, '['), "file"), kUnsupported, "nested so deep");
  EXPECT_ERROR(Pattern::regex(std::string(100000, '('), "file"), kUnsupported, "pattern");
}

TEST(Pattern, BacktrackingWithoutEndIsAnError) {
  const std::string text(40, 'a');
  EXPECT_ERROR(matches(Pattern::regex("(?:a+)+b|(?:(?:a|aa)+)+c", "file"), text), kUnsupported,
               "fails on this text");
}

}  // namespace
}  // namespace wick::tokenization
