#include "text/tokenizer/utf8.h"

#include "../expect.h"

namespace wick::tokenization {
namespace {

TEST(Utf8, EachMaximalPartOfACharacterBecomesOneReplacement) {
  const std::string r(kReplacement);
  struct Row {
    std::string text, expected;
  };
  const std::vector<Row> rows = {
      {"", ""},
      {"plain", "plain"},
      {"\u00e9\u4f60\U0001f600", "\u00e9\u4f60\U0001f600"},
      {"a\xff"
       "b",
       "a" + r + "b"},
      {"\x80\x80", r + r},
      {"\xc3", r},
      {"\xc3"
       "a",
       r + "a"},
      {"\xe4\xbd", r},      // the start of a character of three bytes
      {"\xf0\x9f\x98", r},  // of four
      {"\xf0\x9f\x98z", r + "z"},
      {"\xc0\xaf", r + r},  // overlong
      {"\xe0\x80\x80", r + r + r},
      {"\xed\xa0\x80", r + r + r},          // a surrogate
      {"\xf4\x90\x80\x80", r + r + r + r},  // beyond U+10FFFF
      {"\xf5", r},
      {std::string("a\0b", 3), std::string("a\0b", 3)},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(with_valid_utf8(row.text), row.expected);
    EXPECT_EQ(valid_prefix(row.text) == row.text.size(), row.text == row.expected) << row.text;
    EXPECT_EQ(valid_prefix(with_valid_utf8(row.text)), row.expected.size());
  }
}

TEST(Utf8, CharactersMoveWhenTheyAreComplete) {
  const std::string text = "a\u00e9\u4f60\U0001f600z";
  std::string waiting, moved;
  for (const char byte : text) {
    waiting += byte;
    move_characters(waiting, moved);
    EXPECT_EQ(valid_prefix(moved), moved.size());
    EXPECT_LT(waiting.size(), 4u);
  }
  EXPECT_EQ(moved, text);
  EXPECT_EQ(waiting, "");
}

TEST(Utf8, CodePointsGoToBytesAndBack) {
  for (char32_t code = 0; code < 0x110000; code += code < 0x3000 ? 1 : 251) {
    if (code >= 0xd800 && code < 0xe000) continue;
    std::string text;
    append_code_point(text, code);
    size_t at = 0;
    EXPECT_EQ(next_code_point(text, at), code);
    EXPECT_EQ(at, text.size());
    EXPECT_EQ(valid_prefix(text), text.size());
    EXPECT_EQ(count_code_points(text), 1);
  }
}

TEST(Utf8, QuotedTextIsOneShortLine) {
  EXPECT_EQ(in_quotes("a\u00e9\n\x7f\xff"), "\"a\u00e9\\x0a\\x7f\uFFFD\"");
  EXPECT_EQ(in_quotes(std::string(100, 'a')), "\"" + std::string(80, 'a') + "...\"");
}

TEST(Utf8, WhiteSpaceIsThatOfUnicode) {
  int count = 0;
  for (char32_t code = 0; code < 0x110000; code++) count += is_white_space(code);
  EXPECT_EQ(count, 25);
  EXPECT_TRUE(is_white_space(0x85));
  EXPECT_FALSE(is_white_space(0x1c));
  EXPECT_FALSE(is_white_space(0x180e));
  EXPECT_FALSE(is_white_space(0x200b));
}

}  // namespace
}  // namespace wick::tokenization
