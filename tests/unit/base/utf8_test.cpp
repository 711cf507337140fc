#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace wick {
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
      {"a\xff\xe4z", "a" + r + r + "z"},
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
    EXPECT_EQ(is_utf8(row.text), row.text == row.expected) << row.text;
    EXPECT_EQ(valid_utf8_bytes(with_valid_utf8(row.text)), row.expected.size());
  }
}

TEST(Utf8, CharactersMoveWhenTheyAreComplete) {
  const std::string text = "a\u00e9\u4f60\U0001f600z";
  std::string waiting, moved;
  for (const char byte : text) {
    waiting += byte;
    move_characters(waiting, moved);
    EXPECT_EQ(valid_utf8_bytes(moved), moved.size());
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
    EXPECT_EQ(valid_utf8_bytes(text), text.size());
    EXPECT_EQ(count_code_points(text), 1);
  }
}

}  // namespace
}  // namespace wick
